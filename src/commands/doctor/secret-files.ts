import { existsSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Environment } from '../../config.js'
import { countText } from '../../lib/count-text.js'
import { type Finding, ok, warning, worstOf } from './check.js'

/** A container has no other users, and the files that it was given have often the rights that the platform chose. */
export const isContainer = (env: Environment) =>
  existsSync('/.dockerenv') || existsSync('/run/.containerenv') || env.KUBERNETES_SERVICE_HOST !== undefined

const readByOthers = 0o004
const writtenByOthers = 0o002
const enteredByOthers = 0o001

/** A folder that is closed to others protects all that is in it. */
const canBeReachedByOthers = async (path: string): Promise<boolean> => {
  const folder = dirname(path)
  if (folder === path) return true
  const { mode } = await stat(folder)
  return (mode & enteredByOthers) !== 0 && canBeReachedByOthers(folder)
}

const judgeFile = async (path: string): Promise<Finding> => {
  const real = await realpath(path)
  const { mode } = await stat(real)
  const rights = [...(mode & readByOthers ? ['read'] : []), ...(mode & writtenByOthers ? ['changed'] : [])]
  if (rights.length === 0 || !(await canBeReachedByOthers(real))) return ok('')
  return warning(
    `${path} can be ${rights.join(' and ')} by every user of this machine: make the service's user its owner, and \`chmod o= ${path}\``,
  )
}

/** Who else can use the files that hold secrets. */
export const checkSecretFiles = async (paths: readonly string[]): Promise<Finding> =>
  worstOf(`${countText(paths.length, 'file')} closed to other users`, await Promise.all(paths.map(judgeFile)))
