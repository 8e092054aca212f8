import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { Clock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'
import { OperatorError } from '../../lib/operator-error.js'
import { withTimeout } from '../../lib/timing.js'
import { StoreUnavailable } from '../database/database.js'
import { validAddress } from '../invalid-address.js'
import type { Log } from '../log.js'
import {
  type Attempt,
  type Counter,
  countersAtOnce,
  type MissedCounts,
  pingLimit,
  type Reservation,
  type SharedCache,
  type Taken,
} from './cache.js'
import { type RedisAddress, readRedisAddress, redisReason } from './redis-address.js'

/**
 * A counter is a hash with the number of used reservations and the end of the window by Redis's own clock, so that instances with
 * different clocks still share one window. The end is also the id of the window. The arguments are the offset that moves the clock, in
 * tests, and the limit of each key: its maximum and its window. In a Cluster each call has one key.
 *
 * @public for bench/subjects
 */
export const reserveScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local answers = {}
for place, key in ipairs(KEYS) do
  local maximum, window = tonumber(ARGV[2 * place]), tonumber(ARGV[2 * place + 1])
  local counter = redis.call('HMGET', key, 'used', 'ends')
  local used, ends = tonumber(counter[1]) or 0, tonumber(counter[2]) or 0
  if ends <= now then
    used, ends = 0, now + window
  end
  -- A clock that was set back, or is another one after a failover, must not make a window longer than it is meant to be.
  ends = math.min(ends, now + window)
  if used >= maximum then
    answers[place] = {0, 0, ends - now, ends}
    break
  end
  -- The expiry is set with every write, so that no key can ever be left without one.
  redis.call('HSET', key, 'used', used + 1, 'ends', ends)
  redis.call('PEXPIRE', key, ends - now)
  answers[place] = {1, maximum - used - 1, ends - now, ends}
end
return answers
`

/** The arguments are the windows of the keys. */
const refundScript = `
for place, key in ipairs(KEYS) do
  local counter = redis.call('HMGET', key, 'used', 'ends')
  if counter[2] == ARGV[place] and tonumber(counter[1]) > 0 then
    redis.call('HINCRBY', key, 'used', -1)
  end
end
return 0
`

/**
 * After an outage, adds what a process has counted by itself. If the store has lost the window that the process knows, the window is
 * restored from what the process knows. Several processes may do this one after another.
 */
const carryScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[6]
local maximum, known, counted, left = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local counter = redis.call('HMGET', KEYS[1], 'used', 'ends')
local used, ends = tonumber(counter[1]) or 0, tonumber(counter[2]) or 0
if ends <= now then
  used, ends = 0, now + left
end
used = used + counted
if counter[2] ~= ARGV[5] then
  used = math.max(used, known)
end
redis.call('HSET', KEYS[1], 'used', math.min(used, maximum), 'ends', ends)
redis.call('PEXPIRE', KEYS[1], ends - now)
return 0
`

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
const requireDatabase = async (client: RedisClient, address: RedisAddress) => {
  if (address.kind === 'single' && address.db > 0 && !(client instanceof Cluster)) await client.select(address.db)
}

type Dependencies = {
  address: RedisAddress
  prefix: string
  clock: Clock
  log: Log
  commandTimeout: number
}

type Counted = [granted: 0 | 1, remaining: number, resetsIn: number, ends: number]

type Scripts = {
  /** The keys and then the arguments; in front of them the number of keys, but not in a Cluster, where there is one key. */
  reserveKeys(...keysAndArguments: (string | number)[]): Promise<Counted[]>
  refundKeys(...keysAndArguments: (string | number)[]): Promise<number>
  carryOne(
    key: string,
    maximum: number,
    used: number,
    counted: number,
    resetsIn: number,
    window: string,
    offset: number,
  ): Promise<number>
}

const defineScripts = (client: RedisClient) => {
  // The client finds the node of a command by its first word, which therefore must be the key.
  const oneKey = client instanceof Cluster ? { numberOfKeys: 1 } : {}
  client.defineCommand('reserveKeys', { lua: reserveScript, ...oneKey })
  client.defineCommand('refundKeys', { lua: refundScript, ...oneKey })
  client.defineCommand('carryOne', { numberOfKeys: 1, lua: carryScript })
  return client as RedisClient & Scripts
}

const reservationFrom = ([granted, remaining, resetsIn, ends]: Counted): Reservation => ({
  granted: granted === 1,
  remaining,
  resetsIn,
  window: { id: String(ends), countedBy: 'shared' },
})

/** Counters in Redis or Valkey: one server, a Cluster, or the master that the sentinels name. */
export const createRedisCache = ({ address, prefix, clock, log, commandTimeout }: Dependencies): SharedCache => {
  const client = defineScripts(connectRedis(address, commandTimeout))
  // Without a listener, a lost connection would end the process. The next command reports the failure.
  let failure: Error | undefined
  client.on('error', (error: Error) => {
    failure = new Error(redisReason(error, address), { cause: error })
    log.debug({ reason: error.message }, 'redis connection')
  })

  /** This deadline starts when a counter is asked for. The client's own deadline, which frees its queues, starts when a command is sent. */
  const withinDeadline = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
    if (client.status !== 'ready') throw new StoreUnavailable('Redis is not connected', { cause: failure })
    try {
      return await withTimeout(ask(), commandTimeout, () => {
        throw new Error(`no answer within ${commandTimeout} ms`)
      })
    } catch (error) {
      throw new StoreUnavailable('Redis did not answer correctly', { cause: error })
    }
  }

  const servers = () => (client instanceof Cluster ? client.nodes('master') : [client])

  const isCluster = client instanceof Cluster
  const withKeys = (of: readonly { key: string }[]) => {
    const keys = of.map(({ key }) => prefix + key)
    return isCluster ? keys : [keys.length, ...keys]
  }

  const askForAll = async (attempts: readonly Attempt[]): Promise<Reservation[]> => {
    const limits = attempts.flatMap(({ limit }) => [limit.maximum, limit.window])
    const counted = await client.reserveKeys(...withKeys(attempts), clock.offset(), ...limits)
    return counted.map(reservationFrom)
  }

  const giveBackAll = (taken: readonly Taken[]) =>
    client.refundKeys(...withKeys(taken), ...taken.map(({ window }) => window.id))

  const refund = (taken: readonly Taken[]): Promise<void> =>
    Promise.all(isCluster ? taken.map((each) => giveBackAll([each])) : [giveBackAll(taken)]).then(() => undefined)

  /** The keys of a Cluster are on different nodes, and the next one is counted only if this one is granted. */
  const askOneByOne = async (attempts: readonly Attempt[]) => {
    const reservations: Reservation[] = []
    for (const attempt of attempts) {
      reservations.push(...(await askForAll([attempt])))
      if (!reservations.at(-1)?.granted) break
    }
    return reservations
  }

  return {
    reserveAll: (attempts, returned = []) =>
      withinDeadline(async () => {
        const given = returned.length > 0 && refund(returned)
        return (await Promise.all([isCluster ? askOneByOne(attempts) : askForAll(attempts), given]))[0]
      }),
    refund: (taken) => withinDeadline(() => refund(taken)),
    forget: (key) =>
      withinDeadline(async () => {
        await client.del(prefix + key)
      }),
    carry: (missed) =>
      withinDeadline(async () => {
        const carryOne = ({ key, maximum, used, counted, resetsIn, windowId }: MissedCounts) =>
          client.carryOne(prefix + key, maximum, used, counted, Math.ceil(resetsIn), windowId, clock.offset())
        await Promise.all(missed.map(carryOne))
        return missed.map(() => true)
      }),
    isFull: () => false,
    // A full server and a replica answer a ping although they cannot count, so this check also counts.
    ping: () =>
      withinDeadline(async () => {
        await requireDatabase(client, address)
        const reservation = askForAll([{ key: 'ping', limit: pingLimit }])
        await Promise.all([reservation, ...servers().map((server) => server.ping())])
      }),
    close: async () => client.disconnect(),
  }
}

const connectTimeout = 4 * seconds

/** Waits for the connection, or rejects with the reason. Without this, the client would try for ever. */
export const readyRedis = async (client: RedisClient, address: RedisAddress) => {
  const unusableError = (reason: string) => new OperatorError(`Redis cannot be used: ${reason}`)
  let reason = 'no answer'
  client.on('error', (error: Error) => {
    reason = redisReason(error, address)
  })
  const connection = new Promise<void>((resolve) => client.once('ready', () => resolve()))
  await withTimeout(connection, connectTimeout, () => {
    throw unusableError(reason)
  })
  await requireDatabase(client, address).catch((error: Error) => {
    throw unusableError(redisReason(error, address))
  })
  return client
}

export const mastersOf = (client: RedisClient): Redis[] =>
  client instanceof Cluster ? client.nodes('master') : [client]

const escapedPattern = (text: string) => text.replaceAll(/[\\*?[\]]/g, (character) => `\\${character}`)

/** Opens the shared counters in Redis for commands and administrators. Requests use `createRedisCache`. */
export const openSharedCounters = async (url: string, prefix: string) => {
  const address = validAddress('REDIS_URL', readRedisAddress(url))
  const client = connectRedis(address, 1 * seconds)
  await readyRedis(client, address).catch((error: Error) => {
    client.disconnect()
    throw new StoreUnavailable(error.message, { cause: error })
  })

  const readOne = async (key: string): Promise<Counter[]> => {
    const [used, ends] = await client.hmget(prefix + key, 'used', 'ends')
    return used == null || ends == null ? [] : [{ key, used: Number(used), ends: new Date(Number(ends)) }]
  }

  const inBatches = async <Result>(keys: readonly string[], work: (key: string) => Promise<Result[]>) => {
    const results: Result[] = []
    for (let at = 0; at < keys.length; at += countersAtOnce)
      results.push(...(await Promise.all(keys.slice(at, at + countersAtOnce).map(work))).flat())
    return results
  }

  const keysOf = async (server: ReturnType<typeof mastersOf>[number], beginning: string) => {
    const found: string[] = []
    let cursor = '0'
    do {
      const [next, keys] = await server.scan(cursor, 'MATCH', `${escapedPattern(prefix + beginning)}*`, 'COUNT', 1_000)
      found.push(...keys.map((key) => key.slice(prefix.length)))
      cursor = next
    } while (cursor !== '0')
    return found
  }

  return {
    read: (keys: readonly string[]) => inBatches(keys, readOne),
    /** Removes the counters of these keys, and returns those that existed. */
    remove: (keys: readonly string[]) =>
      inBatches(keys, async (key) => {
        const counter = await readOne(key)
        return (await client.del(prefix + key)) > 0 ? counter : []
      }),
    /** Every key that starts with our prefix and `beginning`. Some may belong to another service, whose longer prefix starts like ours. */
    keys: async (beginning = '') => {
      const found = await Promise.all(mastersOf(client).map((server) => keysOf(server, beginning)))
      return [...new Set(found.flat())]
    },
    close: async () => client.disconnect(),
  }
}
