import { deviceKeyPrefixes, limiterKey } from '../limiters/limiters.js'
import type { User } from '../users/users.js'

/** A counter that is open: its key, how many are used, and when its window ends. */
export type Counter = { key: string; used: number; ends: Date }

/** The counters of the service. Commands can read those in Redis only. */
export type Counters = {
  read(keys: readonly string[]): Promise<Counter[]>
  /** Everything that they count is available again. */
  remove(keys: readonly string[]): Promise<unknown>
  /** Every key that begins like this. */
  keys(beginning: string): Promise<string[]>
  close(): Promise<void>
}

/** The reason why the counters are not known: they are in the memory of the service, or Redis does not answer. */
export type WhyUnknown = 'in_memory' | 'unreachable'

/** The limits of a sign-in: their keys, and how much each allows. */
export type SignInLimits = {
  /** How many attempts a network has, by the name of the limiter. */
  networkMaxima: Readonly<Record<'login' | 'confirm' | 'sensitive', number>>
  /** How many attempts a known device has of its own; undefined if it shares those of its network. */
  deviceMaximum: number | undefined
  /** How many attempts unknown devices have with one name. */
  nameMaximum: number
  /** The counter of a name that is typed. Without the signing secret it cannot be found. */
  keysOfName: (name: string) => string[]
  /** That of the mails to sign in, by the address. */
  keysOfMailbox: (email: string) => string[]
  /** How many mails to sign in unknown devices can ask for; undefined while there are none. */
  mailboxMaximum: number | undefined
  /** The network by which an address is counted. */
  networkOf: (address: string) => string | undefined
  openCounters: () => Promise<Counters | undefined>
}

/** A limit that is used up: it refuses until then. Of a browser no name is known. */
export type ReachedLimit = { limit: string; subject: string | undefined; until: Date }

const maxNetworks = 20

/**
 * With LOGIN_LIMIT_KNOWN_DEVICES=own: browsers that have used up their own attempts. Only their cookies name the devices, so the counters
 * are found by the beginning of their keys.
 */
const devicesAtLimit = async ({ deviceMaximum }: SignInLimits, counters: Counters, userId: string) => {
  if (deviceMaximum === undefined) return []
  const keys = (await Promise.all(deviceKeyPrefixes(userId).map(counters.keys))).flat()
  const found = await counters.read(keys.filter((key) => key.startsWith(limiterKey('login', ''))))
  return found
    .filter(({ used }) => used >= deviceMaximum)
    .map(({ ends }) => ({ limit: 'login', subject: undefined, until: ends }))
}

/** The names of the account that were typed too often with a wrong password. */
const namesAtLimit = async ({ keysOfName, nameMaximum }: SignInLimits, counters: Counters, user: User) => {
  const found = [user.username, user.email].map(async (subject) =>
    (await counters.read(keysOfName(subject))).map((counter) => ({ ...counter, subject })),
  )
  return (await Promise.all(found))
    .flat()
    .filter(({ used }) => used >= nameMaximum)
    .map(({ subject, ends }) => ({ limit: 'account', subject, until: ends }))
}

/** Mails to sign in that unknown devices have asked for. */
const mailboxesAtLimit = async (limits: SignInLimits, counters: Counters, { email: subject }: User) => {
  const { keysOfMailbox, mailboxMaximum } = limits
  if (mailboxMaximum === undefined) return []
  return (await counters.read(keysOfMailbox(subject)))
    .filter(({ used }) => used >= mailboxMaximum)
    .map(({ ends }) => ({ limit: 'mail_sign_ins', subject, until: ends }))
}

const networksAtLimit = async (limits: SignInLimits, counters: Counters, addresses: readonly string[]) => {
  const known = addresses.map(limits.networkOf).filter((network) => network !== undefined)
  const networks = [...new Set(known)].slice(0, maxNetworks)
  const names = Object.keys(limits.networkMaxima) as (keyof SignInLimits['networkMaxima'])[]
  const reached = names.map(async (limit) => {
    const subjects = new Map(networks.map((network) => [limiterKey(limit, network), network]))
    const found = await counters.read([...subjects.keys()])
    return found
      .filter(({ used }) => used >= limits.networkMaxima[limit])
      .map(({ key, ends }) => ({ limit, subject: subjects.get(key), until: ends }))
  })
  return (await Promise.all(reached)).flat()
}

/** The limits that are used up for this account's names and known browsers, and for networks from which it was used. */
export const reachedLimits = async (
  limits: SignInLimits,
  user: User,
  addresses: readonly string[],
): Promise<ReachedLimit[] | WhyUnknown> => {
  const counters = await limits.openCounters().catch(() => 'unreachable' as const)
  if (counters === undefined) return 'in_memory'
  if (counters === 'unreachable') return counters
  try {
    return [
      ...(await devicesAtLimit(limits, counters, user.id)),
      ...(await namesAtLimit(limits, counters, user)),
      ...(await mailboxesAtLimit(limits, counters, user)),
      ...(await networksAtLimit(limits, counters, addresses)),
    ]
  } finally {
    await counters.close()
  }
}
