import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const home = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * The commit from which the test upgrades. The migrations that it has are applied by it, so this program refuses its database if one
 * of them was changed since.
 */
const commit = '47c80330695a3f71c8ab6b4345632d5cbe05c90e'

/** The previous release, built in a folder of its own from the history of this repository. */
export const buildPreviousRelease = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-previous-'))
  const archive = join(folder, 'source.tar')
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await run('git', ['archive', '--output', archive, commit], { cwd: home })
    await run('tar', ['-xf', archive], { cwd: folder })
    await writeFile(join(folder, '.npmrc'), 'audit=false\nfund=false\n')
    // This also builds it.
    await run('npm', ['ci', '--silent'], { cwd: folder, maxBuffer: 64 * 1024 * 1024 })
  } catch (error) {
    await remove()
    throw new Error(`The previous release (${commit}) cannot be built. A shallow clone lacks it.`, { cause: error })
  }
  const program = join(folder, 'dist/main.js')
  return {
    program,
    /** One command of it, such as `migrate`. */
    command: (args: string[], settings: Record<string, string>) =>
      run(process.execPath, [program, ...args], { cwd: folder, env: { PATH: process.env.PATH ?? '', ...settings } }),
    remove,
  }
}

export type PreviousRelease = Awaited<ReturnType<typeof buildPreviousRelease>>
