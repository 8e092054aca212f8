// Makes dist/ from src/: bundles the program and the pages. Builds the packages
// into their own dist/. Only files that differ are written. With --if-changed, nothing is done if nothing would change.
import { existsSync, realpathSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { writeBuildInfo } from './build-info.mjs'
import { createBuildRecord } from './build-record.mjs'
import { writeLanguageLists } from './languages.mjs'
import { filesBelow, publish } from './publish.mjs'

const home = fileURLToPath(new URL('..', import.meta.url))
const dist = join(home, 'dist')
const record = createBuildRecord(home)

/** @returns {Promise<number>} how many files changed */
export const build = async () => {
  await writeLanguageLists()
  const inputHash = await record.hashInputs()
  // The list of passwords is made by compiled modules, in a process of its own. It takes longest, so it begins first.
  const buildModulesAndData = async () => (await buildModules()) + (await buildCommonPasswords())
  const changes = sumOf(await Promise.all([buildModulesAndData(), buildProgram(), buildPages(), buildPackages()]))
  await record.write(inputHash)
  return changes + Number(await writeBuildInfo())
}

/**
 * The commit is written in any case, because a new commit need not change what a build reads. A build says so at once: `npm start`
 * prints nothing else meanwhile.
 * @returns {Promise<number>} how many files changed
 */
export const buildIfChanged = async () => {
  if (await record.isCurrent()) return Number(await writeBuildInfo())
  console.log(existsSync(join(dist, 'main.js')) ? 'Building…' : 'Building…, about half a minute the first time')
  return build()
}

/** @type {(numbers: number[]) => number} */
const sumOf = (numbers) => numbers.reduce((sum, each) => sum + each, 0)

const buildModules = async () => {
  const { compileModules } = await import('./program.mjs')
  const folder = join(dist, 'modules')
  return publish({ folder, files: filesOf(await compileModules({ home, folder }), folder) })
}

const buildProgram = async () => {
  const { bundleProgram } = await import('./program.mjs')
  const files = filesOf(await bundleProgram({ home, folder: dist }), dist)
  const { list, earlier } = await listParts([...files.keys()])
  files.set(partsFile, Buffer.from(list))
  const isOfOtherStep = (/** @type {string} */ path) => path.startsWith('web/') || path.startsWith('modules/')
  const isKept = (/** @type {string} */ path) => !isCompiled(path) || isOfOtherStep(path) || earlier.has(path)
  return publish({ folder: dist, files, isKept })
}

const partsFile = 'parts.json'

/**
 * A running service loads some of its parts late, so the parts of the build before this one stay. Their names change with
 * their content. A published package has only its own parts.
 * @param {string[]} paths
 */
const listParts = async (paths) => {
  const current = paths.filter((path) => path.startsWith('parts/')).sort()
  const text = await readFile(join(dist, partsFile), 'utf8').catch(() => '{"current":[],"earlier":[]}')
  /** @type {{ current: string[], earlier: string[] }} */
  const lastBuild = JSON.parse(text)
  const isSame = lastBuild.current.join() === current.join()
  const earlier = isSame ? lastBuild.earlier : lastBuild.current
  const next = { current, earlier: argv.includes('--publish') ? [] : earlier }
  return { list: `${JSON.stringify(next)}\n`, earlier: new Set(next.earlier) }
}

// The entry points of the pages stand in web/build.mjs, which exports buildWeb({ outdir, minify }).
const buildPages = async () => {
  const script = join(home, 'web/build.mjs')
  if (!existsSync(script)) return 0
  const { buildWeb } = await import(pathToFileURL(script).href)
  const outdir = await mkdtemp(join(tmpdir(), 'latchkey-web-'))
  try {
    await buildWeb({ outdir, minify: true })
    const paths = await filesBelow(outdir)
    const files = await Promise.all(paths.map(async (path) => entry(path, await readFile(join(outdir, path)))))
    return await publish({ folder: join(dist, 'web'), files: new Map(files) })
  } finally {
    await rm(outdir, { recursive: true, force: true })
  }
}

// packages.mjs is loaded here, because it needs esbuild, which may be missing: see main().
const buildPackages = async () => {
  const { buildPackages: make } = await import('./packages.mjs')
  return make()
}

// This does nothing if the list is up to date.
const buildCommonPasswords = async () => {
  const { buildCommonPasswords: make } = await import('./common-passwords.mjs')
  return (await make()) ? 1 : 0
}

/** @type {(path: string, contents: Uint8Array) => [string, Uint8Array]} */
const entry = (path, contents) => [path, contents]

/** @type {(outputs: import('esbuild').OutputFile[], folder: string) => Map<string, Uint8Array>} */
const filesOf = (outputs, folder) => {
  const pathInFolder = (/** @type {string} */ path) => path.slice(folder.length + 1).replaceAll('\\', '/')
  return new Map(outputs.map(({ path, contents }) => [pathInFolder(path), contents]))
}

/** @type {(path: string) => boolean} */
const isCompiled = (path) => path.endsWith('.js') || path.endsWith('.js.map')

const isInstalled = (/** @type {string} */ name) => {
  try {
    return import.meta.resolve(name) !== ''
  } catch {
    return false
  }
}

// This also runs for `npm ci --omit=dev` and `npm start` in a container. Without esbuild, an existing dist/ is used.
const main = async () => {
  if (!isInstalled('esbuild')) {
    if (existsSync(join(dist, 'main.js'))) return
    console.error(
      'There is no dist/ yet, and building it needs the development dependencies: run npm ci without --omit=dev.',
    )
    process.exitCode = 1
    return
  }
  const start = performance.now()
  const changes = await (argv.includes('--if-changed') ? buildIfChanged() : build())
  const took = Math.round(performance.now() - start)
  if (changes > 0) console.log(`Built dist/: ${changes} ${changes === 1 ? 'file' : 'files'} changed, ${took} ms`)
}

// esbuild has already printed errors in our sources; other errors are printed here.
export const showFault = (/** @type {unknown} */ error) => {
  if (!(error instanceof Error && 'errors' in error && Array.isArray(error.errors))) console.error(error)
}

if (argv[1] && realpathSync(argv[1]) === fileURLToPath(import.meta.url)) {
  await main().catch((error) => {
    showFault(error)
    process.exitCode = 1
  })
}
