// A process for the tests to kill: starts the database that is brought along in the folder it is given, as a command or a service does,
// and writes until it is ended. A number is printed once its commit has been answered. It uses the compiled program, as a real process.
import { argv, stdout } from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const [, , modules, dataDir, kind] = argv
const load = (/** @type {string} */ path) => import(pathToFileURL(`${modules}/${path}`).href)
const { openForCommand, openForService } = await load('platform/own-postgres/own-postgres.js')
const { createPostgres } = await load('platform/database/open.js')

const ignore = () => {}
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
const config = { dataDir, production: false, maxConnections: 20 }
const own = await (kind === 'service'
  ? openForService({ config, log, settingsForCommands: {} })
  : openForCommand({ config, log, mayCreate: true }))
const url = own.settings.databaseOwnerUrl
const database = createPostgres({ url, poolSize: 2, connectTimeoutMs: 5_000, statementTimeoutMs: 20_000 })
await database.query('create table if not exists written (id integer primary key, half integer, padding text)')
const [{ last }] = await database.query('select coalesce(max(id), 0) as last from written')
stdout.write('open\n')

for (let id = last + 1; ; id += 1) {
  try {
    await database.transaction(async (/** @type {import('../../src/platform/database/database.js').Sql} */ sql) => {
      await sql.query('insert into written (id, padding) values ($1, $2)', [id, 'x'.repeat(500)])
      await sql.query('update written set half = $2 where id = $1', [id, id])
    })
    stdout.write(`${id}\n`)
  } catch (error) {
    // PostgreSQL itself was killed, and is started again. Whether this number was committed is not known.
    if (!(error instanceof Error && error.name === 'StoreUnavailable')) throw error
    await wait(20)
    const [row] = await database.query('select 1 from written where id = $1', [id]).catch(() => [undefined])
    if (!row) id -= 1
  }
}
