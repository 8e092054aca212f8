import { existsSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { countText } from '../../lib/text.js'
import type { Environment } from '../../settings/config.js'
import { type Finding, ok, warning, worstOf } from './check.js'

/** Secret files are not checked in a container: it has no other users, and the platform often chooses the rights of the files. */
export const isContainer = (env: Environment) =>
  existsSync('/.dockerenv') || existsSync('/run/.containerenv') || env.KUBERNETES_SERVICE_HOST !== undefined

const othersReadBit = 0o004
const othersWriteBit = 0o002
const othersEnterBit = 0o001

/** Whether other users may enter all folders above a file. A closed folder protects everything in it. */
const canBeReachedByOthers = async (path: string): Promise<boolean> => {
  const folder = dirname(path)
  if (folder === path) return true
  const { mode } = await stat(folder)
  return (mode & othersEnterBit) !== 0 && canBeReachedByOthers(folder)
}

const judgeFile = async (path: string): Promise<Finding> => {
  const realPath = await realpath(path)
  const { mode } = await stat(realPath)
  const rights = [...(mode & othersReadBit ? ['read'] : []), ...(mode & othersWriteBit ? ['changed'] : [])]
  if (rights.length === 0 || !(await canBeReachedByOthers(realPath))) return ok('')
  return warning(
    `${path} can be ${rights.join(' and ')} by every user of this machine: make the service's user its owner, and \`chmod o= ${path}\``,
  )
}

/** Checks whether other users can read or change the files that hold secrets. */
export const checkSecretFiles = async (paths: readonly string[]): Promise<Finding> =>
  worstOf(`${countText(paths.length, 'file')} closed to other users`, await Promise.all(paths.map(judgeFile)))
