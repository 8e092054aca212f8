import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CommandContext } from '../../src/commands/command.js'
import { openNouns } from '../../src/commands/open-nouns.js'
import { loadConfig } from '../../src/config.js'
import type { Database } from '../../src/platform/database/database.js'
import { openDatabase } from '../../src/platform/database/embedded.js'
import { emptyPostgres, freshPostgres, testPostgres } from './databases.js'

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

type Options = { empty?: boolean }

export const openPostgresStore = async ({ empty = false }: Options = {}): Promise<TestStore> => {
  const { url, drop } = await (empty ? emptyPostgres() : freshPostgres())
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

export const openEmbeddedStore = async ({ empty = false }: Options = {}): Promise<TestStore> => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-store-'))
  const directory = join(folder, 'database')
  let open: Database | undefined
  const another = async () => {
    open ??= await openDatabase({ embedded: { directory, statementTimeoutMs: 60_000 } })
    return open
  }
  const release = async () => {
    await open?.close()
    open = undefined
  }
  const database = await another()
  if (empty) await database.transaction((sql) => sql.script('drop schema public cascade; create schema public'))
  const drop = async () => {
    await release()
    await rm(folder, { recursive: true, force: true })
  }
  return { database, place: { directory }, another, release, drop }
}

/** The same expectations hold on both. */
export const testStores = [
  { name: 'PostgreSQL', open: openPostgresStore },
  { name: 'the embedded database', open: openEmbeddedStore },
]

export type CommandStore = { database: Database; openNouns: CommandContext['openNouns']; drop(): Promise<void> }

/** PostgreSQL for the commands, opened once and kept open between them. */
export const openCommandStore = async (settings: Record<string, string> = {}): Promise<CommandStore> => {
  const { url, drop } = await freshPostgres()
  const nouns = await openNouns(
    loadConfig({ NODE_ENV: 'test', BCRYPT_COST: '10', DATABASE_URL: url, ...settings }),
    'table owner',
  )
  return {
    database: nouns.database,
    openNouns: async () => ({ ...nouns, close: async () => {} }),
    drop: () => nouns.close().then(drop),
  }
}

/** For commands that never get as far as a database. */
export const noStore: Pick<CommandStore, 'openNouns'> = {
  openNouns: () => Promise.reject(new Error('No database was expected to be opened')),
}
