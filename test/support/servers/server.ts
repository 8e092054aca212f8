import { mkdtemp, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { memory } from '../temporary-folder.js'
import { portsFrom } from './own-ports.js'
import { sendSignal } from './processes.js'
import { startWatched } from './watchdog.js'

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
  /** Its output so far. */
  log: () => Promise<string>
  /** Ends the process if it still runs, and starts it again on the same folder. */
  restart: () => Promise<void>
  /** Ends the process and removes its folder. */
  stop: () => Promise<void>
}

/** Generous, because the machine may be busy with other programs. */
const startDeadline = 120_000

export const startServer = async (task: ServerTask): Promise<RunningServer> => {
  let server = await start(task)
  return {
    pid: () => server.pid,
    alive: () => server.alive(),
    signal: (name) => {
      if (server.alive()) sendSignal(server.pid, name)
    },
    log: () => readFile(logOf(task.folder), 'utf8'),
    restart: async () => {
      await server.end({ keepFolder: true })
      server = await start(task)
    },
    stop: () => server.end({ keepFolder: false }),
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

const start = async ({ command, args, folder, account, env, endSignal = 'SIGTERM', ready }: ServerTask) => {
  const log = logOf(folder)
  const server = await startWatched({
    ...{ command, args, folder, log, endSignal, ...account },
    env: { ...process.env, ...env },
  })
  const failed = async (why: string) => {
    const text = await readFile(log, 'utf8').catch(() => '')
    await server.end({ keepFolder: false })
    return new Error(`${command} ${why}\n${text.split('\n').slice(-15).join('\n')}`)
  }
  const deadline = Date.now() + startDeadline
  while (!(await ready())) {
    if (!server.alive()) throw await failed('ended while it was starting')
    if (Date.now() > deadline) throw await failed('did not get ready in time')
    await sleep(20)
  }
  return server
}

const logOf = (folder: string) => join(folder, 'server.log')
