import { spawn } from 'node:child_process'
import { mkdtemp, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { memory } from '../temporary-folder.js'
import { portsFrom } from './own-ports.js'
import { sendSignal } from './processes.js'

export type Account = { uid: number; gid: number }

export type ServerTask = {
  command: string
  args: string[]
  /** A folder of the server's own, from `ownFolder`. It is removed with the server. */
  folder: string
  ready: () => Promise<boolean>
  account?: Account | undefined
  env?: Record<string, string>
  endSignal?: NodeJS.Signals
}

export type RunningServer = {
  pid: () => number
  /** False once the process has ended by itself or by a signal. */
  alive: () => boolean
  signal: (name: NodeJS.Signals) => void
  /** What it has written so far. */
  log: () => Promise<string>
  /** Ends the process if it still runs, and starts it again on the same folder. */
  restart: () => Promise<void>
  /** Ends the process and removes its folder. */
  stop: () => Promise<void>
}

const watchdogFile = fileURLToPath(new URL('watchdog.mjs', import.meta.url))
/** Generous, because the machine may be busy with other programs. */
const startDeadline = 120_000

export const startServer = async (task: ServerTask): Promise<RunningServer> => {
  let watchdog = await startWatched(task)
  return {
    pid: () => watchdog.pid,
    alive: () => watchdog.alive(),
    signal: (name) => {
      if (watchdog.alive()) sendSignal(watchdog.pid, name)
    },
    log: () => readFile(logOf(task), 'utf8'),
    restart: async () => {
      await watchdog.end({ keepFolder: true })
      watchdog = await startWatched(task)
    },
    stop: () => watchdog.end({ keepFolder: false }),
  }
}

// Short, and never below a home folder: the server may run as another user, who must be able to get there.
const parentOfFolders = () => (process.getuid?.() === 0 && !tmpdir().startsWith(memory) ? '/tmp' : tmpdir())

export const ownFolder = (name: string): Promise<string> => mkdtemp(join(parentOfFolders(), `latchkey-${name}-`))

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })

/**
 * Below the ports of outgoing connections (from 32768 on), and of our Redis servers: one of those could take the port before
 * the server does.
 */
const lowestPort = 12_000
const nextPort = portsFrom(lowestPort, 8_000)

export const freePort = async (): Promise<number> => {
  const port = nextPort()
  return (await isFree(port)) ? port : freePort()
}

const startWatched = async (task: ServerTask) => {
  const watchdog = openWatchdog(task)
  const failed = async (why: string) => {
    const log = await readFile(logOf(task), 'utf8').catch(() => '')
    await watchdog.end({ keepFolder: false })
    return new Error(`${task.command} ${why}\n${log.split('\n').slice(-15).join('\n')}`)
  }
  const pid = await watchdog.started
  const deadline = Date.now() + startDeadline
  while (!(await task.ready())) {
    if (!watchdog.alive()) throw await failed('ended while it was starting')
    if (Date.now() > deadline) throw await failed('did not get ready in time')
    await sleep(20)
  }
  watchdog.letGo()
  return { ...watchdog, pid }
}

const openWatchdog = ({ command, args, folder, account, env, endSignal = 'SIGTERM', ...rest }: ServerTask) => {
  const log = logOf({ command, args, folder, ...rest })
  const task = JSON.stringify({ command, args, folder, log, env, endSignal, ...account })
  // A process group of its own keeps Ctrl-C in the terminal for the tests; the closing pipe tells the watchdog in order.
  const child = spawn(process.execPath, [watchdogFile, task], { detached: true, stdio: ['pipe', 'pipe', 'inherit'] })
  let serverAlive = true
  const started = new Promise<number>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const pid = /started (\d+)/.exec(text)?.[1]
      if (pid) resolve(Number(pid))
      if (text.includes('ended')) serverAlive = false
    })
  })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.stdin.on('error', () => {})
  return {
    started,
    letGo: () => letGo(child),
    alive: () => serverAlive && child.exitCode === null,
    end: async ({ keepFolder }: { keepFolder: boolean }) => {
      serverAlive = false
      child.ref()
      child.stdin.end(keepFolder ? 'keep' : '')
      if (child.exitCode === null) await gone
    },
  }
}

// Neither the watchdog nor its pipes may hold up the end of the test process.
const letGo = (child: ReturnType<typeof spawn>) => {
  child.unref()
  for (const stream of [child.stdin, child.stdout]) {
    if (stream && 'unref' in stream && typeof stream.unref === 'function') stream.unref()
  }
}

const logOf = ({ folder }: ServerTask) => join(folder, 'server.log')
