// A process for the tests to kill: opens the embedded database in the folder it is given and writes until it is ended. A
// number is printed once its commit has been answered. Uses the compiled program, as a real process does.
import { argv, stdout } from 'node:process'
import { pathToFileURL } from 'node:url'

const [, , modules, directory] = argv
const { openDatabase } = await import(pathToFileURL(`${modules}/platform/database/embedded.js`).href)

const database = await openDatabase({ embedded: { directory } })
await database.query('create table if not exists written (id integer primary key, half integer, padding text)')
const [{ last }] = await database.query('select coalesce(max(id), 0) as last from written')
stdout.write('open\n')

for (let id = last + 1; ; id += 1) {
  await database.transaction(async (/** @type {import('../../src/platform/database/database.js').Sql} */ sql) => {
    await sql.query('insert into written (id, padding) values ($1, $2)', [id, 'x'.repeat(500)])
    await sql.query('update written set half = $2 where id = $1', [id, id])
  })
  stdout.write(`${id}\n`)
}
