import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

const open = new Set<string>()
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const removeAll = () => {
  for (const path of open)
    try {
      rmSync(path, { recursive: true, force: true, maxRetries: 3 })
    } catch {
      // The process ends, and has nobody to tell.
    }
}

/** Another listener decides how the process ends, and `exit` follows. Without one the signal would end it at once. */
const onSignal = (signal: NodeJS.Signals) => {
  if (process.listenerCount(signal) > 1) return
  removeAll()
  process.off(signal, onSignal)
  process.kill(process.pid, signal)
}

const listen = () => {
  process.on('exit', removeAll)
  // Signals reach the main thread only.
  if (isMainThread) for (const signal of signals) process.on(signal, onSignal)
}

const stopListening = () => {
  process.off('exit', removeAll)
  for (const signal of signals) process.off(signal, onSignal)
}

/** A folder that is removed when the process ends, also by a signal, if it was not removed before. */
export const makeTemporaryFolder = async (prefix: string) => {
  const path = await mkdtemp(join(tmpdir(), prefix))
  if (open.size === 0) listen()
  open.add(path)
  return {
    path,
    remove: async () => {
      await rm(path, { recursive: true, force: true })
      open.delete(path)
      if (open.size === 0) stopListening()
    },
  }
}
