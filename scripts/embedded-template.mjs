// Packs an embedded database with all migrations into dist/, so that the first start unpacks it instead of creating one in several
// seconds. It is packed again only if PGlite's version, our parameters or a migration change. This script needs the compiled src/.
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
const moduleUrl = (/** @type {string} */ name) => pathToFileURL(join(dist, 'modules/platform/database', name)).href
const migrations = fileURLToPath(new URL('../migrations', import.meta.url))
const versionFile = join(dist, 'embedded-template.version')

const pgliteVersion = () => {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  return JSON.parse(readFileSync(join(dirname(entry), '../package.json'), 'utf8')).version
}

/** The version of the template names all that it is made of. */
const readVersion = async () => {
  const { initdbParameters } = await import(moduleUrl('pglite-directory.js'))
  return { parameters: initdbParameters, version: [pgliteVersion(), ...initdbParameters, hashOfMigrations()].join(' ') }
}

const hashOfMigrations = () => {
  const hash = createHash('sha256')
  for (const name of readdirSync(migrations).sort()) hash.update(name).update(readFileSync(join(migrations, name)))
  return hash.digest('hex').slice(0, 16)
}

const isUpToDate = (/** @type {string} */ version) =>
  existsSync(file) && existsSync(versionFile) && readFileSync(versionFile, 'utf8').trim() === version

/**
 * Packs the template in a process of its own, beside the rest of the build. Without the optimising compiler (`--liftoff-only`) it takes
 * half the time, because nothing runs twice.
 * @returns {Promise<boolean>} whether the template was packed again
 */
export const buildEmbeddedTemplate = async () => {
  if (isUpToDate((await readVersion()).version)) return false
  await promisify(execFile)(process.execPath, ['--liftoff-only', fileURLToPath(import.meta.url)])
  return true
}

/**
 * PostgreSQL writes the time and a few random bytes into a new database. Here they are the same in every build, so that a release can be
 * built again and compared byte by byte. The random bytes are for passwords, which this database does not use. This changes the current
 * process only.
 */
const fixTimeAndRandomBytes = () => {
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
 * The functions of a database that `migrate` needs.
 * @param {Pick<import('@electric-sql/pglite').PGlite, 'query' | 'exec'>} client
 */
const sqlOf = (client) => ({
  query: async (/** @type {string} */ text, /** @type {unknown[]} */ values) => (await client.query(text, values)).rows,
  script: (/** @type {string} */ text) => client.exec(text),
})

/** @param {import('@electric-sql/pglite').PGlite} client */
const applyMigrations = async (client) => {
  const { migrate } = await import(moduleUrl('migrate.js'))
  /** @param {(sql: object) => Promise<unknown>} work */
  const transaction = (work) => client.transaction((sql) => work(sqlOf(sql)))
  await migrate({ database: { ...sqlOf(client), transaction }, directory: migrations })
}

const pack = async () => {
  fixTimeAndRandomBytes()
  const { parameters, version } = await readVersion()
  const { PGlite } = await import('@electric-sql/pglite')
  const database = await PGlite.create('memory://', { initDbStartParams: parameters })
  await applyMigrations(database)
  await database.exec('checkpoint')
  const archive = await database.dumpDataDir('none')
  await database.close()
  const packed = gzipSync(Buffer.from(await archive.arrayBuffer()), { level: 6 })
  await mkdir(dist, { recursive: true })
  // The version is removed first and written last, so that two builds at once leave no version beside a file that is not complete.
  await rm(versionFile, { force: true })
  await replace(file, packed)
  await replace(versionFile, Buffer.from(`${version}\n`))
}

if (argv[1] && realpathSync(argv[1]) === fileURLToPath(import.meta.url)) await pack()
