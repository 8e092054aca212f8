import { type Database, type Sql, StoreUnavailable } from './database/database.js'

/** The number of a lock that nothing else uses. The lock lets only one instance run a job at a time. */
const advisoryLock = 7_210_451

const batchSize = 500

/** A job that is repeated. Most jobs delete some expired rows of one room. `run` returns `limit` or more if there is more to do. */
export type Job = { name: string; run(sql: Sql, limit: number): Promise<number> }

type Options = {
  database: Database
  interval: number
  jobs: readonly Job[]
  /** Returns the jobs of parts that are loaded while the service runs. It is called in each round. */
  laterJobs?: () => Promise<readonly Job[]>
  onFailure: (error: unknown, job: string) => void
}

const jobsOfRound = async ({ jobs, laterJobs, onFailure }: Options) => {
  if (!laterJobs) return jobs
  try {
    return [...jobs, ...(await laterJobs())]
  } catch (error) {
    onFailure(error, 'find further jobs')
    return jobs
  }
}

/** Runs the jobs again and again: they delete what has expired, in small batches, in one instance at a time. */
export const createHousekeeping = (options: Options) => {
  const { database, interval, onFailure } = options
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  const runAlone = (job: Job) =>
    database.transaction(async (sql) => {
      const [lock] = await sql.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [advisoryLock])
      return lock?.mine ? job.run(sql, batchSize) : 0
    })

  /** Each job has its own transaction. A job that fails does not stop the others, but an unreachable database does. */
  const sweep = async () => {
    let doneCount = 0
    for (const job of await jobsOfRound(options)) {
      if (isStopped) break
      try {
        doneCount += await runAlone(job)
      } catch (error) {
        onFailure(error, job.name)
        if (error instanceof StoreUnavailable) break
      }
    }
    return doneCount
  }

  /** A full batch means that there is more to do, so the next round follows soon, after a pause for other statements. */
  const schedule = (delay: number) => {
    timer = setTimeout(() => {
      running = sweep().then((doneCount) => {
        if (!isStopped) schedule(doneCount >= batchSize ? interval / 60 : interval)
      })
    }, delay)
    timer.unref()
  }

  return {
    sweep,
    start: () => schedule(interval / 10),
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
