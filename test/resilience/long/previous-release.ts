import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const home = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * From which the test upgrades. Its migrations may be applied in installations, and are never changed again: this program
 * refuses a database that has another text of one of them. `test/repository/migrations.test.ts` compares them.
 */
export const previousRelease = {
  commit: '059751a9a767c8d129525c73fceee94061b9a821',
  /** The SHA-256 of each, so that they can be compared without the history of the repository. */
  migrations: {
    '0001-schema.sql': 'a93f07c90e56c50edd06680b8dd6cc2d802bd1213313d9c91f3621d4a37169f9',
    '0002-triggers.sql': '7e665851de658fa47db70ee431ec650259877a53c4c94bd0cdd2f733bdc7c1c8',
    '0003-event-months.sql': '56344f7d20e6750e659f27415550cc47dd83a35e52b1048ea27edf1e39c917ba',
  },
}
const { commit } = previousRelease

/** `latchkey-VERSION.tgz` of an earlier release. None is published yet, so without it the fixed commit above is built. */
const packedRelease = process.env.TEST_PREVIOUS_RELEASE

const unpackRelease = (folder: string, file: string) =>
  run('tar', ['-xzf', resolve(home, file), '--strip-components=1'], { cwd: folder })

const buildCommit = async (folder: string) => {
  const archive = join(folder, 'source.tar')
  await run('git', ['archive', '--output', archive, commit], { cwd: home })
  await run('tar', ['-xf', archive], { cwd: folder })
  await writeFile(join(folder, '.npmrc'), 'audit=false\nfund=false\n')
  // This also builds it.
  await run('npm', ['ci', '--silent'], { cwd: folder, maxBuffer: 64 * 1024 * 1024 })
}

/** The previous release in a folder of its own: from its packed file, or built from the history of this repository. */
export const providePreviousRelease = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-previous-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await (packedRelease ? unpackRelease(folder, packedRelease) : buildCommit(folder))
  } catch (error) {
    await remove()
    const fault = packedRelease
      ? `TEST_PREVIOUS_RELEASE (${packedRelease}) cannot be unpacked.`
      : `The previous release (${commit}) cannot be built. A shallow clone lacks it.`
    throw new Error(fault, { cause: error })
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

export type PreviousRelease = Awaited<ReturnType<typeof providePreviousRelease>>
