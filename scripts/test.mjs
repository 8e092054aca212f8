// `npm test` installs what is missing, builds, runs gates and tests side by side, and prints one line that says how it went. With
// arguments (`npm test -- src/users`) it runs only those tests, without gates. `npm run test:long` runs those of vitest.long.config.ts.
// `npm run coverage` runs all tests, and shows the share of the lines that they run. test/support/servers/ starts the servers that the
// tests use.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildIfChanged, showFault } from './build.mjs'
import { check } from './check.mjs'

const home = fileURLToPath(new URL('..', import.meta.url))

const main = async () => {
  const args = process.argv.slice(2)
  const isLong = args.includes('--long')
  const vitestArgs = isLong ? ['--config', 'vitest.long.config.ts', ...args.filter((each) => each !== '--long')] : args
  await Promise.all([installParts(isLong ? ['--long'] : []), buildIfChanged(), isLong && installPuppeteer()])
  // The gates have a low priority, because some tests measure time. Many tests wait, which leaves time for the gates.
  const [gatesPassed, results] = await Promise.all([vitestArgs.length > 0 || check(19), runVitest(vitestArgs)])
  const { code, passed, skipped, slowest, ...counts } = results
  // An error outside of the tests, or a run that was stopped, must not look like a success.
  const failed = code !== 0 && counts.failed === 0 ? 1 : counts.failed

  if (slowest.length > 1) console.log(`The slowest files, in seconds:\n${slowest.join('\n')}`)
  if (skipped > 0) console.log(`${skipped} skipped`)
  if (!gatesPassed) console.log('A gate found something: see above, or run npm run check')
  if (failed > counts.failed) console.log('The test run itself failed: see above')
  console.log(`${passed} passed, ${failed} failed`)
  return code === 0 && gatesPassed ? 0 : code || 1
}

// Programs are installed only where this needs no password. Elsewhere the tests say in one line what is missing.
/** @param {string[]} args */
const installParts = async (args) => {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return
  const code = await run('/bin/bash', [join(home, 'scripts/install-test-parts.sh'), ...args])
  if (code !== 0) console.error('Not everything could be installed: going on with what is here')
}

/** Puppeteer drives Firefox, which only the long tests use. */
const installPuppeteer = async () => {
  const code = await run('npm', [
    'ci',
    '--prefix',
    join(home, 'test/support/puppeteer'),
    '--no-fund',
    '--loglevel=error',
  ])
  if (code !== 0) console.error('Puppeteer could not be installed')
}

/** @param {string[]} args */
const runVitest = async (args) => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-results-'))
  const file = join(folder, 'results.json')
  try {
    const vitest = join(home, 'node_modules/vitest/vitest.mjs')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
    // A change of words alone has no tests, which is no failure.
    if (args.includes('--changed')) reporters.push('--passWithNoTests')
    const settings = { TEST_COMPILED_SOURCES: needsSources(args) ? '' : '1' }
    // More room for new objects means fewer collections of garbage.
    const code = await run(
      process.execPath,
      ['--max-semi-space-size=32', vitest, 'run', ...reporters, ...args],
      settings,
    )
    return { code, ...(await readCounts(file)) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Whether Vite must read the sources, which these two options need. Otherwise Node loads the sources that the build has just compiled
 * (test/support/compiled-sources.ts).
 * @type {(args: string[]) => boolean}
 */
const needsSources = (args) => args.some((each) => /^--(changed|coverage)\b/.test(each))

/** @typedef {{ name: string, startTime: number, endTime: number, status: string, assertionResults: { status: string }[] }} FileResult */

/** @param {string} file */
const readCounts = async (file) => {
  const text = await readFile(file, 'utf8').catch(() => '{"testResults":[]}')
  /** @type {{ testResults: FileResult[] }} */
  const { testResults } = JSON.parse(text)
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults)
  const count = (/** @type {string[]} */ ...statuses) => tests.filter(({ status }) => statuses.includes(status)).length
  // A file that could not be loaded has no tests, and counts as one failure.
  const unloadedFiles = testResults.filter(({ status, assertionResults }) => {
    return status === 'failed' && !assertionResults.some((test) => test.status === 'failed')
  })
  return {
    passed: count('passed'),
    failed: count('failed') + unloadedFiles.length,
    skipped: count('skipped', 'pending', 'todo', 'disabled'),
    slowest: slowestOf(testResults),
  }
}

/** The twenty files that took longest, a line for each, so that the cost of tests is known. @param {FileResult[]} files */
const slowestOf = (files) =>
  files
    .map(({ name, startTime, endTime }) => ({ path: relative(home, name), seconds: (endTime - startTime) / 1000 }))
    .sort((one, other) => other.seconds - one.seconds)
    .slice(0, 20)
    .map(({ path, seconds }) => `${seconds.toFixed(1).padStart(6)}  ${path}`)

/** @type {(command: string, args: string[], settings?: Record<string, string>) => Promise<number>} */
const run = (command, args, settings = {}) =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, ...settings }
    const child = spawn(command, args, { cwd: home, env, stdio: ['ignore', 'inherit', 'inherit'] })
    // Ctrl-C reaches the child by itself. A signal to this process alone is passed on. In both cases this process waits for the child.
    const passOn = () => child.kill('SIGTERM')
    const wait = () => {}
    process.on('SIGTERM', passOn).on('SIGINT', wait)
    child.once('error', reject)
    child.once('close', (code) => {
      process.off('SIGTERM', passOn).off('SIGINT', wait)
      resolve(code ?? 130)
    })
  })

process.exitCode = await main().catch((error) => {
  showFault(error)
  console.log('0 passed, 1 failed')
  return 1
})
