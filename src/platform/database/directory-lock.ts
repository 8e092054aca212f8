import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, realpath, rm, symlink } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

export class DataDirectoryInUse extends Error {
  override name = 'DataDirectoryInUse'
  constructor(directory: string) {
    super(
      `The data directory ${directory} is in use by another running Latchkey: stop that one first, or choose another DATA_DIR.`,
    )
  }
}

export class DataDirectoryUnwritable extends Error {
  override name = 'DataDirectoryUnwritable'
  constructor(directory: string, options?: ErrorOptions) {
    super(
      `The data directory ${directory} cannot be written to: give this user the right to, or choose another DATA_DIR.`,
      options,
    )
  }
}

export type DirectoryLock = { release(): Promise<void> }

/**
 * One process per directory. The lock is a listening socket beside the directory: the kernel closes it with its process,
 * however that ends, so nothing has to be guessed from process numbers, which are reused and differ between containers
 * that share a volume.
 */
export const lockDirectory = async (directory: string): Promise<DirectoryLock> => {
  const place = join(await realpath(dirname(directory)), basename(directory))
  if (process.platform === 'win32') return await lockByPipe(place, directory)
  return await lockBySocket(place, directory)
}

// A named pipe lives as long as its process and has one owner: Windows does the rest.
const lockByPipe = async (place: string, directory: string): Promise<DirectoryLock> => {
  const name = createHash('sha256').update(place.toLowerCase()).digest('hex')
  const server = await listen(`\\\\.\\pipe\\latchkey-${name}`, () => 'held').catch((error) => {
    throw codeOf(error) === 'EADDRINUSE' ? new DataDirectoryInUse(directory) : error
  })
  return { release: () => close(server) }
}

type State = 'trying' | 'held'
const attempts = 40

/**
 * A socket's file stays behind when its process is killed, and taking over a dead file by name is a race. So every
 * process listens under a name of its own first and only then looks at the others. Of two that start together at least
 * one sees the other; both step back then, and try again after pauses of different length.
 */
const lockBySocket = async (place: string, directory: string): Promise<DirectoryLock> => {
  const folder = await createShortName(place, directory)
  try {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const claim = await createClaim(folder.path, place, directory)
      const others = await livingOthers(folder.path, place, claim.name)
      if (others.length === 0) {
        claim.hold()
        return { release: claim.release }
      }
      await claim.release()
      if (others.includes('held')) throw new DataDirectoryInUse(directory)
      await wait(20 + Math.random() * 100)
    }
    throw new DataDirectoryInUse(directory)
  } finally {
    await folder.remove()
  }
}

const prefixOf = (place: string) => `${basename(place)}.lock-`

const createClaim = async (folder: string, place: string, directory: string) => {
  const name = `${prefixOf(place)}${randomBytes(6).toString('hex')}`
  let state: State = 'trying'
  const server = await listen(join(folder, name), () => state).catch((cause) => {
    throw new DataDirectoryUnwritable(dirname(directory), { cause })
  })
  return {
    name,
    hold: () => {
      state = 'held'
    },
    release: async () => {
      await close(server)
      await rm(join(dirname(place), name), { force: true })
    },
  }
}

const livingOthers = async (folder: string, place: string, own: string): Promise<State[]> => {
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefixOf(place)) && name !== own)
  const states = await Promise.all(names.map((name) => ask(join(folder, name))))
  return states.filter((state) => state !== undefined)
}

/** What the process behind a socket says. One that is stopped and cannot say anything holds its lock all the same. */
const ask = (path: string) =>
  new Promise<State | undefined>((resolve) => {
    const socket = connect({ path })
    socket.setTimeout(1_000, () => {
      socket.destroy()
      resolve('held')
    })
    socket.once('data', (answer) => {
      socket.destroy()
      resolve(answer.toString() === 'trying' ? 'trying' : 'held')
    })
    socket.once('end', () => resolve('trying'))
    socket.once('error', (error) => {
      const isDead = ['ECONNREFUSED', 'ENOENT', 'ECONNRESET'].includes(codeOf(error))
      if (!isDead) return resolve('held')
      // Names are never used twice, so a dead one stays dead and may go.
      rm(path, { force: true }).then(
        () => resolve(undefined),
        () => resolve(undefined),
      )
    })
  })

const listen = (path: string, state: () => State) =>
  new Promise<Server>((resolve, reject) => {
    const server = createServer((socket) => socket.on('error', () => undefined).end(state()))
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      server.unref()
      resolve(server)
    })
  })

const close = (server: Server) => new Promise<void>((resolve) => server.close(() => resolve()))

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '')

// The kernel takes about a hundred bytes for a socket's path. A longer one is reached through a short link to its folder.
const longestPath = 100

const createShortName = async (place: string, directory: string) => {
  const folder = dirname(place)
  if (Buffer.byteLength(join(folder, prefixOf(place))) + 12 < longestPath)
    return { path: folder, remove: async () => undefined }
  try {
    const home = await mkdtemp(join(tmpdir(), 'lk-'))
    const path = join(home, 'd')
    await symlink(folder, path)
    return { path, remove: () => rm(home, { recursive: true, force: true }) }
  } catch (cause) {
    throw new DataDirectoryUnwritable(directory, { cause })
  }
}
