import type { OperatorContext } from '../account-changes/account-changes.js'
import { refuse } from '../contract/outcome.js'
import type { Factors } from '../factors/second-factors.js'
import { deviceKeyPrefixes, limiterKey, limitersOf, sessionSubject, userSubject } from '../http/limiters.js'
import type { Client } from '../http/request-origin.js'
import type { AdministratorTrail } from '../messages/administrator-trail.js'
import type { Events } from '../messages/events.js'
import type { Database } from '../platform/database/database.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { User, Users } from '../users/users.js'

/** A counter whose window has not ended: its key, how many attempts are used, and when its window ends. */
type Counter = { key: string; used: number; ends: Date }

/** The counters of the service. Commands cannot read those in its memory. */
type Counters = {
  read(keys: readonly string[]): Promise<Counter[]>
  /** Removes counters, so that everything that they count is available again. */
  remove(keys: readonly string[]): Promise<unknown>
  /** Every key that begins with this text. */
  keys(beginning: string): Promise<string[]>
  close(): Promise<void>
}

/** The reason why the counters are not known: their store does not answer. */
export type WhyUnknown = 'unreachable'

/** The limits of a sign-in: their keys, and how much each allows. */
export type SignInLimits = {
  /** How many attempts a network has, by the name of the limiter. */
  networkMaxima: Readonly<Record<'login' | 'confirm' | 'sensitive', number>>
  /** How many attempts a known device has for itself. Undefined if it shares those of its network. */
  deviceMaximum: number | undefined
  /** How many attempts unknown devices have with one name. */
  nameMaximum: number
  /** The keys of the counters of a typed name. They cannot be computed without the signing secret. */
  keysOfName: (name: string) => string[]
  /** The keys of the counters of mails to sign in, by the address. */
  keysOfMailbox: (email: string) => string[]
  /** How many mails to sign in unknown devices can ask for. Undefined if the service sends no such mails. */
  mailboxMaximum: () => number | undefined
  /** The network by which an IP address is counted. Undefined for other texts. */
  networkOf: (ip: string) => string | undefined
  openCounters: () => Promise<Counters>
}

/** A limit that is used up, and refuses until `until`. `subject` is undefined for a browser, whose name is not known. */
export type ReachedLimit = { limit: string; subject: string | undefined; until: Date }

const maxNetworks = 20

/**
 * With LOGIN_LIMIT_KNOWN_DEVICES=own: browsers that have used up their own attempts. Only the cookies of the browsers have the names of the
 * devices, so their counters are found by the beginning of their keys.
 */
const devicesAtLimit = async ({ deviceMaximum }: SignInLimits, counters: Counters, userId: string) => {
  if (deviceMaximum === undefined) return []
  const keys = (await Promise.all(deviceKeyPrefixes(userId).map(counters.keys))).flat()
  const loginCounters = await counters.read(keys.filter((key) => key.startsWith(limiterKey('login', ''))))
  return loginCounters
    .filter(({ used }) => used >= deviceMaximum)
    .map(({ ends }) => ({ limit: 'login', subject: undefined, until: ends }))
}

/** The names of the account that were typed too often with a wrong password. */
const namesAtLimit = async ({ keysOfName, nameMaximum }: SignInLimits, counters: Counters, user: User) => {
  const nameCounters = [user.username, user.email].map(async (subject) =>
    (await counters.read(keysOfName(subject))).map((counter) => ({ ...counter, subject })),
  )
  return (await Promise.all(nameCounters))
    .flat()
    .filter(({ used }) => used >= nameMaximum)
    .map(({ subject, ends }) => ({ limit: 'account', subject, until: ends }))
}

/** The mailbox of the account, if unknown devices have asked for too many mails to sign in. */
const mailboxesAtLimit = async (limits: SignInLimits, counters: Counters, { email: subject }: User) => {
  const { keysOfMailbox } = limits
  const mailboxMaximum = limits.mailboxMaximum()
  if (mailboxMaximum === undefined) return []
  return (await counters.read(keysOfMailbox(subject)))
    .filter(({ used }) => used >= mailboxMaximum)
    .map(({ ends }) => ({ limit: 'mail_sign_ins', subject, until: ends }))
}

const networksAtLimit = async (limits: SignInLimits, counters: Counters, addresses: readonly string[]) => {
  const allNetworks = addresses.map(limits.networkOf).filter((network) => network !== undefined)
  const networks = [...new Set(allNetworks)].slice(0, maxNetworks)
  const names = Object.keys(limits.networkMaxima) as (keyof SignInLimits['networkMaxima'])[]
  const networksByLimit = names.map(async (limit) => {
    const subjects = new Map(networks.map((network) => [limiterKey(limit, network), network]))
    const networkCounters = await counters.read([...subjects.keys()])
    return networkCounters
      .filter(({ used }) => used >= limits.networkMaxima[limit])
      .map(({ key, ends }) => ({ limit, subject: subjects.get(key), until: ends }))
  })
  return (await Promise.all(networksByLimit)).flat()
}

/** The limits that are used up for this account's names and known browsers, and for networks from which it was used. */
export const reachedLimits = async (
  limits: SignInLimits,
  user: User,
  addresses: readonly string[],
): Promise<ReachedLimit[] | WhyUnknown> => {
  const counters = await limits.openCounters().catch(() => 'unreachable' as const)
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

type Needed = {
  database: Database
  users: Users
  sessionLookups: SessionLookups
  factors: Factors
  limits: SignInLimits
  events: Events
  administratorTrail: AdministratorTrail
}

/** The counters of a user: under the names, in known browsers, and for the account and its sessions. */
export type CountedForUser = { names: Counter[]; devices: Counter[]; accountAndSessions: Counter[] }

/** False if all attempts of the counter were given back. */
const isUsed = ({ used }: Counter) => used > 0

const countedFor = async (
  { sessionLookups, limits }: Needed,
  counters: Counters,
  { id, username, email }: User,
): Promise<CountedForUser> => {
  const sessions = await sessionLookups.list(id)
  const keysOfUser = [
    ...limitersOf('user').map((name) => limiterKey(name, userSubject(id))),
    ...sessions.flatMap((session) => limitersOf('session').map((name) => limiterKey(name, sessionSubject(session.id)))),
  ]
  // Only the cookies of the browsers have the names of the devices, so their counters are found by the prefix of their keys.
  const keysOfDevices = (await Promise.all(deviceKeyPrefixes(id).map(counters.keys))).flat()
  return {
    names: (
      await counters.read([...[username, email].flatMap(limits.keysOfName), ...limits.keysOfMailbox(email)])
    ).filter(isUsed),
    devices: (await counters.read(keysOfDevices)).filter(isUsed),
    accountAndSessions: (await counters.read(keysOfUser)).filter(isUsed),
  }
}

/** Records the event. Also ends the wait after wrong codes, which is in the database. */
const record = (
  { database, events, administratorTrail, factors }: Needed,
  user: User,
  client: Client,
  keys: readonly string[],
) =>
  database.transaction(async (sql) => {
    await events.checkActor(sql, client)
    const hadWrongCodes = await factors.forgetWrongCodes(sql, user.id)
    const clearedLimits = new Set([
      ...(hadWrongCodes ? ['codes'] : []),
      ...keys.map((key) => key.slice(0, key.indexOf(':'))),
    ])
    const reason = `user: ${[...clearedLimits].join(' ') || 'nothing was counted'}`
    const event = { kind: 'limits_cleared', reason, userId: user.id } as const
    await administratorTrail.record(sql, { event, user, change: 'limits_cleared' }, client)
    return hadWrongCodes
  })

/**
 * Lets a user try again now. The counters of networks stay, because they may count the guesses of others. The counters are in no
 * transaction, so they are removed after the event is written: an administrator who is none any more clears no limit.
 */
export const clearLimits = async (needed: Needed, actor: OperatorContext) => {
  const { users, limits } = needed
  const user = await users.findById(actor.userId)
  if (!user) return refuse('no_user')
  const counters = await limits.openCounters()
  try {
    const counted = await countedFor(needed, counters, user)
    const keys = [...counted.names, ...counted.devices, ...counted.accountAndSessions].map(({ key }) => key)
    const hadWrongCodes = await record(needed, user, actor.client, keys)
    await counters.remove(keys)
    return { ...counted, hadWrongCodes }
  } finally {
    await counters.close()
  }
}
