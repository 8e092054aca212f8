import { networkOf } from '../http/client.js'

/** The limiters that count client networks, and all that a key of the shared counters begins with (`http/limits`). */
const networkLimits = ['login', 'confirm', 'sensitive', 'general', 'session'] as const
const otherLimits = ['account', 'device', 'device_codes', 'mailed_codes', 'service']
const allLimits: ReadonlySet<string> = new Set([...networkLimits, ...otherLimits])

export const keysOfNetwork = (network: string) => networkLimits.map((limit) => `${limit}:${network}`)

/** What is counted for the account itself and for its sessions, whatever the network. */
export const keysOfUser = (userId: string, sessions: readonly { id: string }[]) => [
  `mailed_codes:user:${userId}`,
  ...sessions.flatMap(({ id }) => [`general:session:${id}`, `session:session:${id}`]),
]

/** Another service may share the Redis, with a longer prefix: its keys do not begin with a limit of ours. */
export const isLimitKey = (key: string) => allLimits.has(key.slice(0, key.indexOf(':')))

/** `login:192.0.2.1` → the limit and what it counts. */
export const readLimitKey = (key: string) => {
  const at = key.indexOf(':')
  return { limit: key.slice(0, at), subject: key.slice(at + 1) }
}

/** The networks of these addresses, each once. */
export const networksOf = (addresses: readonly string[]) => [
  ...new Set(addresses.map(networkOf).filter((network) => network !== undefined)),
]
