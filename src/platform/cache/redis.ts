import { Cluster } from 'ioredis'
import type { Logger } from 'pino'
import type { Clock } from '../../lib/clock.js'
import { withTimeout } from '../../lib/timing.js'

import { StoreUnavailable } from '../database/database.js'
import { type Attempt, type MissedCounts, pingLimit, type Reservation, type SharedCache, type Taken } from './cache.js'
import { carryScript, refundScript, reserveScript } from './counter-scripts.js'
import type { RedisAddress } from './redis-address.js'
import { connectRedis, type RedisClient, requireDatabase } from './redis-client.js'
import { redisReason } from './redis-failures.js'

type Dependencies = {
  address: RedisAddress
  prefix: string
  clock: Clock
  log: Pick<Logger, 'debug'>
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
    reserveAll: (attempts) => withinDeadline(() => (isCluster ? askOneByOne(attempts) : askForAll(attempts))),
    refund: (taken) =>
      withinDeadline(async () => {
        await (isCluster ? Promise.all(taken.map((each) => giveBackAll([each]))) : giveBackAll(taken))
      }),
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
