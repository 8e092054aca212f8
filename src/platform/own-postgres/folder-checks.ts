import { existsSync } from 'node:fs'
import { readFile, realpath, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { OperatorError } from '../../lib/operator-error.js'
import { isRoot } from './account.js'

class UnsafeFolder extends OperatorError {
  override name = 'UnsafeFolder'
}

/** The numbers of network file systems (`statfs`), where locks and `fsync` promise too little for a database. */
const networkFileSystems = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9P'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
])

const nearestExisting = async (folder: string): Promise<string> =>
  existsSync(folder) ? await realpath(folder) : nearestExisting(dirname(folder))

/** The lines of /proc/self/mountinfo have the place of the mount in the fifth field, and its type after the dash. */
const mountsIn = (mountInfo: string) =>
  mountInfo
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ place: line.split(' ')[4] ?? '', type: / - (\S+)/.exec(line)?.[1] ?? '' }))

/** Whether the folder is in the file system of the container itself, which is thrown away with it. */
export const isThrownAway = (folder: string, mountInfo: string, hasMarker: boolean) => {
  const mounts = mountsIn(mountInfo)
  const root = mounts.findLast(({ place }) => place === '/')
  const isContainer = hasMarker || /overlay/.test(root?.type ?? '')
  const isBelow = (place: string) => folder === place || folder.startsWith(`${place}/`)
  return isContainer && !mounts.some(({ place }) => place !== '/' && isBelow(place))
}

/** Refuses a production start that would lose the database or could damage it, with the way to do it right. */
export const requireSafeFolder = async (dataDir: string) => {
  if (isRoot())
    throw new UnsafeFolder(
      'Latchkey does not run as root in production, and neither does its PostgreSQL: start it as a user of its own (User= of systemd, --user of a container, or the image of Latchkey).',
    )
  const folder = await nearestExisting(dataDir)
  const mountInfo = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
  const hasMarker = existsSync('/.dockerenv') || existsSync('/run/.containerenv')
  if (isThrownAway(folder, mountInfo, hasMarker))
    throw new UnsafeFolder(
      `DATA_DIR (${dataDir}) is inside of the container, and would be lost with it: mount a volume there, such as -v latchkey:${dataDir}, or set DATABASE_URL.`,
    )
  const type = await statfs(folder).then(
    (found) => networkFileSystems.get(found.type),
    () => undefined,
  )
  if (type !== undefined)
    throw new UnsafeFolder(
      `DATA_DIR (${dataDir}) is on a network file system (${type}), which does not keep a database safe: choose a local disk, or set DATABASE_URL.`,
    )
}
