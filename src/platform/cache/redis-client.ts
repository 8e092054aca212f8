import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { RedisAddress } from './redis-address.js'

export type RedisClient = Redis | Cluster

const longestPause = 1_000

/** The pause before a new attempt to connect: short at first, then about a second. A server that returns is found within five seconds. */
const reconnectPause = (times: number) => Math.min(longestPause, 50 * 2 ** Math.min(times, 6)) + Math.random() * 100

/**
 * After a failover behind one address, the old connection leads to a server that accepts no writes, and only a new connection reaches
 * the new master. The client reconnects at most once a second, however many commands were refused.
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
 * The client for an address. Without a connection nothing is queued, and nothing is sent twice: by then the request has been answered,
 * and a late reservation would count against the next request. The type parameter `'legacy'` means the replies that ioredis makes by
 * default; without it the compiler compares all commands of both clients, which takes seconds.
 */
export const connectRedis = (address: RedisAddress, commandTimeout: number): RedisClient => {
  const options = {
    username: address.username,
    password: address.password,
    ...(address.tls && { tls: {} }),
    commandTimeout: 2 * commandTimeout,
    connectTimeout: longestPause,
    // Without this timeout, a server that disappears would hold the connection for minutes. The timer runs only while a command waits.
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
      clusterRetryStrategy: reconnectPause,
      maxRedirections: 4,
      slotsRefreshTimeout: 4 * commandTimeout,
      slotsRefreshInterval: 3_000,
      // The certificate is for the host name, so with TLS the name is kept until the connection is made.
      ...(address.tls && { dnsLookup: (host, callback) => callback(null, host) }),
    })
  }
  const serverOptions = {
    ...options,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    retryStrategy: reconnectPause,
  }
  if (address.kind === 'single') return new Redis<'legacy'>({ ...serverOptions, ...address.address, db: address.db })
  return new Redis<'legacy'>({
    ...serverOptions,
    sentinels: address.addresses,
    name: address.master,
    sentinelPassword: address.sentinelPassword,
    enableTLSForSentinelMode: address.tls,
    sentinelRetryStrategy: reconnectPause,
    sentinelCommandTimeout: 4 * commandTimeout,
  })
}

/** Rejects if the server does not have the database that the address names. The client itself would go on in database 0. */
export const requireDatabase = async (client: RedisClient, address: RedisAddress) => {
  if (address.kind === 'single' && address.db > 0 && !(client instanceof Cluster)) await client.select(address.db)
}
