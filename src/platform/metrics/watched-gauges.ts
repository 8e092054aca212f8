import type { Gauge } from 'prom-client'
import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/with-timeout.js'
import type { Cache } from '../cache/cache.js'

/** How many connections are open, how many of them are busy, and how many statements wait for one. */
export type PoolStats = { open: number; busy: number; waiting: number }

export type Watched = {
  workers: { queueLength(): number }
  cache: Pick<Cache, 'ping'>
  database: { stats?(): PoolStats }
  mails: { countWaiting(): Promise<number> }
}

type Collect = (gauge: Gauge<string>) => void | Promise<void>
type AddGauge = (name: string, help: string, labelNames: string[], collect: Collect) => void

/** A store that hangs must not block the scrape: the other metrics are needed then. */
const timeout = 1 * seconds

const inTime = <Result>(work: Promise<Result>) =>
  withTimeout(work, timeout, () => {
    throw new Error('no answer in time')
  })

const watchMails =
  (mails: Watched['mails']): Collect =>
  async (gauge) => {
    try {
      gauge.set(await inTime(mails.countWaiting()))
    } catch {
      // Unknown is not zero: without a value, the line in a graph has a gap.
      gauge.remove()
    }
  }

const watchCache =
  (cache: Pick<Cache, 'ping'>): Collect =>
  (gauge) =>
    inTime(cache.ping()).then(
      () => gauge.set(0),
      () => gauge.set(1),
    )

/** Gauges are read only when Prometheus asks. */
export const watchGauges = ({ workers, cache, database, mails }: Watched, add: AddGauge) => {
  add('latchkey_worker_queue_length', 'Password checks that wait for a thread.', [], (gauge) =>
    gauge.set(workers.queueLength()),
  )
  add('latchkey_mails_waiting', 'Mails that no mail server has accepted yet, up to 10000.', [], watchMails(mails))
  add(
    'latchkey_cache_fallback',
    '1 while the shared counters cannot be reached and limits are counted in this process.',
    [],
    watchCache(cache),
  )
  add('latchkey_database_connections', 'Connections to the database, by state.', ['state'], (gauge) => {
    const stats = database.stats?.()
    if (!stats) return
    gauge.set({ state: 'busy' }, stats.busy)
    gauge.set({ state: 'idle' }, stats.open - stats.busy)
  })
  add('latchkey_database_waiting', 'Statements that wait for a connection.', [], (gauge) => {
    const stats = database.stats?.()
    if (stats) gauge.set(stats.waiting)
    else gauge.remove()
  })
}
