import { isLimiterName, limiterKey, limitersOf } from '../../http/limiters.js'
import { networkOf } from '../../http/request-origin.js'

import { customerNetworkOf } from '../../lib/networks.js'

export const keysOfNetwork = (network: string) => [
  ...limitersOf('network').map((name) => limiterKey(name, network)),
  ...limitersOf('connection').map((name) => limiterKey(name, customerNetworkOf(network.replace(/\/64$/, '')))),
]

/** Splits a key such as `login:192.0.2.1` into the limit and the subject that it counts. */
export const readLimitKey = (key: string) => {
  const at = key.indexOf(':')
  return { limit: key.slice(0, at), subject: key.slice(at + 1) }
}

/** Another service may share the Redis with a longer prefix. Its keys do not begin with the name of one of our limits. */
export const isLimitKey = (key: string) => isLimiterName(readLimitKey(key).limit)

/** The networks of these addresses, each once. */
export const networksOf = (addresses: readonly string[]) => [
  ...new Set(addresses.map(networkOf).filter((network) => network !== undefined)),
]
