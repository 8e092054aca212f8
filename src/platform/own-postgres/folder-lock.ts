import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, statfs, symlink } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { codeOf } from '../../lib/caught.js'
import { seconds } from '../../lib/durations.js'
import { OperatorError } from '../../lib/operator-error.js'
import { isRoot } from './programs.js'

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

export type HolderKind = 'service' | 'command'

/** The process that has the lock on a data directory. If `isSilent`, it does not answer. */
export type Holder = { kind: HolderKind; pid: number; isSilent: boolean }

const whatToDo = ({ kind, pid, isSilent }: Holder) => {
  if (isSilent)
    return `a ${kind} that does not answer, process ${pid}: if it is paused, continue it (kill -CONT ${pid}); else end it (kill -KILL ${pid}).`
  if (kind === 'command')
    return `another command, process ${pid}: wait until it has ended, or end it (kill ${pid}), or choose another DATA_DIR.`
  return `another running Latchkey, process ${pid}: stop that one first (kill ${pid}), or choose another DATA_DIR.`
}

const unknownHolder = 'another running Latchkey: stop that one first, or choose another DATA_DIR.'

export class DataDirectoryInUse extends OperatorError {
  override name = 'DataDirectoryInUse'
  /** Undefined on Windows, and if the holder is an older version that does not name itself. */
  readonly holder: Holder | undefined
  constructor(directory: string, holder?: Holder) {
    super(`The data directory ${directory} is in use by ${holder ? whatToDo(holder) : unknownHolder}`)
    this.holder = holder
  }
}

export class DataDirectoryOfAnotherUser extends OperatorError {
  override name = 'DataDirectoryOfAnotherUser'
  constructor(directory: string) {
    super(
      `The data directory ${directory} is in use by a Latchkey that another user runs: run the command as that user.`,
    )
  }
}

export class DataDirectoryUnreadable extends OperatorError {
  override name = 'DataDirectoryUnreadable'
  constructor(directory: string, options?: ErrorOptions) {
    super(`The data directory ${directory} cannot be read: run this as the user of the service.`, options)
  }
}

const isDiskFull = (error: unknown) => codeOf(error) === 'ENOSPC'

export class DataDirectoryUnwritable extends OperatorError {
  override name = 'DataDirectoryUnwritable'
  constructor(directory: string, options?: ErrorOptions) {
    const advice = isDiskFull(options?.cause)
      ? 'its disk is full: free some space'
      : 'give this user the right to, or choose another DATA_DIR'
    super(`The data directory ${directory} cannot be written to: ${advice}.`, options)
  }
}

export class NoDatabase extends OperatorError {
  override name = 'NoDatabase'
  constructor(directory: string) {
    super(
      `There is no database in ${directory}: set DATA_DIR to the folder of your service. (To make a new database there, run \`latchkey serve\`.)`,
    )
  }
}

export type DirectoryLock = {
  /** From now on, `serve` gets the connections of other processes of the same user that ask for the lock (`connectToHolder`). */
  admit(serve: Serve): void
  /** Whether the file system of the directory holds sockets. */
  readonly holdsSockets: boolean
  release(): Promise<void>
}

type Serve = (socket: Socket) => void
type Listener = { close(): Promise<void> }

/**
 * Makes sure that only one process uses the directory. The lock is a listening socket beside the directory, which the kernel closes
 * when its process ends in any way. A file with a process id is not enough: ids are reused, and differ between containers that share a
 * volume.
 */
export const lockDirectory = async (directory: string, kind: HolderKind): Promise<DirectoryLock> => {
  const resolvedPath = await resolvePath(directory)
  if (process.platform === 'win32') return await lockByPipe(resolvedPath, directory)
  return await lockBySocket({ resolvedPath, directory, kind })
}

const resolvePath = async (directory: string) => join(await realpath(dirname(directory)), basename(directory))

/** Throws if the folder may not be read. A folder that does not exist is no error: it has no holder and no database. */
const throwIfForbidden = (directory: string, error: unknown) => {
  if (codeOf(error) === 'EACCES') throw new DataDirectoryUnreadable(dirname(directory), { cause: error })
  return undefined
}

/** A busy process answers within this time. A paused process does not answer at all. */
const answerTimeout = 10 * seconds

/** A connection to the process that has the lock, if there is such a process. It may still close the connection. */
export const connectToHolder = async (directory: string, timeout = answerTimeout): Promise<Socket | undefined> => {
  const resolvedPath = await resolvePath(directory).catch((error) => throwIfForbidden(directory, error))
  if (resolvedPath === undefined || process.platform === 'win32') return undefined
  // The temporary folder is not looked at, because other users may listen there, too.
  const socketFolder = dirname(resolvedPath)
  const folder = await shortNameForLock(socketFolder, resolvedPath, directory)
  try {
    const found = socketsOf(folder.path, resolvedPath)
    const paths = (await found.catch((error) => throwIfForbidden(directory, error))) ?? []
    const holder = holderAmong(await askAll(paths, timeout))
    if (holder === undefined) return undefined
    const isOwn = await isOfThisUser(socketFolder, holder.path)
    if (isOwn === undefined) return undefined
    if (!isOwn) throw new DataDirectoryOfAnotherUser(directory)
    if (holder.state === 'silent') throw new DataDirectoryInUse(directory, describeHolder(holder))
    return await connectAfterState(holder.path)
  } finally {
    await folder.remove()
  }
}

/**
 * A command trusts the holder of the lock, also with the paths of files. So the holder must be the same user: otherwise an attacker with
 * another account could direct what root does. Undefined if the holder has ended since it answered.
 */
const isOfThisUser = async (socketFolder: string, path: string) => {
  const ownUid = process.getuid?.()
  const folder = await lstat(socketFolder)
  const socket = await lstat(path).catch((error) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  return socket && socket.uid === ownUid && (folder.uid === ownUid || folder.uid === 0)
}

// On Windows the lock is a named pipe: only one process can own it, and it ends with this process.
const lockByPipe = async (resolvedPath: string, directory: string): Promise<DirectoryLock> => {
  const name = createHash('sha256').update(resolvedPath.toLowerCase()).digest('hex')
  const server = await listen(`\\\\.\\pipe\\latchkey-${name}`, (socket) => socket.end('held')).catch((error) => {
    throw codeOf(error) === 'EADDRINUSE' ? new DataDirectoryInUse(directory) : error
  })
  return { admit: () => undefined, holdsSockets: true, release: server.close }
}

type State = 'trying' | 'held'
type Answer = { path: string; state: State | 'silent' }
type ClaimedDirectory = { resolvedPath: string; directory: string; kind: HolderKind }
const maxAttempts = 40

/**
 * The file of a socket stays when its process is killed, and taking over such a file is a race. So every process first listens under
 * its own random name, and then asks the sockets of other processes. Of two processes that start together, at least one sees the other.
 * A process that sees another one that is trying releases its own socket and tries again after a random pause.
 */
const lockBySocket = async (
  claimed: ClaimedDirectory,
  socketFolder = dirname(claimed.resolvedPath),
): Promise<DirectoryLock> => {
  const { resolvedPath, directory, kind } = claimed
  const folder = await shortNameForLock(socketFolder, resolvedPath, directory)
  try {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const claim = await createClaim(folder.path, socketFolder, namePrefix(resolvedPath, kind))
      const others = await statesOfOthers(folder.path, resolvedPath, claim.name)
      if (others.length === 0) {
        claim.hold()
        const holdsSockets = socketFolder === dirname(resolvedPath)
        return { admit: holdsSockets ? claim.admit : () => undefined, holdsSockets, release: claim.release }
      }
      await claim.release()
      const holder = holderAmong(others)
      if (holder) throw new DataDirectoryInUse(directory, describeHolder(holder))
      await wait(20 + Math.random() * 100)
    }
    throw new DataDirectoryInUse(directory)
  } catch (error) {
    if (error instanceof OperatorError) throw error
    const fallbackFolder = await fallbackFolderFor(resolvedPath)
    // Some shared folders allow no sockets. Processes of this machine can still use the temporary folder.
    if (noSocketCodes.has(codeOf(error) ?? '') && socketFolder !== fallbackFolder)
      return await lockBySocket(claimed, fallbackFolder)
    throw new DataDirectoryUnwritable(dirname(directory), { cause: error })
  } finally {
    await folder.remove()
  }
}

const noSocketCodes = new Set(['ENOTSUP', 'EOPNOTSUPP', 'EPERM', 'EINVAL', 'ENOSYS', 'EIO'])

const fallbackFolderFor = async (resolvedPath: string) => {
  const name = createHash('sha256').update(resolvedPath).digest('hex').slice(0, 16)
  const folder = join(tmpdir(), `latchkey-${name}`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // Anyone may make folders there, so another user may have made this one, and would decide who gets the lock.
  const { uid, mode } = await lstat(folder)
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0)
    throw new OperatorError(`The folder ${folder} belongs to another user, or others may enter it: remove it.`)
  return folder
}

/** The longest name of a socket, after the prefix. */
const longestEnd = 'service-4194304-0123456789ab'

const shortNameForLock = (folder: string, resolvedPath: string, directory: string) =>
  shortNameOf(folder, prefixOf(resolvedPath) + longestEnd).catch((cause: unknown) => {
    throw new DataDirectoryUnwritable(directory, { cause })
  })

const prefixOf = (resolvedPath: string) => `${basename(resolvedPath)}.lock-`

/** The name of a socket says which process has made it, also when that process does not answer. */
const namePrefix = (resolvedPath: string, kind: HolderKind) => `${prefixOf(resolvedPath)}${kind}-${process.pid}-`

/** The process that a socket names. It is undefined for an older version, whose sockets have other names. */
const describeHolder = ({ path, state }: Answer): Holder | undefined => {
  const [, kind, pid] = /\.lock-(service|command)-(\d+)-[\da-f]+$/.exec(path) ?? []
  if (pid === undefined) return undefined
  return { kind: kind === 'service' ? 'service' : 'command', pid: Number(pid), isSilent: state === 'silent' }
}

/** A paused process does not answer (`silent`), but still holds its lock. */
const holderAmong = (answers: readonly Answer[]) => answers.find(({ state }) => state !== 'trying')

/** The mode of the socket. Its users can read and write the database, so only the user of this process may use it, as with its files. */
const socketMode = 0o600

const createClaim = async (folder: string, socketFolder: string, prefix: string) => {
  const name = `${prefix}${randomBytes(6).toString('hex')}`
  const path = join(folder, name)
  const answerWith = (state: State) => (socket: Socket) => void socket.end(state)
  let receive: Serve = answerWith('trying')
  const server = await listen(path, (socket) => receive(socket))
  const release = async () => {
    await server.close()
    await rm(join(socketFolder, name), { force: true })
  }
  try {
    await chmod(path, socketMode)
  } catch (error) {
    await release()
    throw error
  }
  return {
    name,
    hold: () => {
      receive = answerWith('held')
    },
    admit: (serve: Serve) => {
      receive = (socket) => {
        socket.write('held' satisfies State)
        serve(socket)
      }
    },
    release,
  }
}

const socketsOf = async (folder: string, resolvedPath: string) =>
  (await readdir(folder)).filter((name) => name.startsWith(prefixOf(resolvedPath))).map((name) => join(folder, name))

const statesOfOthers = async (folder: string, resolvedPath: string, own: string) => {
  const paths = (await socketsOf(folder, resolvedPath)).filter((path) => basename(path) !== own)
  return await askAll(paths, 1 * seconds)
}

/** The answers of the processes behind the sockets. Processes that have ended are left out. */
const askAll = async (paths: readonly string[], timeout: number): Promise<Answer[]> => {
  const states = await Promise.all(paths.map(async (path) => ({ path, state: await ask(path, timeout) })))
  return states.flatMap(({ path, state }) => (state === undefined ? [] : [{ path, state }]))
}

const ask = (path: string, timeout: number) =>
  new Promise<Answer['state'] | undefined>((resolve) => {
    const socket = connect({ path })
    socket.setTimeout(timeout, () => {
      socket.destroy()
      resolve('silent')
    })
    socket.once('data', (answer) => {
      socket.destroy()
      resolve(answer.toString() === 'trying' ? 'trying' : 'held')
    })
    socket.once('end', () => resolve('trying'))
    socket.once('error', (error) => {
      const isDead = ['ECONNREFUSED', 'ENOENT', 'ECONNRESET'].includes(codeOf(error) ?? '')
      if (!isDead) return resolve('held')
      // Names are never used twice, so the file of a dead socket can be removed.
      rm(path, { force: true }).then(
        () => resolve(undefined),
        () => resolve(undefined),
      )
    })
  })

/** Connects, reads the state that the holder sends first, and leaves the socket open for what follows. */
const connectAfterState = (path: string) =>
  new Promise<Socket | undefined>((resolve) => {
    const socket = connect({ path })
    const none = () => resolve(undefined)
    socket.on('error', none).once('close', none)
    // A paused process holds its lock and does not answer.
    socket.setTimeout(5_000, () => socket.destroy())
    socket.once('data', () => {
      socket.off('close', none).setTimeout(0).pause()
      resolve(socket)
    })
  })

const listen = (path: string, receive: Serve) =>
  new Promise<Listener>((resolve, reject) => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      receive(socket.on('error', () => undefined).once('close', () => sockets.delete(socket)))
    })
    // Sockets with unread bytes do not close by themselves, and `server.close` would wait for them for ever.
    const close = () =>
      new Promise<void>((done) => {
        server.close(() => done())
        for (const socket of sockets) socket.destroy()
      })
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      server.unref()
      resolve({ close })
    })
  })

// The path of a socket may have 107 bytes.
const longestPath = 100

/** The temporary folder, unless its own path is too long. It may be a relative one. */
export const temporaryFolderFor = (longestName: string) => {
  const folder = resolve(tmpdir())
  return Buffer.byteLength(join(folder, 'lk-123456', 'd', longestName)) <= longestPath ? folder : '/tmp'
}

/** A path of the folder that is short enough for a socket in it: the folder itself, or a link in a folder of its own. */
export const shortNameOf = async (folder: string, longestName: string) => {
  if (Buffer.byteLength(join(folder, longestName)) <= longestPath)
    return { path: folder, remove: async () => undefined }
  const short = await mkdtemp(join(temporaryFolderFor(longestName), 'lk-'))
  const path = join(short, 'd')
  await symlink(folder, path)
  return { path, remove: () => rm(short, { recursive: true, force: true }) }
}
