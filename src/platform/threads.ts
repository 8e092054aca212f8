import { platform, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Piscina } from 'piscina'
import { minutes } from '../lib/durations.js'

/** Threads that run the functions of one built file. They start when there is work, and stop after ten minutes without work. */
export const createThreads = (file: URL, maxThreads: number) => {
  let pool: Promise<Piscina> | undefined
  let failure: Error | undefined
  // The library is loaded now and not with the first task: an upgrade may replace packages while this program runs, and a failed import
  // fails for as long as the process lives. Commands that hash nothing do not wait for it.
  const library = import('piscina')
  library.catch(() => undefined)
  const open = async () => {
    const { Piscina } = await library
    const newPool = new Piscina({ filename: fileURLToPath(file), minThreads: 0, maxThreads, idleTimeout: 10 * minutes })
    // A thread that cannot load its file has no task yet, so no task fails. Without a listener the whole process would end. The pool is
    // destroyed, because its tasks would wait for ever. The next task tries again with new threads.
    newPool.on('error', (cause: Error) => {
      failure = new Error(`A thread could not be started: ${cause.message}`, { cause })
      pool = undefined
      void newPool.destroy()
    })
    return newPool
  }
  return {
    run: async (task: unknown, options: { name: string; signal?: AbortSignal }) => {
      pool ??= open()
      const current = pool
      try {
        return await (await current).run(task, options)
      } catch (error) {
        throw pool === current ? error : (failure ?? error)
      }
    },
    destroy: async () => (await pool?.catch(() => undefined))?.destroy(),
  }
}

/**
 * Called in a worker thread, to lower its priority. On Linux a thread has its own priority, so the event loop still runs
 * while every core hashes. On other systems only the whole process has a priority, and nothing is changed.
 *
 * `node bench/run.mjs priority` measures the effect: during hashing, the median access check took a quarter to two fifths less time,
 * with as many sign-ins. A lower priority than this had no clear effect.
 */
export const yieldToOthers = () => {
  if (platform() === 'linux') setPriority(0, 5)
}
