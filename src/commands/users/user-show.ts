import { isProviderId, providerLabel } from '../../contract/providers.js'
import { profileFieldNames } from '../../contract/schemas.js'
import type { StoredEvent } from '../../domain/events/events.js'
import { canSignIn } from '../../domain/sign-in/ways-to-sign-in.js'
import { shownProfile } from '../../domain/users/profile-fields.js'
import type { User } from '../../domain/users/users.js'
import { days, seconds } from '../../lib/durations.js'
import type { SharedCounters } from '../../platform/cache/shared-counters.js'
import { type Command, CommandFailure, print, readArguments, type Stores, withStores } from '../command.js'
import { eventAsObject, eventsAsTable } from '../operations/event-lines.js'
import { keysOfDevices, networksOf, readLimitKey } from '../operations/limit-keys.js'
import { counted } from '../terminal/counted.js'
import { printableJson, printableText } from '../terminal/printable-json.js'
import { quoteCommand, quoteCommandWith } from '../terminal/quote-command.js'
import { asTable } from '../terminal/table.js'
import { findUser } from './find-user.js'
import { sessionAsJson } from './sessions.js'

const failures = new Set(['sign_in_failed', 'second_factor_failed', 'rate_limited', 'step_up_failed', 'refresh_theft'])
const mostFailures = 10
const mostEvents = 200
const mostNetworks = 20

/** A limit that refuses now. */
type InForce = { limit: string; subject: string; until: string }

/** Newest first. A sign-in that waits for its second step counts as failed, unless a later sign-in succeeded. */
const failuresIn = (events: readonly StoredEvent[], lastSignIn: StoredEvent | undefined) => {
  const unfinished = lastSignIn ? events.slice(0, events.indexOf(lastSignIn)) : events
  return events.filter(
    (event) => failures.has(event.kind) || (event.kind === 'second_factor_asked' && unfinished.includes(event)),
  )
}

/** A registration begins a session, too. */
const beganSession = ({ kind, sessionId }: StoredEvent) =>
  kind === 'signed_in' || (kind === 'registered' && sessionId !== null)

const moment = (date: Date) => date.toISOString()

const recentEvents = (stores: Stores, { id, username }: User) => {
  const now = stores.clock.now().getTime()
  const span = { since: new Date(now - 90 * days), until: new Date(now + 1 * days), limit: mostEvents }
  return stores.events.about({ userId: id, name: username }, span)
}

/** Shown for a browser in which the user has signed in: no name of it is stored. */
const ofKnownBrowser = 'known browser'

/** With LOGIN_LIMIT_KNOWN_DEVICES=own: browsers that have used up their own attempts. */
const fullDevices = async ({ ofDevices }: Stores['limits'], counters: SharedCounters, userId: string) => {
  if (ofDevices === undefined) return []
  const found = await counters.read(await keysOfDevices(counters, userId))
  return found.filter(({ key, used }) => readLimitKey(key).limit === 'login' && used >= ofDevices)
}

/** The names of the account that were typed too often with a wrong password. */
const fullNames = async ({ keysOfName, ofNames }: Stores['limits'], counters: SharedCounters, user: User) => {
  const found = [user.username, user.email].map(async (name) =>
    (await counters.read(keysOfName(name))).map((counter) => ({ ...counter, name })),
  )
  return (await Promise.all(found)).flat().filter(({ used }) => used >= ofNames)
}

/** Why the counters are not known: they are in the memory of the service, or Redis does not answer. */
type Unknown = 'in_memory' | 'unreachable'

/** The limits in force for the names of this account, and for networks from which it was used. */
const countersInForce = async (
  { limits }: Stores,
  user: User,
  events: readonly StoredEvent[],
): Promise<InForce[] | Unknown> => {
  const counters = await limits.openCounters().catch(() => 'unreachable' as const)
  if (counters === undefined) return 'in_memory'
  if (counters === 'unreachable') return counters
  try {
    const networks = networksOf(events.map(({ ip }) => ip)).slice(0, mostNetworks)
    const maxima = new Map<string, number>(Object.entries(limits.ofNetworks))
    const ofNetworks = networks.flatMap((network) => [...maxima.keys()].map((limit) => `${limit}:${network}`))
    const ofNames = await fullNames(limits, counters, user)
    const ofDevices = await fullDevices(limits, counters, user.id)
    return [
      ...ofDevices.map(({ ends }) => ({ limit: 'login', subject: ofKnownBrowser, until: moment(ends) })),
      ...ofNames.map(({ name, ends }) => ({ limit: 'account', subject: name, until: moment(ends) })),
      ...(await counters.read(ofNetworks)).flatMap(({ key, used, ends }) => {
        const { limit, subject } = readLimitKey(key)
        return used >= (maxima.get(limit) ?? Number.POSITIVE_INFINITY) ? [{ limit, subject, until: moment(ends) }] : []
      }),
    ]
  } finally {
    await counters.close()
  }
}

const codesInForce = async ({ codeWaits, clock }: Stores, { id }: User): Promise<InForce[]> => {
  const left = await codeWaits.secondsLeft(id)
  if (left === 0) return []
  return [{ limit: 'codes', subject: `user:${id}`, until: moment(new Date(clock.now().getTime() + left * seconds)) }]
}

const gather = async (stores: Stores, user: User) => {
  const { totpCreatedAt: totp, recoveryCodesLeft } = await stores.factors.describe(user.id)
  const sessions = await stores.sessions.list(user.id)
  const devices = await stores.trustedDevices.list(user.id)
  const passkeys = await stores.passkeys.countUsable(user.id)
  const events = await recentEvents(stores, user)
  const inForce = await countersInForce(stores, user, events)
  const formerEmails = await stores.userChanges.emailHistoryOf(user.id)
  const { id, username, email, disabled, createdAt, providers, groups } = user
  const lastSignIn = events.find((event) => event.userId === id && beganSession(event))
  return {
    lastFailures: failuresIn(events, lastSignIn).slice(0, mostFailures).toReversed(),
    lastSignIn,
    mustAddFactor: stores.secondFactor === 'required' && !totp && passkeys === 0,
    unknownCounters: typeof inForce === 'string' ? inForce : undefined,
    hasOtherWay: canSignIn({
      hasPassword: false,
      hasProvider: providers.some((provider) => stores.configuredProviders.includes(provider)),
      hasPasskey: passkeys > 0,
    }),
    details: {
      id,
      username,
      email,
      ...shownProfile(user, profileFieldNames),
      createdAt: moment(createdAt),
      disabled,
      formerEmails: formerEmails.map((former) => ({ email: former.email, replacedAt: moment(former.replacedAt) })),
      password: user.passwordHash !== undefined,
      providers,
      groups,
      totp: totp ? { createdAt: moment(totp) } : null,
      recoveryCodesLeft,
      passkeys,
      passkeysOfOtherHosts: await stores.passkeys.otherHostsOf(user.id),
      trustedDevices: devices.length,
      sessions: sessions.map(sessionAsJson),
      limits: [...(await codesInForce(stores, user)), ...(typeof inForce === 'string' ? [] : inForce)],
    },
  }
}

type Gathered = Awaited<ReturnType<typeof gather>>

const stopOf =
  (username: string) =>
  ({ limit, subject, until }: InForce) => {
    const ofUser = quoteCommandWith('limits clear', '--user', username)
    if (limit === 'codes') return `Too many wrong codes: no code works until ${until}, a recovery code does. ${ofUser}`
    if (limit === 'account')
      return `Too many wrong passwords for “${subject}”: until ${until}, that name is refused in browsers that never signed in here. ${ofUser}`
    if (subject === ofKnownBrowser)
      return `Too many wrong passwords in a browser that the user has signed in with before: it is refused until ${until}. ${ofUser}`
    return `The limit "${limit}" refuses ${subject} until ${until}: ${quoteCommandWith('limits clear', '--network', subject)}`
  }

const whyUnknown: Record<Unknown, string> = {
  in_memory: 'Which limits refuse now is known only to the running service, which counts them in its memory.',
  unreachable: 'Which limits refuse now is not known here: the counters in Redis could not be read.',
}

/** What keeps the user from signing in now, in sentences. */
const obstacles = ({ details, hasOtherWay, unknownCounters, mustAddFactor }: Gathered) => {
  const { disabled, password, username, limits } = details
  return [
    ...(disabled ? [`The account is disabled: ${quoteCommand('user enable', username)}`] : []),
    ...(password || disabled
      ? []
      : [
          `There is no password${hasOtherWay ? ', but another way to sign in' : ''}. “Forgot password?” on the sign-in page sets one.`,
        ]),
    ...(mustAddFactor && !disabled
      ? [
          'SECOND_FACTOR=required: at the next sign-in the user must add a second step, after a code that is mailed to them.',
        ]
      : []),
    ...limits.map(stopOf(username)),
    ...(unknownCounters ? [whyUnknown[unknownCounters]] : []),
  ]
}

const factorsOf = ({ totp, recoveryCodesLeft, trustedDevices }: Gathered['details']) =>
  totp
    ? `on since ${totp.createdAt}; ${counted(recoveryCodesLeft, 'recovery code')} left, ${counted(trustedDevices, 'trusted device')}`
    : 'off'

/** The newest change first: the present address came last. */
const formerEmailLines = ({ formerEmails }: Gathered['details']) =>
  formerEmails.toReversed().map(({ email, replacedAt }) => ['', `changed ${replacedAt}, before: ${email}`])

/** A passkey works for the host that it was made for, and for no other. */
const otherHostLines = ({ passkeysOfOtherHosts: hosts }: Gathered['details']) =>
  [...new Set(hosts)].map((host) => {
    const count = hosts.filter((each) => each === host).length
    return ['', `not with ${counted(count, 'passkey')} made for ${host}`]
  })

const asLines = (found: Gathered) => {
  const { details, lastFailures, lastSignIn } = found
  const ways = [
    ...(details.password ? ['password'] : []),
    ...(details.passkeys > 0 ? [counted(details.passkeys, 'passkey')] : []),
    ...details.providers.map((id) => (isProviderId(id) ? providerLabel(id) : id)),
  ]
  const [newest] = details.sessions
  const facts = asTable([
    ['username', details.username],
    ['id', details.id],
    ['email', details.email],
    ...formerEmailLines(details),
    ['name', details.name ?? ''],
    ['language of mails', details.language ?? 'set at the next sign-in'],
    ['groups', details.groups.join(', ') || 'none'],
    ['created', details.createdAt],
    ['state', details.disabled ? 'disabled' : 'enabled'],
    ['signs in with', ways.join(', ') || 'nothing'],
    ...otherHostLines(details),
    ['two-step sign-in', factorsOf(details)],
    ['sessions', newest ? `${details.sessions.length}, last used ${newest.lastUsedAt} from ${newest.ip}` : 'none'],
    ['last sign-in', lastSignIn ? `${moment(lastSignIn.createdAt)} from ${lastSignIn.ip}` : 'none in 90 days'],
  ])
  const stops = obstacles(found).map(printableText)
  const failed = lastFailures.length > 0 ? `Last failures:\n${eventsAsTable(lastFailures)}` : 'No failures in 90 days.'
  return [facts, ...(stops.length > 0 ? [stops.join('\n')] : []), failed].join('\n\n')
}

/** Of a name that is still reserved for the user who had it. */
const formerOwner = async ({ users, usernames }: Stores, named: string) => {
  const id = (await usernames.formerOwner(named)) ?? (await users.reservedFor(named))
  return id === undefined ? undefined : users.findById(id)
}

const hintAbout = async (stores: Stores, named: string) => {
  const owner = await formerOwner(stores, named)
  if (owner)
    return ` It is a former name of ${printableText(owner.username)}: ${quoteCommand('user show', owner.username)}`
  const waits = await stores.waitingRegistrations.has(named)
  return waits ? ' A registration under this name waits until its email is confirmed.' : ''
}

/** With a hint if the name is a former one, or waits for its confirmation. */
export const noSuchUser = async (stores: Stores, named: string) => {
  const hint = await hintAbout(stores, named)
  const name = printableText(JSON.stringify(named))
  const attempts = quoteCommandWith('events', '--user', named)
  return new CommandFailure(`There is no user ${name}.${hint} Attempts under that name: ${attempts}`)
}

export const userShow: Command = {
  summary: 'Show everything about a user: why can they not sign in?',
  help: `latchkey user show USER [--json]

Shows the account, the addresses that it had in the last 90 days, how the user signs in, two-step sign-in, sessions, what
keeps the user from signing in now, and the last ${mostFailures} failures with their reasons, also refusals of addresses that the account was
used from. USER is a username, an email or an id. An account exists only when its email was confirmed, or when an operator or a
provider vouched for it.

  --json    one JSON object, for programs`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { json: { type: 'boolean' } }, ['USER'])
    const [named = ''] = positionals
    return withStores(context, 'service', async (stores) => {
      const user = await findUser(stores, named)
      if (!user) throw await noSuchUser(stores, named)
      const found = await gather(stores, user)
      const { details, lastFailures, lastSignIn } = found
      const asObject = {
        ...details,
        lastSignIn: lastSignIn ? eventAsObject(lastSignIn) : null,
        obstacles: obstacles(found),
        failures: lastFailures.map(eventAsObject),
      }
      await print(context.stdout, values.json ? printableJson(asObject) : asLines(found))
      return 0
    })
  },
}
