import { Cluster, type Redis } from 'ioredis'
import { seconds } from '../../lib/durations.js'
import { OperatorError } from '../../lib/operator-error.js'
import { withTimeout } from '../../lib/with-timeout.js'
import type { RedisAddress } from './redis-address.js'
import { type RedisClient, requireDatabase } from './redis-client.js'
import { redisReason } from './redis-failures.js'

const connectTimeout = 4 * seconds

/** Connects, or rejects with the reason: the client itself would try for ever. */
export const readyRedis = async (client: RedisClient, address: RedisAddress) => {
  const unusable = (reason: string) => new OperatorError(`Redis cannot be used: ${reason}`)
  let reason = 'no answer'
  client.on('error', (error: Error) => {
    reason = redisReason(error, address)
  })
  const connected = new Promise<void>((resolve) => client.once('ready', () => resolve()))
  await withTimeout(connected, connectTimeout, () => {
    throw unusable(reason)
  })
  await requireDatabase(client, address).catch((error: Error) => {
    throw unusable(redisReason(error, address))
  })
  return client
}

export const mastersOf = (client: RedisClient): Redis[] =>
  client instanceof Cluster ? client.nodes('master') : [client]
