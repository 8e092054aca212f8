import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { RedisAddress } from './redis-address.js'

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
 * The client for an address, with the replies that ioredis makes by default: left to infer that, the compiler compares all
 * commands of both clients, which takes seconds. Nothing is queued without a connection, and nothing is sent twice: the request has been
 * answered by then, and a late reservation would count against the next one.
 */
export const connectRedis = (address: RedisAddress, commandTimeout: number): RedisClient => {
  const options = {
    username: address.username,
    password: address.password,
    ...(address.tls && { tls: {} }),
    commandTimeout: 2 * commandTimeout,
    connectTimeout: longestPause,
    // A server that disappears without closing would hold its connection for minutes. Only waiting commands start this timer.
    socketTimeout: 4 * commandTimeout,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    reconnectOnError: createDemotionWatch(),
    connectionName: 'latchkey',
  } satisfies RedisOptions

  if (address.kind === 'cluster') {
    return new Cluster<'legacy'>(address.addresses, {
      redisOptions: options,
      enableAutoPipelining: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: pause,
      maxRedirections: 4,
      slotsRefreshTimeout: 4 * commandTimeout,
      slotsRefreshInterval: 3_000,
      // The certificate is for the host name, so with TLS the name is kept until the connection is made.
      ...(address.tls && { dnsLookup: (host, callback) => callback(null, host) }),
    })
  }
  const serverOptions = { ...options, enableAutoPipelining: true, enableOfflineQueue: false, retryStrategy: pause }
  if (address.kind === 'single') return new Redis<'legacy'>({ ...serverOptions, ...address.address, db: address.db })
  return new Redis<'legacy'>({
    ...serverOptions,
    sentinels: address.addresses,
    name: address.master,
    sentinelPassword: address.sentinelPassword,
    enableTLSForSentinelMode: address.tls,
    sentinelRetryStrategy: pause,
    sentinelCommandTimeout: 4 * commandTimeout,
  })
}

/** The client goes on in database 0 when the server does not have the one that the address names. This rejects then. */
export const requireDatabase = async (client: RedisClient, address: RedisAddress) => {
  if (address.kind === 'single' && address.db > 0 && !(client instanceof Cluster)) await client.select(address.db)
}
