import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { RedisPlace } from './redis-url.js'

export type RedisClient = Redis | Cluster

const longestPause = 1_000

/** Short pauses at first, then about a second: a server that returns is found within five seconds. */
const pause = (times: number) => Math.min(longestPause, 50 * 2 ** Math.min(times, 6)) + Math.random() * 100

/**
 * Behind one address, a failover looks like a server that accepts no writes: only a new connection reaches the new master.
 * At most once a second, however many commands were refused.
 */
const createDemotionWatch = () => {
  let reconnectedAt = Number.NEGATIVE_INFINITY
  return ({ message }: Error) => {
    if (!message.startsWith('READONLY') || performance.now() - reconnectedAt < longestPause) return false
    reconnectedAt = performance.now()
    return true
  }
}

/**
 * The client for an address. Nothing is queued without a connection, and nothing is sent twice: the request has been
 * answered by then, and a late reservation would count against the next one.
 */
export const connectRedis = (place: RedisPlace, commandTimeout: number): RedisClient => {
  const options = {
    username: place.username,
    password: place.password,
    ...(place.tls && { tls: {} }),
    commandTimeout: 2 * commandTimeout,
    connectTimeout: longestPause,
    // A server that disappears without closing would hold its connection for minutes. Only waiting commands start this timer.
    socketTimeout: 4 * commandTimeout,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    reconnectOnError: createDemotionWatch(),
    connectionName: 'latchkey',
  } satisfies RedisOptions

  if (place.kind === 'cluster') {
    return new Cluster(place.addresses, {
      redisOptions: options,
      enableAutoPipelining: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: pause,
      maxRedirections: 4,
      slotsRefreshTimeout: 4 * commandTimeout,
      slotsRefreshInterval: 3_000,
      // The certificate is for the host name, so with TLS the name is kept until the connection is made.
      ...(place.tls && { dnsLookup: (address, callback) => callback(null, address) }),
    })
  }
  const standing = { ...options, enableAutoPipelining: true, enableOfflineQueue: false, retryStrategy: pause }
  if (place.kind === 'single') return new Redis({ ...standing, ...place.address, db: place.db })
  return new Redis({
    ...standing,
    sentinels: place.addresses,
    name: place.master,
    sentinelPassword: place.sentinelPassword,
    enableTLSForSentinelMode: place.tls,
    sentinelRetryStrategy: pause,
    sentinelCommandTimeout: 4 * commandTimeout,
  })
}
