// Packs an embedded database with all migrations into dist/, so that the first start unpacks it instead of spending seconds on
// creating one. Created again only if PGlite's version, our parameters or a migration change. Needs the compiled src/.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { replace } from './publish.mjs'

const dist = fileURLToPath(new URL('../dist', import.meta.url))
const file = join(dist, 'embedded-template.tar.gz')
const compiled = (/** @type {string} */ name) => pathToFileURL(join(dist, 'modules/platform/database', name)).href
const migrations = fileURLToPath(new URL('../migrations', import.meta.url))
const stamp = join(dist, 'embedded-template.version')

const installedVersion = () => {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  return JSON.parse(readFileSync(join(dirname(entry), '../package.json'), 'utf8')).version
}

const readMaker = async () => {
  const { initdbParameters } = await import(compiled('pglite-directory.js'))
  return { parameters: initdbParameters, maker: [installedVersion(), ...initdbParameters, sumOfMigrations()].join(' ') }
}

const sumOfMigrations = () => {
  const sum = createHash('sha256')
  for (const name of readdirSync(migrations).sort()) sum.update(name).update(readFileSync(join(migrations, name)))
  return sum.digest('hex').slice(0, 16)
}

const isUpToDate = (/** @type {string} */ maker) =>
  existsSync(file) && existsSync(stamp) && readFileSync(stamp, 'utf8').trim() === maker

/**
 * In a process of its own, beside the rest of the build. Without the optimising compiler it takes half the time: nothing runs
 * twice.
 * @returns {Promise<boolean>} whether it was created again
 */
export const buildEmbeddedTemplate = async () => {
  if (isUpToDate((await readMaker()).maker)) return false
  await promisify(execFile)(process.execPath, ['--liftoff-only', fileURLToPath(import.meta.url)])
  return true
}

/**
 * PostgreSQL writes the time and a few random bytes into a new database (for passwords that nobody asks of this one). They are the
 * same in every build, so that a release can be built again and compared byte by byte. For this process only.
 */
const stopTimeAndChance = () => {
  const moment = Date.UTC(2026, 0, 1)
  const RealDate = Date
  globalThis.Date = new Proxy(RealDate, {
    construct: (_, args) => (args.length > 0 ? Reflect.construct(RealDate, args) : new RealDate(moment)),
    get: (target, name) => (name === 'now' ? () => moment : Reflect.get(target, name)),
  })
  const crypto = createRequire(import.meta.url)('node:crypto')
  crypto.randomFillSync = (/** @type {Uint8Array} */ bytes) => bytes.fill(1)
}

/**
 * As much of the database port as `migrate` needs.
 * @param {Pick<import('@electric-sql/pglite').PGlite, 'query' | 'exec'>} client
 */
const sqlOf = (client) => ({
  query: async (/** @type {string} */ text, /** @type {unknown[]} */ values) => (await client.query(text, values)).rows,
  script: (/** @type {string} */ text) => client.exec(text),
})

/** @param {import('@electric-sql/pglite').PGlite} client */
const applyMigrations = async (client) => {
  const { migrate } = await import(compiled('migrate.js'))
  /** @param {(sql: object) => Promise<unknown>} work */
  const transaction = (work) => client.transaction((inside) => work(sqlOf(inside)))
  await migrate({ database: { ...sqlOf(client), transaction }, directory: migrations })
}

const pack = async () => {
  stopTimeAndChance()
  const { parameters, maker } = await readMaker()
  const { PGlite } = await import('@electric-sql/pglite')
  const database = await PGlite.create('memory://', { initDbStartParams: parameters })
  await applyMigrations(database)
  await database.exec('checkpoint')
  const archive = await database.dumpDataDir('none')
  await database.close()
  const packed = gzipSync(Buffer.from(await archive.arrayBuffer()), { level: 6 })
  await mkdir(dist, { recursive: true })
  // Two builds at once must not leave half a file. The stamp is written last.
  await rm(stamp, { force: true })
  await replace(file, packed)
  await replace(stamp, Buffer.from(`${maker}\n`))
}

if (argv[1] && realpathSync(argv[1]) === fileURLToPath(import.meta.url)) await pack()
