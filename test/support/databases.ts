import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Database } from '../../src/platform/database/database.js'
import { migrate } from '../../src/platform/database/migrate.js'
import { createPostgres, type PostgresOptions } from '../../src/platform/database/open.js'

export const migrationsDirectory = fileURLToPath(new URL('../../migrations', import.meta.url))

/** The files there, in their order. */
export const migrationNames = async () => (await readdir(migrationsDirectory)).sort()

export type FreshDatabase = { url: string; drop(): Promise<void> }

/** The server that the tests may use: `npm test` starts one when none is named. */
export const testServerUrl = () => {
  const url = process.env.TEST_DATABASE_URL
  if (!url) throw new Error('TEST_DATABASE_URL is not set: run the tests with npm test')
  return url
}

/** Another database, or another role, on the same server. */
export const urlFor = (
  url: string,
  { database, user, password }: { database?: string; user?: string; password?: string },
) => {
  const changed = new URL(url)
  if (database !== undefined) changed.pathname = `/${database}`
  if (user !== undefined) changed.username = user
  if (password !== undefined) changed.password = password
  return changed.href
}

export const testPostgres = (url: string, options: Partial<PostgresOptions> = {}): Database =>
  createPostgres({
    url,
    poolSize: 4,
    connectTimeoutMs: 5_000,
    statementTimeoutMs: 10_000,
    ...options,
  })

/** A new, empty database. */
export const emptyPostgres = async (server = testServerUrl()): Promise<FreshDatabase> => {
  const name = `latchkey_test_${randomBytes(8).toString('hex')}`
  await asAdministrator(server, (admin) => admin.query(`create database ${name}`))
  return { url: urlFor(server, { database: name }), drop: () => drop(server, name) }
}

/** A new database with the current schema: a copy of one that is migrated once, which takes tens of milliseconds. */
export const freshPostgres = async (server = testServerUrl()): Promise<FreshDatabase> => {
  const name = `latchkey_test_${randomBytes(8).toString('hex')}`
  await asAdministrator(server, async (admin) => {
    const template = await preparedTemplate(admin, server)
    await admin.query(`create database ${name} template ${template} ${await copyingOf(admin)}`)
  })
  return { url: urlFor(server, { database: name }), drop: () => drop(server, name) }
}

/** Files that are copied as they are take half the time of blocks that go through the log. Before version 15 there was no other way. */
const copyingOf = async (admin: Database) => {
  const [server] = await admin.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  )
  return (server?.version ?? 0) >= 150_000 ? 'strategy file_copy' : ''
}

/** Ends every connection to a database, and lets no new one in while the work is done. */
export const whileAway = async (url: string | undefined, work: () => Promise<void>) => {
  const name = new URL(String(url)).pathname.slice(1)
  await asAdministrator(testServerUrl(), async (admin) => {
    await admin.query(`alter database "${name}" with allow_connections false`)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    try {
      await work()
    } finally {
      await admin.query(`alter database "${name}" with allow_connections true`)
    }
  })
}

/** Statements that fire this trigger fail meanwhile, as if the database had given up on them. */
export const whileRefused = async (database: Database, trigger: string, work: () => Promise<void>) => {
  await database.query(`create function give_up() returns trigger language plpgsql
    as $$ begin raise exception 'A lock was not free in time' using errcode = '55P03'; end $$`)
  await database.query(`create trigger give_up before ${trigger} execute function give_up()`)
  try {
    await work()
  } finally {
    await database.query('drop function give_up cascade')
  }
}

let ownAdministrator: Database | undefined

// One connection, so that a lock of the session stays with it from statement to statement. The tests of this process share the one to
// the usual server, because a connection costs as much as dropping a database. It closes when it is not used for a minute.
const asAdministrator = async <Result>(server: string, work: (admin: Database) => Promise<Result>): Promise<Result> => {
  const connect = () => testPostgres(server, { poolSize: 1, statementTimeoutMs: 60_000 })
  if (server === testServerUrl()) {
    ownAdministrator ??= connect()
    return work(ownAdministrator)
  }
  const admin = connect()
  try {
    return await work(admin)
  } finally {
    await admin.close()
  }
}

const preparing = new Map<string, Promise<string>>()

/** The name of the database that is copied. Each process prepares it once for a server. */
const preparedTemplate = (admin: Database, server: string) => {
  const template = preparing.get(server) ?? prepareTemplate(admin, server)
  preparing.set(server, template)
  return template
}

// Several test processes come here at the same moment. The template gets its name when it is complete, so that one that
// was interrupted is never copied.
const prepareTemplate = async (admin: Database, server: string) => {
  const template = await templateName()
  await admin.query(`select pg_advisory_lock(hashtext('latchkey test template'))`)
  const [known] = await admin.query('select 1 from pg_database where datname = $1', [template])
  if (!known) {
    const draft = `latchkey_test_${randomBytes(8).toString('hex')}`
    await admin.query(`create database ${draft}`)
    const database = testPostgres(urlFor(server, { database: draft }))
    await migrate({ database, directory: migrationsDirectory }).finally(() => database.close())
    await endConnections(admin, draft)
    await admin.query(`alter database ${draft} rename to ${template}`)
  }
  await admin.query(`select pg_advisory_unlock(hashtext('latchkey test template'))`)
  return template
}

// A closed connection's process may live a moment longer on the server, and would be in the way.
const endConnections = (admin: Database, database: string) =>
  admin.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [database])

const templateName = async () => {
  const hash = createHash('sha256')
  for (const name of (await readdir(migrationsDirectory)).sort()) {
    hash.update(name).update(await readFile(`${migrationsDirectory}/${name}`))
  }
  return `latchkey_template_${hash.digest('hex').slice(0, 16)}`
}

const drop = (server: string, name: string) =>
  asAdministrator(server, async (admin) => {
    await admin.query(`drop database if exists ${name} with (force)`)
  })
