import { isLimiterName, limiterKey, limitersOf } from '../../domain/limiters/limiters.js'
import { networkOf } from '../../http/client.js'
import { customerNetworkOf } from '../../lib/client-networks.js'

export const keysOfNetwork = (network: string) => [
  ...limitersOf('network').map((name) => limiterKey(name, network)),
  ...limitersOf('connection').map((name) => limiterKey(name, customerNetworkOf(network.replace(/\/64$/, '')))),
]

/** `login:192.0.2.1` → the limit and what it counts. */
export const readLimitKey = (key: string) => {
  const at = key.indexOf(':')
  return { limit: key.slice(0, at), subject: key.slice(at + 1) }
}

/** Another service may share the Redis, with a longer prefix: its keys do not begin with a limit of ours. */
export const isLimitKey = (key: string) => isLimiterName(readLimitKey(key).limit)

/** The networks of these addresses, each once. */
export const networksOf = (addresses: readonly string[]) => [
  ...new Set(addresses.map(networkOf).filter((network) => network !== undefined)),
]
