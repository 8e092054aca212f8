import { seconds } from '../../lib/durations.js'
import { StoreUnavailable } from '../database/database.js'
import { validAddress } from '../invalid-address.js'
import { type Counter, countersAtOnce } from './cache.js'
import { connectRedis, mastersOf, readyRedis } from './redis.js'
import { readRedisAddress } from './redis-address.js'

const escapedPattern = (text: string) => text.replaceAll(/[\\*?[\]]/g, (character) => `\\${character}`)

/** Opens the shared counters for commands. Requests use `createRedisCache`. */
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
