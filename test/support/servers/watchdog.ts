import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export type WatchedTask = {
  command: string
  args: string[]
  folder: string
  log: string
  endSignal: NodeJS.Signals
  env: NodeJS.ProcessEnv
  uid?: number
  gid?: number
}

type Notice = { id: number; state: 'started' | 'ended' | 'removed'; pid?: number }

const program = fileURLToPath(new URL('watchdog.mjs', import.meta.url))
const listeners = new Map<number, (notice: Notice) => void>()
let watchdog: ChildProcess | undefined
let lastId = 0
let questions = 0

// In a process group of its own, so that Ctrl-C in the terminal is for the tests: the closing channel tells the watchdog.
const startWatchdog = () => {
  const child = fork(program, { detached: true, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  child.on('message', (notice: Notice) => listeners.get(notice.id)?.(notice))
  child.unref()
  return child
}

/** The watchdog does not hold up the end of the test process, except while it is asked for something. */
const ask = async <Answer>(message: object, answer: Promise<Answer>) => {
  watchdog ??= startWatchdog()
  questions += 1
  watchdog.channel?.ref()
  watchdog.send(message)
  const answered = await answer
  questions -= 1
  if (questions === 0) watchdog.channel?.unref()
  return answered
}

/** Starts a server that ends with this process, however that ends. One watchdog serves all servers of a test process. */
export const startWatched = async (task: WatchedTask) => {
  lastId += 1
  const id = lastId
  let isAlive = true
  let removal: Promise<void> | undefined
  let onRemoved = () => {}
  const removed = new Promise<void>((resolve) => {
    onRemoved = resolve
  })
  const started = new Promise<number>((resolve) => {
    listeners.set(id, ({ state, pid }) => {
      if (state === 'started') resolve(pid ?? 0)
      else isAlive = false
      if (state === 'removed') onRemoved()
    })
  })
  const pid = await ask({ id, task }, started)
  return {
    pid,
    alive: () => isAlive && watchdog?.connected === true,
    end: async ({ keepFolder }: { keepFolder: boolean }) => {
      isAlive = false
      removal ??= ask({ id, keepFolder }, removed)
      await removal
      listeners.delete(id)
    },
  }
}
