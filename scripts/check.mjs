// Runs all gates at once. Prints a line for each gate, and the output of those that failed.
import { spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { setPriority } from 'node:os'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'

const home = fileURLToPath(new URL('..', import.meta.url))

const gates = [
  {
    name: 'format and lint',
    command: ['biome', 'check', '--error-on-warnings', '--colors=off', '--max-diagnostics=200'],
  },
  { name: 'types and promises', command: ['oxlint', '--type-aware', '--type-check', '--deny-warnings'] },
  { name: 'architecture', command: ['node', 'scripts/architecture.mjs'] },
  { name: 'package sizes', command: ['node', 'scripts/package-sizes.mjs'] },
  { name: 'dead code', command: ['knip', '--no-progress', '--no-config-hints'] },
]

/**
 * @param {number} priority of the processes: 19 leaves the cores to other programs
 * @returns {Promise<boolean>} whether every gate is passed
 */
export const check = async (priority = 0) => {
  const results = await Promise.all(gates.map((gate) => runGate(gate, priority)))
  for (const { name, passed, seconds } of results) console.log(`${passed ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`)
  for (const { name, passed, output } of results) {
    if (!passed) console.log(`\n── ${name}\n${output.trim()}`)
  }
  return results.every(({ passed }) => passed)
}

/**
 * @type {(gate: { name: string, command: string[] }, priority: number) => Promise<{ name: string, passed: boolean, output: string,
 * seconds: string }>}
 */
const runGate = async ({ name, command: [program = '', ...args] }, priority) => {
  const start = performance.now()
  const { code, output } = await run(program, args, priority)
  return { name, passed: code === 0, output, seconds: ((performance.now() - start) / 1000).toFixed(1) }
}

/** @type {(program: string, args: string[], priority: number) => Promise<{ code: number, output: string }>} */
const run = (program, args, priority) =>
  new Promise((resolve) => {
    const file = program === 'node' ? process.execPath : `${home}/node_modules/.bin/${program}`
    // The type checker is written in Go. With the default of GOGC it spends a fifth of its time on collecting garbage.
    const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', GOGC: '1000' }
    const child = spawn(file, args, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
    if (child.pid && priority !== 0) setPriority(child.pid, priority)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    child.once('error', (error) => resolve({ code: 1, output: error.message }))
    child.once('close', (code) => resolve({ code: code ?? 1, output }))
  })

if (argv[1] && realpathSync(argv[1]) === fileURLToPath(import.meta.url)) {
  process.exitCode = (await check()) ? 0 : 1
}
