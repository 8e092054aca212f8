import { Cluster } from 'ioredis'
import type { Logger } from 'pino'
import type { Clock } from '../../lib/clock.js'
import { withTimeout } from '../../lib/with-timeout.js'
import { StoreUnavailable } from '../database/database.js'
import type { SharedCache } from './cache.js'
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

type Scripts = {
  reserveOne(key: string, maximum: number, window: number, offset: number): Promise<[0 | 1, number, number, number]>
  refundOne(key: string, window: string): Promise<number>
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
  client.defineCommand('reserveOne', { numberOfKeys: 1, lua: reserveScript })
  client.defineCommand('refundOne', { numberOfKeys: 1, lua: refundScript })
  client.defineCommand('carryOne', { numberOfKeys: 1, lua: carryScript })
  return client as RedisClient & Scripts
}

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

  return {
    reserve: (key, { maximum, window }) =>
      withinDeadline(async () => {
        const [granted, remaining, resetsIn, ends] = await client.reserveOne(
          prefix + key,
          maximum,
          window,
          clock.offset(),
        )
        return { granted: granted === 1, remaining, resetsIn, window: { id: String(ends), countedBy: 'shared' } }
      }),
    refund: (key, { id }) =>
      withinDeadline(async () => {
        await client.refundOne(prefix + key, id)
      }),
    forget: (key) =>
      withinDeadline(async () => {
        await client.del(prefix + key)
      }),
    carry: (key, { maximum, used, counted, resetsIn, windowId }) =>
      withinDeadline(async () => {
        const left = Math.ceil(resetsIn)
        await client.carryOne(prefix + key, maximum, used, counted, left, windowId, clock.offset())
      }),
    // A full server and a replica answer a ping although they cannot count, so this check also counts.
    ping: () =>
      withinDeadline(async () => {
        await requireDatabase(client, address)
        const reservation = client.reserveOne(`${prefix}ping`, Number.MAX_SAFE_INTEGER, 1_000, clock.offset())
        await Promise.all([reservation, ...servers().map((server) => server.ping())])
      }),
    close: async () => client.disconnect(),
  }
}
