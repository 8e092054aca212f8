// Opens the embedded database of a running service as a command does, and stays in a transaction until it fails.
import { join } from 'node:path'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'

const [, , modules = '', directory = ''] = argv
const { openEmbeddedForCommand } = await import(pathToFileURL(join(modules, 'platform/database/embedded.js')).href)

const database = await openEmbeddedForCommand({ directory })
try {
  await database.transaction(async (/** @type {import('../../src/platform/database/database.js').Sql} */ sql) => {
    await sql.query('insert into kept values (1)')
    console.log('open')
    for (;;) {
      await sql.query('select 1')
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })
} catch (error) {
  console.log(String(error))
  process.exit(1)
}
