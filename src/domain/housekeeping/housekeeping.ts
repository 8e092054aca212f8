import type { Database, Sql } from '../../platform/database/database.js'

/** Any number that nothing else locks. With it, only one instance purges at a time. */
const advisoryLock = 7_210_451

const batch = 500

/** Deletes some expired rows of one noun. Returns `limit` or more if there is more to delete. */
export type Purge = (sql: Sql, limit: number) => Promise<number>

export type Housekeeping = ReturnType<typeof createHousekeeping>

/** Deletes what has expired, in small batches, in one instance at a time. */
export const createHousekeeping = (options: {
  database: Database
  interval: number
  purges: readonly Purge[]
  onFailure: (error: unknown) => void
}) => {
  const { database, interval, purges, onFailure } = options
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined

  const sweep = () =>
    database.transaction(async (sql) => {
      const [lock] = await sql.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [advisoryLock])
      if (!lock?.mine) return 0
      let done = 0
      for (const purge of purges) done += await purge(sql, batch)
      return done
    })

  /** A full batch means that there is more: the next one follows soon, after a pause for other statements. */
  const schedule = (delay: number) => {
    timer = setTimeout(() => {
      running = sweep()
        .catch((error: unknown) => {
          onFailure(error)
          return 0
        })
        .then((done) => {
          if (timer) schedule(done >= batch ? interval / 60 : interval)
        })
    }, delay)
    timer.unref()
  }

  return {
    sweep,
    start: () => schedule(interval / 10),
    stop: async () => {
      clearTimeout(timer)
      timer = undefined
      await running
    },
  }
}
