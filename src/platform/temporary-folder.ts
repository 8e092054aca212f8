import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

const openFolders = new Set<string>()

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const removeAll = () => {
  for (const path of openFolders)
    try {
      rmSync(path, { recursive: true, force: true, maxRetries: 3 })
    } catch {
      // The process ends, so the failure is not reported.
    }
}

/**
 * If there is another listener, it decides how the process ends, and `exit` follows. Otherwise the folders are removed, and the
 * process is ended by the same signal.
 */
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

/** Makes a folder that is removed at the latest when the process ends, also by a signal. */
export const makeTemporaryFolder = async (prefix: string) => {
  const path = await mkdtemp(join(tmpdir(), prefix))
  if (openFolders.size === 0) listen()
  openFolders.add(path)
  return {
    path,
    remove: async () => {
      await rm(path, { recursive: true, force: true })
      openFolders.delete(path)
      if (openFolders.size === 0) stopListening()
    },
  }
}
