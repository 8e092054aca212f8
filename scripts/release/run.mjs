import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/**
 * Runs a program and returns what it prints. If the program fails, the error has its output.
 * @type {(command: string, args: string[], options: { cwd: string, env?: NodeJS.ProcessEnv }) => Promise<string>}
 */
export const run = async (command, args, { cwd, env = process.env }) => {
  try {
    const { stdout } = await execute(command, args, { cwd, env, maxBuffer: 256 * 1024 * 1024 })
    return stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = /** @type {{ stdout?: string, stderr?: string }} */ (error)
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}
