import type { Redis } from 'ioredis'
import { seconds } from '../../lib/durations.js'
import { connectRedis, mastersOf, type RedisClient, readyRedis } from '../../platform/cache/redis.js'
import { readRedisAddress } from '../../platform/cache/redis-address.js'
import { validAddress } from '../../platform/invalid-address.js'

import type { Config } from '../../settings/config.js'
import { type CheckGroup, type Finding, failure, judgeClock, ok, skipped, warning, worstOf } from './check.js'
import { checkRedisEncryption } from './encryption.js'

const fieldOf = (info: string, name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? ''

const checkRole = async (masters: Redis[]): Promise<Finding> => {
  const infos = await Promise.all(masters.map((server) => server.info()))
  const version = infos.map((info) => fieldOf(info, 'redis_version')).find(Boolean) ?? 'of unknown version'
  const isReplica = infos.some((info) => fieldOf(info, 'role') === 'slave')
  if (isReplica) return failure('this server is a replica and accepts no writes: name the master, or the sentinels')
  const servers = masters.length === 1 ? '' : `, ${masters.length} masters`
  return ok(`Redis ${version}${servers}`)
}

/** Writes a key that expires after a second, because a server that is full or cannot save refuses nothing but writes. */
const checkWrite = async (client: RedisClient): Promise<Finding> => {
  try {
    await client.set('latchkey:doctor', '1', 'PX', 1 * seconds)
    return ok('')
  } catch (error) {
    const message = error instanceof Error ? error.message : 'unknown failure'
    return failure(
      message.startsWith('OOM')
        ? 'the server is full (maxmemory) and cannot count: add memory, or give Latchkey its own Redis'
        : `the server accepts no writes: ${message}`,
    )
  }
}

const checkServer = async (client: RedisClient): Promise<Finding> => {
  const role = await checkRole(mastersOf(client))
  return role.level === 'ok' ? worstOf(role.says, [await checkWrite(client)]) : role
}

/** With any policy but `noeviction`, a full server drops counters, and an attacker who fills it gets new attempts. */
const checkPolicy = async (masters: Redis[]): Promise<Finding> => {
  const infos = await Promise.all(masters.map((server) => server.info('memory')))
  const findings = infos.map((info) => {
    const policy = fieldOf(info, 'maxmemory_policy')
    const isBounded = Number(fieldOf(info, 'maxmemory')) > 0
    return isBounded && policy !== 'noeviction'
      ? warning(`maxmemory-policy is ${policy}: counters are dropped when memory is short; set noeviction`)
      : ok('')
  })
  return worstOf('counters stay until they expire', [...new Map(findings.map((each) => [each.says, each])).values()])
}

const checkClock = async (masters: Redis[]): Promise<Finding> => {
  const findings = await Promise.all(
    masters.map(async (server) => {
      const askedAt = Date.now()
      const [whole, micro] = await server.time()
      return judgeClock('Redis', askedAt, Date.now(), Number(whole) * seconds + Number(micro) / 1000)
    }),
  )
  return worstOf(findings[0]?.says ?? '', findings)
}

export const redisChecks = ({ redisUrl }: Pick<Config, 'redisUrl'>): CheckGroup => {
  if (redisUrl === undefined)
    return { checks: [{ name: 'redis', run: () => ok('not set: counters in PostgreSQL, for all instances') }] }
  const address = validAddress('REDIS_URL', readRedisAddress(redisUrl))
  const client = connectRedis(address, 2 * seconds)
  const connection = readyRedis(client, address)
  connection.catch(() => undefined)
  const onceReached = (check: (masters: Redis[]) => Promise<Finding>) => () =>
    connection.then(
      (redis) => check(mastersOf(redis)),
      () => skipped('Redis cannot be used'),
    )
  return {
    checks: [
      { name: 'redis', run: async () => checkServer(await connection) },
      { name: 'redis encryption', run: onceReached(async () => checkRedisEncryption(address)) },
      { name: 'redis policy', run: onceReached(checkPolicy) },
      { name: 'redis clock', run: onceReached(checkClock) },
    ],
    close: async () => client.disconnect(),
  }
}
