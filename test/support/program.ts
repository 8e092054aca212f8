import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/** The built program as a process of its own, away from any `.env` and with no settings but these. */
export const runLatchkey = (folder: string, settings: Record<string, string>, args: string[] = ['serve']) => {
  const env = { PATH: process.env.PATH ?? '', HOST: '127.0.0.1', PORT: '0', DATA_DIR: folder, ...settings }
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString()
  })
  const exited = once(child, 'exit').then(([code]) => code as number | null)

  const until = async (pattern: RegExp) => {
    for (let tries = 0; tries < 1200; tries++) {
      const found = pattern.exec(output.stdout)
      if (found) return found
      if (child.exitCode !== null) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    throw new Error(`The program never said ${pattern}: ${output.stdout}${output.stderr}`)
  }

  return {
    output,
    exited,
    until,
    /** The address that the start line names. */
    ready: async () => (await until(/ready at (http:\S+)/))[1] ?? '',
    signal: (name: NodeJS.Signals) => child.kill(name),
    stop: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
