import type { Gauge } from 'prom-client'
import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/timing.js'
import type { Cache } from '../cache/cache.js'

/** How many connections are open, how many of them are busy, and how many statements wait for one. */
type PoolStats = { open: number; busy: number; waiting: number }

type WaitingCount = { countWaiting(): Promise<number> }
type WaitingWithAge = WaitingCount & { oldestWaitSeconds(): Promise<number> }

export type Watched = {
  /** Whether `/health/ready` answers 200. */
  isReady(): boolean
  workers: { queueLength(): number }
  cache: Pick<Cache, 'ping' | 'isFull'>
  database: { stats?(): PoolStats }
  mails: WaitingWithAge
  webhooks: WaitingCount
  logoutNotices: WaitingWithAge
  endedSessions: { age(): number | undefined; size(): { entries: number } }
  loadedKeys: { age(): number | undefined }
  /** `keyAges` has the ages in seconds, by the algorithms that have a key. */
  openidProvider: { keyAges(): Readonly<Record<string, number>> }
  clockWatch: { offset(): number | undefined }
  /** The free bytes on the disk of our own database; undefined if the database is elsewhere. */
  freeSpace(): Promise<number | undefined>
  activeUsers: { recent(): Promise<{ day: number; week: number; month: number }> }
}

type Collect = (gauge: Gauge<string>) => void | Promise<void>
/** `aggregator` is for gauges that watch the same thing in all processes. Other gauges are added up. */
type WatchedGauge = { name: string; help: string; labelNames?: string[]; aggregator?: 'max' | 'min'; collect: Collect }
type AddGauge = (gauge: WatchedGauge) => void

/** A store that hangs must not block the scrape, because the other metrics are needed then. */
const askTimeout = 1 * seconds

const withinAskTimeout = <Result>(work: Promise<Result>) =>
  withTimeout(work, askTimeout, () => {
    throw new Error('no answer in time')
  })

/** The number may be unknown, which is not zero. Without a value, the line in a graph has a gap. */
const setIfKnown = (gauge: Gauge<string>, value: number | undefined) => {
  if (value === undefined) gauge.remove()
  else gauge.set(value)
}

/** Sets a number that the database was asked for. */
const setStored = async (gauge: Gauge<string>, asked: Promise<number>) =>
  setIfKnown(gauge, await withinAskTimeout(asked).catch(() => undefined))

const setActiveUsers = async (gauge: Gauge<string>, activeUsers: Watched['activeUsers']) => {
  gauge.reset()
  const counts = await withinAskTimeout(activeUsers.recent()).catch(() => undefined)
  if (!counts) return
  gauge.set({ days: '1' }, counts.day)
  gauge.set({ days: '7' }, counts.week)
  gauge.set({ days: '30' }, counts.month)
}

const watchDatabase = (database: Watched['database'], add: AddGauge) => {
  add({
    name: 'latchkey_database_connections',
    help: 'Connections to the database, by state.',
    labelNames: ['state'],
    collect: (gauge) => {
      const stats = database.stats?.()
      if (!stats) return
      gauge.set({ state: 'busy' }, stats.busy)
      gauge.set({ state: 'idle' }, stats.open - stats.busy)
    },
  })
  add({
    name: 'latchkey_database_waiting',
    help: 'Statements that wait for a connection.',
    collect: (gauge) => {
      setIfKnown(gauge, database.stats?.()?.waiting)
    },
  })
}

const watchOutboxes = ({ mails, webhooks, logoutNotices }: Watched, add: AddGauge) => {
  add({
    name: 'latchkey_mails_waiting',
    help: 'Mails that no mail server has accepted yet, up to 10000.',
    aggregator: 'max',
    collect: (gauge) => setStored(gauge, mails.countWaiting()),
  })
  add({
    name: 'latchkey_mails_oldest_seconds',
    help: 'Age of the oldest mail that no mail server has accepted yet; 0 if none waits.',
    aggregator: 'max',
    collect: (gauge) => setStored(gauge, mails.oldestWaitSeconds()),
  })
  add({
    name: 'latchkey_webhooks_waiting',
    help: 'Webhooks that the receiver has not taken yet, up to 10000.',
    aggregator: 'max',
    collect: (gauge) => setStored(gauge, webhooks.countWaiting()),
  })
  add({
    name: 'latchkey_logout_notices_waiting',
    help: 'Ended sessions that applications have not been told of yet, up to 10000.',
    aggregator: 'max',
    collect: (gauge) => setStored(gauge, logoutNotices.countWaiting()),
  })
  add({
    name: 'latchkey_logout_notices_oldest_seconds',
    help: 'Age of the oldest ended session that an application has not been told of yet; 0 if there is none.',
    aggregator: 'max',
    collect: (gauge) => setStored(gauge, logoutNotices.oldestWaitSeconds()),
  })
}

const watchKeys = ({ loadedKeys, openidProvider }: Watched, add: AddGauge) => {
  add({
    name: 'latchkey_signing_key_age_seconds',
    help: 'Time since the key that signs access tokens began to sign, with ACCESS_TOKEN_ALGORITHM=ES256. It is replaced after 90 days.',
    aggregator: 'max',
    collect: (gauge) => setIfKnown(gauge, loadedKeys.age()),
  })
  add({
    name: 'latchkey_id_token_key_age_seconds',
    help: 'Time since the key that signs ID tokens began to sign, by algorithm. It is replaced after 90 days.',
    labelNames: ['algorithm'],
    aggregator: 'max',
    collect: (gauge) => {
      gauge.reset()
      for (const [algorithm, age] of Object.entries(openidProvider.keyAges())) gauge.set({ algorithm }, age)
    },
  })
}

/** Adds all gauges. They are read only when Prometheus asks. */
export const watchGauges = (watched: Watched, add: AddGauge) => {
  const { isReady, workers, cache, database, endedSessions, clockWatch, activeUsers, freeSpace } = watched
  add({
    name: 'latchkey_ready',
    help: '1 if the instance should get traffic, 0 while it starts (for example while it waits for the database) or shuts down.',
    aggregator: 'min',
    collect: (gauge) => gauge.set(isReady() ? 1 : 0),
  })
  add({
    name: 'latchkey_worker_queue_length',
    help: 'Password checks that wait for a thread.',
    collect: (gauge) => gauge.set(workers.queueLength()),
  })
  watchOutboxes(watched, add)
  add({
    name: 'latchkey_cache_fallback',
    help: '1 while the shared counters cannot be reached and limits are counted in this process.',
    aggregator: 'max',
    collect: (gauge) =>
      withinAskTimeout(cache.ping()).then(
        () => gauge.set(0),
        () => gauge.set(1),
      ),
  })
  add({
    name: 'latchkey_counters_full',
    help: '1 while there are a million counters in PostgreSQL, and new ones are counted in this process.',
    aggregator: 'max',
    collect: (gauge) => gauge.set(cache.isFull() ? 1 : 0),
  })
  add({
    name: 'latchkey_ended_sessions',
    help: 'Ended sessions whose access tokens this process refuses.',
    aggregator: 'max',
    collect: (gauge) => gauge.set(endedSessions.size().entries),
  })
  add({
    name: 'latchkey_ended_sessions_age_seconds',
    help: 'Time since the ended sessions were read from the database; sessions that ended elsewhere since then are not refused yet.',
    aggregator: 'max',
    collect: (gauge) => setIfKnown(gauge, endedSessions.age()),
  })
  watchKeys(watched, add)
  add({
    name: 'latchkey_clock_offset_seconds',
    help: "How far this machine's clock is ahead of the database's; negative if it is behind.",
    aggregator: 'max',
    collect: (gauge) => setIfKnown(gauge, clockWatch.offset()),
  })
  add({
    name: 'latchkey_active_users',
    help: 'Users who used a session in the last 1, 7 and 30 days, counted every ten minutes.',
    labelNames: ['days'],
    aggregator: 'max',
    collect: (gauge) => setActiveUsers(gauge, activeUsers),
  })
  add({
    name: 'latchkey_database_disk_free_bytes',
    help: 'Free bytes on the disk of the database that the service runs itself.',
    aggregator: 'min',
    collect: async (gauge) => setIfKnown(gauge, await freeSpace()),
  })
  watchDatabase(database, add)
}
