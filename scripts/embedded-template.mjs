// Packs an empty embedded database into dist/, so that the first start unpacks it instead of spending seconds on
// creating one. Created again only if PGlite's version or our parameters change. Needs the compiled src/.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
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
const compiled = join(dist, 'modules/platform/database/pglite-directory.js')
const stamp = join(dist, 'embedded-template.version')

const installedVersion = () => {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  return JSON.parse(readFileSync(join(dirname(entry), '../package.json'), 'utf8')).version
}

const readMaker = async () => {
  const { initdbParameters } = await import(pathToFileURL(compiled).href)
  return { parameters: initdbParameters, maker: [installedVersion(), ...initdbParameters, 'reproducible'].join(' ') }
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

const pack = async () => {
  stopTimeAndChance()
  const { parameters, maker } = await readMaker()
  const { PGlite } = await import('@electric-sql/pglite')
  const database = await PGlite.create('memory://', { initDbStartParams: parameters })
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
