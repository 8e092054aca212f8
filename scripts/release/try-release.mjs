// Tries the files of a release as operators and developers would: in an empty folder, with npm and nothing of this repository.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstSignIn } from './first-sign-in.mjs'
import { run } from './run.mjs'

/** @typedef {{ folder: string, version: string, commit: string, say(line: string): void }} Made */

/** Only these variables are passed on: npm gives its own settings and those of this project to the programs that it runs. */
const plainEnvironment = () =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => /^(PATH|HOME|TMPDIR|LANG|.*proxy|.*_CERTS?)$/i.test(name)),
  )

/** @type {(condition: boolean, fault: string) => void} */
const expectThat = (condition, fault) => {
  if (!condition) throw new Error(`The release is not as it should be: ${fault}`)
}

/**
 * Installed packages that the list of components does not have, or has in another version.
 * @type {(installFolder: string, sbom: string) => Promise<string[]>}
 */
const findUnlistedPackages = async (installFolder, sbom) => {
  const read = async (/** @type {string} */ path) => JSON.parse(await readFile(path, 'utf8'))
  const { packages } = await read(join(installFolder, 'node_modules/.package-lock.json'))
  const { components } = await read(sbom)
  const listed = new Set(
    components.map((/** @type {Record<string, string>} */ { name, version }) => `${name}@${version}`),
  )
  return Object.entries(packages)
    .map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`)
    .filter((each) => !listed.has(each) && !/^(@latchkey\/.*|latchkey)@/.test(each))
}

/** @param {string} installFolder @param {NodeJS.ProcessEnv} env */
const serveOnce = async (installFolder, env) => {
  const folder = join(installFolder, 'empty')
  await mkdir(folder)
  const start = performance.now()
  const child = spawn(process.execPath, [join(installFolder, 'node_modules/.bin/latchkey')], {
    cwd: folder,
    env: { ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = once(child, 'exit')
  let output = ''
  try {
    const address = await new Promise((/** @type {(url: string) => void} */ resolve, reject) => {
      const listen = (/** @type {Buffer} */ chunk) => {
        output += chunk.toString()
        const [, url] = /ready at (http:\S+)/.exec(output) ?? []
        if (url) resolve(url)
      }
      child.stdout.on('data', listen)
      child.stderr.on('data', listen)
      exit.then(() => reject(new Error(`The program ended instead of serving:\n${output}`)), reject)
    })
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    const page = await fetch(`${address}/login`)
    expectThat(page.status === 200, `/login answers ${page.status}`)
    expectThat((await firstSignIn(address)) === 'ada', 'another user is signed in')
    expectThat(output.includes(join(folder, 'data')), `the start does not say where it keeps its data:\n${output}`)
    return seconds
  } finally {
    child.kill('SIGTERM')
    await exit
  }
}

/**
 * Calls `work` again if it fails. Doctor gives each check a few seconds, and a machine that has just built something may be busy.
 * @type {(attempts: number, work: () => Promise<unknown>) => Promise<unknown>}
 */
const retry = (attempts, work) =>
  work().catch((error) => {
    if (attempts === 1) throw error
    return retry(attempts - 1, work)
  })

/**
 * Loads the packages with everything that they export. The framework of an entry may be missing. @param {string} installFolder @param
 * {NodeJS.ProcessEnv} env
 */
const loadPackages = async (installFolder, env) => {
  const names = await readdir(join(installFolder, 'node_modules/@latchkey'))
  for (const name of names) {
    const text = await readFile(join(installFolder, 'node_modules/@latchkey', name, 'package.json'), 'utf8')
    const { exports, peerDependencies = {} } = JSON.parse(text)
    const entries = Object.keys(exports).filter((each) => each !== './package.json')
    const program = `const missing = ${JSON.stringify(Object.keys(peerDependencies).map((peer) => `package '${peer}'`))}
const unlessMissing = (error) => { if (!missing.some((each) => error.message.includes(each))) throw error }
${entries.map((each) => `await import('@latchkey/${name}${each.slice(1)}').catch(unlessMissing)`).join('\n')}`
    await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: installFolder, env })
  }
  return names
}

/**
 * Installs everything with npm, compares the versions, asks doctor, and starts the service without any settings.
 * @param {Made} made
 */
export const tryRelease = async ({ folder, version, commit, say }) => {
  const installFolder = await mkdtemp(join(tmpdir(), 'latchkey-try-'))
  const env = plainEnvironment()
  try {
    await run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: folder })
    await writeFile(join(installFolder, 'package.json'), '{}\n')
    const archives = (await readdir(folder)).filter((name) => /\.tgz$/.test(name)).map((name) => join(folder, name))
    // No registry is needed: everything is in the archives, in the versions that were tested.
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...archives], { cwd: installFolder, env })
    const unlistedPackages = await findUnlistedPackages(installFolder, join(folder, `latchkey-${version}.cdx.json`))
    expectThat(unlistedPackages.length === 0, `these are not in the list of components: ${unlistedPackages.join(', ')}`)
    const npx = (/** @type {string[]} */ ...args) =>
      run('npx', ['--no-install', 'latchkey', ...args], { cwd: installFolder, env })
    const printedVersion = (await npx('--version')).trim()
    expectThat(printedVersion === `latchkey ${version}+${commit.slice(0, 12)}`, `it says that it is ${printedVersion}`)
    await retry(3, () => npx('doctor'))
    const seconds = await serveOnce(installFolder, env)
    const names = await loadPackages(installFolder, env)
    say(
      `Installed in an empty folder: ready after ${seconds} s; loaded ${names.map((name) => `@latchkey/${name}`).join(', ')}`,
    )
  } finally {
    await rm(installFolder, { recursive: true, force: true })
  }
}
