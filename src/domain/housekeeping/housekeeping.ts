import type { Database, Sql } from '../../platform/database/database.js'

/** Any number that nothing else locks. With it, only one instance runs a job at a time. */
const advisoryLock = 7_210_451

const batch = 500

/** Mostly a purge, which deletes some expired rows of one noun. Returns `limit` or more if there is more to do. */
export type Job = (sql: Sql, limit: number) => Promise<number>

/** Runs the jobs again and again: they delete what has expired, in small batches, in one instance at a time. */
export const createHousekeeping = (options: {
  database: Database
  interval: number
  jobs: readonly Job[]
  /** Told of the first failure of a round: while the database is away, all of them fail. */
  onFailure: (error: unknown) => void
}) => {
  const { database, interval, jobs, onFailure } = options
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined

  const run = (job: Job) =>
    database.transaction(async (sql) => {
      const [lock] = await sql.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [advisoryLock])
      return lock?.mine ? job(sql, batch) : 0
    })

  /** Each job has its own transaction: one that fails every time does not stop the others. */
  const sweep = async () => {
    const failures: unknown[] = []
    let done = 0
    for (const job of jobs) {
      try {
        done += await run(job)
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) onFailure(failures[0])
    return done
  }

  /** A full batch means that there is more: the next one follows soon, after a pause for other statements. */
  const schedule = (delay: number) => {
    timer = setTimeout(() => {
      running = sweep().then((done) => {
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
