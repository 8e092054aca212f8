import { fileURLToPath } from 'node:url'
import type { Piscina } from 'piscina'
import { minutes } from '../../lib/durations.js'

/** Threads that run the functions of one built file. They start when there is work, and stop after ten minutes without. */
export const createThreads = (file: URL, maxThreads: number) => {
  let pool: Promise<Piscina> | undefined
  // Now and not with the first task: packages may be replaced by an upgrade while this program runs, and a failed import fails
  // for as long as the process lives. Commands that hash nothing load it without waiting for it.
  const library = import('piscina')
  library.catch(() => undefined)
  const open = async () => {
    const { Piscina } = await library
    return new Piscina({ filename: fileURLToPath(file), minThreads: 0, maxThreads, idleTimeout: 10 * minutes })
  }
  return {
    run: async (task: unknown, options: { name: string; signal?: AbortSignal }) => {
      pool ??= open()
      return (await pool).run(task, options)
    },
    destroy: async () => (await pool)?.destroy(),
  }
}
