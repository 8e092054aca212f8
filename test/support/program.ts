import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from './until.js'

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/** A service that was killed leaves its PostgreSQL, which the next start would stop. */
const endOrphan = (dataDir: string) => {
  try {
    const [pid] = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
    if (readlinkSync(`/proc/${pid}/cwd`) === join(realpathSync(dataDir), 'postgres'))
      process.kill(Number(pid), 'SIGQUIT')
  } catch {
    // There is none.
  }
}

/** The built program as a process of its own, away from any `.env` and with no settings but these. */
export const runLatchkey = (
  folder: string,
  settings: Record<string, string>,
  args: string[] = ['serve'],
  program: string = main,
) => {
  const env = { PATH: process.env.PATH ?? '', HOST: '127.0.0.1', PORT: '0', DATA_DIR: folder, ...settings }
  // No options of V8: with any of them, Node compiles its own modules anew at each start.
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString()
  })
  const exited = once(child, 'exit').then(([code]) => code as number | null)

  /** Waits for a line of the output. */
  const says = async (pattern: RegExp) => {
    const found = () => pattern.exec(output.stdout)
    await until(`the program says ${pattern}`, () => found() !== null || child.exitCode !== null, 90_000).catch(
      () => {},
    )
    const line = found()
    if (!line) throw new Error(`The program never said ${pattern}: ${output.stdout}${output.stderr}`)
    return line
  }

  return {
    output,
    exited,
    says,
    /** The address that the start line names. */
    ready: async () => (await says(/ready at (http:\S+)/))[1] ?? '',
    signal: (name: NodeJS.Signals) => child.kill(name),
    stop: async () => {
      child.kill('SIGKILL')
      await exited
      endOrphan(env.DATA_DIR)
    },
  }
}
