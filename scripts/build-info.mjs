// Writes the commit into dist/build.json, where the program finds it, because the packed program and the image have no git.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { replace } from './publish.mjs'

const here = fileURLToPath(new URL('..', import.meta.url))

/**
 * The commit in twelve digits, with `-dirty` if files differ from it. `COMMIT` names the commit where a build has no git, such as in a
 * container. If neither knows the commit, it is undefined. A repository around this folder is not asked, because it belongs to another
 * program.
 * @type {(home?: string, given?: string) => string | undefined}
 */
export const commitOf = (home = here, given = process.env.COMMIT) => {
  if (given) return given.slice(0, 12)
  if (!existsSync(join(home, '.git'))) return undefined
  const args = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*']
  try {
    return execFileSync('git', args, { cwd: home, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}

/** @returns {Promise<boolean>} whether the file has changed */
export const writeBuildInfo = () =>
  replace(join(here, 'dist/build.json'), Buffer.from(`${JSON.stringify({ commit: commitOf() })}\n`))
