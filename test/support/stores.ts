import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Database } from '../../src/platform/database/database.js'
import { migrate } from '../../src/platform/database/migrate.js'
import { openDatabase } from '../../src/platform/database/open.js'
import { freshPostgres, migrationsDirectory, testPostgres } from './databases.js'

export type TestStore = {
  database: Database
  /** How another process finds it. */
  place: { url: string } | { directory: string }
  /** Another handle, as a second instance of the service would have. The embedded database has only the one. */
  another(): Promise<Database>
  /** Lets go of it so that another process may have it; `another` takes it again. */
  release(): Promise<void>
  drop(): Promise<void>
}

const postgresStore = async (): Promise<TestStore> => {
  const { url, drop } = await freshPostgres()
  const opened: Database[] = []
  const another = async () => {
    const database = testPostgres(url)
    opened.push(database)
    return database
  }
  const release = async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()))
  }
  return { database: await another(), place: { url }, another, release, drop: () => release().then(drop) }
}

const embeddedStore = async (): Promise<TestStore> => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-mails-'))
  const directory = join(folder, 'database')
  let open: Database | undefined
  const another = async () => {
    open ??= await openDatabase({ embedded: { directory } })
    return open
  }
  const release = async () => {
    await open?.close()
    open = undefined
  }
  const database = await another()
  await migrate({ database, directory: migrationsDirectory })
  const drop = async () => {
    await release()
    await rm(folder, { recursive: true, force: true })
  }
  return { database, place: { directory }, another, release, drop }
}

/** The same expectations hold on both. */
export const testStores = [
  { name: 'PostgreSQL', open: postgresStore },
  { name: 'the embedded database', open: embeddedStore },
]

/** A clock that a test moves forward. */
export const movableClock = () => {
  let offset = 0
  return {
    now: () => new Date(Date.now() + offset),
    offset: () => offset,
    forward: (milliseconds: number) => {
      offset += milliseconds
    },
  }
}
