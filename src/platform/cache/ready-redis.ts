import { Cluster, type Redis } from 'ioredis'
import { seconds } from '../../lib/durations.js'
import { OperatorError } from '../../lib/operator-error.js'
import { withTimeout } from '../../lib/timing.js'

import type { RedisAddress } from './redis-address.js'
import { type RedisClient, requireDatabase } from './redis-client.js'
import { redisReason } from './redis-failures.js'

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
