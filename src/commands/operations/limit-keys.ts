import {
  beginningsOfDevices,
  isLimiterName,
  limiterKey,
  limitersOf,
  sessionSubject,
  userSubject,
} from '../../domain/limiters/limiters.js'
import { networkOf } from '../../http/client.js'
import { connectionOf } from '../../lib/client-networks.js'
import type { SharedCounters } from '../../platform/cache/shared-counters.js'

export const keysOfNetwork = (network: string) => [
  ...limitersOf('network').map((name) => limiterKey(name, network)),
  ...limitersOf('connection').map((name) => limiterKey(name, connectionOf(network.replace(/\/64$/, '')))),
]

/** What is counted for the account itself and for its sessions, whatever the network. */
export const keysOfUser = (userId: string, sessions: readonly { id: string }[]) => [
  ...limitersOf('user').map((name) => limiterKey(name, userSubject(userId))),
  ...sessions.flatMap(({ id }) => limitersOf('session').map((name) => limiterKey(name, sessionSubject(id)))),
]

/** The counters of the browsers that are known to a user: only the browsers know which these are. */
export const keysOfDevices = async (counters: Pick<SharedCounters, 'keys'>, userId: string) =>
  (await Promise.all(beginningsOfDevices(userId).map(counters.keys))).flat()

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
