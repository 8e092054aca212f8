import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { chown, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { seconds } from '../../lib/durations.js'
import { OperatorError } from '../../lib/operator-error.js'
import { shortNameOf, temporaryFolderFor } from './folder-lock.js'
import { type Account, asAccount, isRoot, type Programs, programIn } from './programs.js'

type ServerParts = {
  programs: Programs
  account: Account
  folder: string
  place: Place
  /** Settings of PostgreSQL besides the usual ones, each `name=value`. */
  settings?: readonly string[]
  maxConnections: number
  onLine?: (line: string) => void
}

/** Where a client connects: the folder of a Unix socket, or this machine on Windows. */
export type ServerAddress = { host: string; port: number }

export type RunningServer = {
  /** Resolves when the process has ended, with the last lines that it wrote. */
  ended: Promise<readonly string[]>
  /** Ends it within some seconds: running statements are cancelled, and everything committed is on disk. */
  stop(): Promise<void>
}

/** PostgreSQL does not start, for a reason that the operator must know. */
class ServerNotStarted extends OperatorError {
  override name = 'ServerNotStarted'
}

const port = 5432
const socketName = `.s.PGSQL.${port}`
const isWindows = process.platform === 'win32'

/** Everything that was answered is on disk. Its log has no statements and no values, because users typed them. */
const usualSettings = (major: number, maxConnections: number) => [
  'fsync=on',
  'full_page_writes=on',
  'synchronous_commit=on',
  'shared_buffers=64MB',
  'max_wal_size=256MB',
  `max_connections=${maxConnections}`,
  // Containers have little of /dev/shm.
  ...(isWindows ? [] : ['dynamic_shared_memory_type=mmap']),
  ...(major >= 18 ? ['io_method=sync'] : []),
  'password_encryption=scram-sha-256',
  'unix_socket_permissions=0700',
  'wal_level=replica',
  'max_wal_senders=0',
  'max_replication_slots=0',
  'max_logical_replication_workers=0',
  'jit=off',
  'timezone=UTC',
  'log_timezone=UTC',
  'logging_collector=off',
  'log_destination=stderr',
  'log_line_prefix=',
  'log_min_messages=log',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
  'log_checkpoints=off',
  'log_autovacuum_min_duration=-1',
]

/** Where the server listens and how clients get there. It stays the same when PostgreSQL is started again. */
export type Place = { address: ServerAddress; settings: readonly string[]; remove(): Promise<void> }

/** The socket lies in the folder of the cluster, which only this user can enter. Some shared folders hold no sockets. */
export const placeFor = async (folder: string, holdsSockets: boolean): Promise<Place> => {
  if (isWindows) {
    const address = { host: '127.0.0.1', port: await freePort() }
    return { address, settings: ['listen_addresses=127.0.0.1', `port=${address.port}`], remove: async () => undefined }
  }
  const otherFolder = holdsSockets ? undefined : await mkdtemp(join(temporaryFolderFor(socketName), 'lk-'))
  const { path, remove } = await shortNameOf(otherFolder ?? folder, socketName)
  return {
    address: { host: path, port },
    settings: ['listen_addresses=', `port=${port}`, `unix_socket_directories=${otherFolder ?? '.'}`],
    // What a cleaner of temporary folders has replaced is no longer ours, and in nobody's way.
    remove: async () => {
      await remove().catch(() => undefined)
      if (otherFolder !== undefined) await rm(otherFolder, { recursive: true, force: true }).catch(() => undefined)
    },
  }
}

/** How long a start is tried again while old processes of the same cluster end. */
const longestOverlap = 10 * seconds
const oldProcesses = /pre-existing shared memory block|lock file ".*" already exists/

/**
 * Starts PostgreSQL on a cluster. The caller holds the lock on its folder, and has stopped an orphan (`stopOrphan`). Resolves when
 * PostgreSQL accepts connections, however long its recovery takes.
 */
export const startServer = async (parts: ServerParts): Promise<RunningServer> => {
  const giveUpAt = performance.now() + longestOverlap
  for (;;) {
    await claimProcessFiles(parts.folder)
    const attempt = await startOnce(parts)
    if (!('lines' in attempt)) return attempt
    if (!oldProcesses.test(attempt.lines.join('\n')) || performance.now() > giveUpAt)
      throw whyNotStarted(parts.folder, attempt.lines)
    await wait(200)
  }
}

const whyNotStarted = (folder: string, lines: readonly string[]) => {
  const said = lines.join('\n')
  if (/No space left on device/.test(said))
    return new ServerNotStarted(`PostgreSQL does not start in ${folder}, because its disk is full: free some space.`)
  const reason = /^(?:FATAL|PANIC): +(.+)$/m.exec(said)?.[1] ?? lines.at(-1) ?? 'it said nothing'
  const hint = /^HINT: +(.+)$/m.exec(said)?.[1]
  return new ServerNotStarted(`PostgreSQL does not start in ${folder}: ${reason}${hint ? ` (${hint})` : ''}`)
}

const linesKept = 60

const startOnce = async (parts: ServerParts): Promise<RunningServer | { lines: readonly string[] }> => {
  const { programs, account, folder, place, settings = [], maxConnections, onLine } = parts
  const all = [...usualSettings(programs.major, maxConnections), ...place.settings, ...settings]
  const args = ['-D', folder, ...all.flatMap((setting) => ['-c', setting])]
  const [program, withPrefix] = asAccount(account, programIn(programs.folder, 'postgres'), args)
  const child = spawn(program, withPrefix, {
    cwd: '/',
    env: programs.environment,
    uid: account.uid,
    gid: account.gid,
    // A session of its own, so that Ctrl-C in a terminal does not reach it: requests under way still need it.
    detached: true,
    windowsHide: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const { lines, ended } = watch(child, onLine)
  // However this process ends, PostgreSQL is told to end, too. After a `kill -9` the next start finds an orphan.
  const endWithThisProcess = () => void child.kill('SIGINT')
  process.once('exit', endWithThisProcess)
  let isOver = false
  const over = ended.then(() => {
    isOver = true
    process.off('exit', endWithThisProcess)
    return lines
  })
  while (!isOver && !isReady(folder, child.pid)) await Promise.race([wait(15), over])
  if (isOver) return { lines: await over }
  return { ended: over, stop: () => stop(child, over) }
}

const watch = (child: ChildProcess, onLine: ((line: string) => void) | undefined) => {
  const lines: string[] = []
  let rest = ''
  const take = (line: string) => {
    lines.push(line)
    if (lines.length > linesKept) lines.shift()
    onLine?.(line)
  }
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    const [last = '', ...complete] = `${rest}${text}`.split('\n').reverse()
    rest = last
    for (const line of complete.reverse()) take(line)
  })
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      take(`FATAL:  ${error.message}`)
      resolve()
    })
    // The pipe may stay open longer: children that have not ended yet have it, too.
    child.once('exit', () => setImmediate(resolve))
  })
  return { lines, ended }
}

const fastLimit = 5 * seconds
const immediateLimit = 3 * seconds

/** SIGINT lets it write everything to disk. SIGQUIT leaves that to the recovery of the next start, and loses nothing either. */
const stop = async (child: ChildProcess, ended: Promise<unknown>) => {
  for (const [signal, limit] of [
    ['SIGINT', fastLimit],
    ['SIGQUIT', immediateLimit],
    ['SIGKILL', immediateLimit],
  ] as const) {
    child.kill(signal)
    const isOver = await Promise.race([ended.then(() => true), wait(limit, false, { ref: false })])
    if (isOver) return
  }
}

const linesOfProcessFile = (folder: string) => {
  try {
    return readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return []
  }
}

const isReady = (folder: string, pid: number | undefined) => {
  const lines = linesOfProcessFile(folder)
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

/** Where the PostgreSQL that runs on this cluster can be reached, by what it has written into the cluster. */
export const addressOfRunning = async (
  folder: string,
): Promise<{ address: ServerAddress; remove(): Promise<void> } | undefined> => {
  const [, , , portText = '', socketFolder = ''] = linesOfProcessFile(folder)
  if (portText === '') return undefined
  if (isWindows) return { address: { host: '127.0.0.1', port: Number(portText) }, remove: async () => undefined }
  const isElsewhere = socketFolder.startsWith('/')
  // Such a folder is made for this user alone. In another one, someone else could wait for us.
  if (isElsewhere && !isOwnAndClosed(socketFolder)) return undefined
  const { path, remove } = await shortNameOf(isElsewhere ? socketFolder : folder, socketName)
  return { address: { host: path, port }, remove }
}

const isOwnAndClosed = (folder: string) => {
  const { uid, mode } = statSync(folder)
  return uid === process.getuid?.() && (mode & 0o077) === 0
}

/**
 * PostgreSQL's own locks are files with the number of a process, which may be that of another process by now. It takes the number of its
 * parent for an old one, and still looks whether old processes use the memory that the other lines name. So our number is written there,
 * and the files are never removed.
 */
const claimProcessFiles = async (folder: string) => {
  const owner = await stat(folder)
  for (const name of ['postmaster.pid', `${socketName}.lock`]) {
    const file = join(folder, name)
    const text = await readFile(file, 'utf8').catch(() => undefined)
    if (text === undefined) continue
    const draft = `${file}.new`
    await writeFile(draft, text.replace(/^.*/, String(process.pid)), { mode: 0o600 })
    // PostgreSQL may run as another user than root, and must be able to read it.
    if (isRoot()) await chown(draft, owner.uid, owner.gid)
    await rename(draft, file)
  }
}

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer()
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })

const isListening = async ({ host, port }: ServerAddress) => {
  const place = isWindows ? { host, port } : { path: join(host, `.s.PGSQL.${port}`) }
  return await new Promise<boolean>((resolve) => {
    const socket = connect(place)
    const answer = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => answer(true)).once('error', () => answer(false))
  })
}

/** Whether this process is the PostgreSQL of the cluster. Its number alone is not enough: in another container it is someone else's. */
const isServerOf = (folder: string, pid: number) => {
  if (!(pid > 1) || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    if (!existsSync('/proc/self/cwd')) return true
    const [one, other] = [statSync(`/proc/${pid}/cwd`), statSync(folder)]
    return one.ino === other.ino && one.dev === other.dev && readlinkSync(`/proc/${pid}/exe`).includes('postgres')
  } catch {
    return false
  }
}

const dyingLimit = 1 * seconds

/** One that was killed a moment ago may still accept connections, and does not look like a server any more: that is waited for. */
const isRunningHere = async (folder: string, pid: number, address: ServerAddress) => {
  for (const until = performance.now() + dyingLimit; await isListening(address); await wait(20)) {
    if (isServerOf(folder, pid)) return true
    if (performance.now() > until)
      throw new ServerNotStarted(
        `Another PostgreSQL uses ${folder}, which cannot be stopped from here: it runs in another container, or as another user. Stop that one first. Nothing was changed.`,
      )
  }
  return false
}

/**
 * Stops a PostgreSQL that was left on the cluster by a service that was killed. It is never taken over: nobody would start it again. The
 * caller holds the lock on the folder.
 */
export const stopOrphan = async (folder: string): Promise<boolean> => {
  const running = await addressOfRunning(folder)
  if (!running) return false
  try {
    const pid = Number(linesOfProcessFile(folder)[0])
    if (!(await isRunningHere(folder, pid, running.address))) return false
    for (const [signal, limit] of [
      ['SIGINT', fastLimit],
      ['SIGQUIT', fastLimit],
    ] as const) {
      process.kill(pid, signal)
      const giveUpAt = performance.now() + limit
      while (isServerOf(folder, pid) && performance.now() < giveUpAt) await wait(20)
      if (!isServerOf(folder, pid)) return true
    }
    throw new ServerNotStarted(
      `The PostgreSQL that uses ${folder}, process ${pid}, does not end: end it (kill -QUIT ${pid}).`,
    )
  } finally {
    await running.remove()
  }
}
