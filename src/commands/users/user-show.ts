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

const failureKinds = new Set([
  'sign_in_failed',
  'second_factor_failed',
  'rate_limited',
  'step_up_failed',
  'refresh_theft',
])
const mostFailures = 10
const mostEvents = 200
const mostNetworks = 20

/** A limit that is used up: it refuses until then. */
type ReachedLimit = { limit: string; subject: string; until: string }

/** Newest first. A sign-in that waits for its second step counts as failed, unless a later sign-in succeeded. */
const failuresIn = (events: readonly StoredEvent[], lastSignIn: StoredEvent | undefined) => {
  const unfinished = lastSignIn ? events.slice(0, events.indexOf(lastSignIn)) : events
  return events.filter(
    (event) => failureKinds.has(event.kind) || (event.kind === 'second_factor_asked' && unfinished.includes(event)),
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

/** Shown instead of a name, because none is stored for browsers. */
const knownBrowser = 'known browser'

/** With LOGIN_LIMIT_KNOWN_DEVICES=own: browsers that have used up their own attempts. */
const devicesAtLimit = async ({ ofDevices }: Stores['limits'], counters: SharedCounters, userId: string) => {
  if (ofDevices === undefined) return []
  const found = await counters.read(await keysOfDevices(counters, userId))
  return found.filter(({ key, used }) => readLimitKey(key).limit === 'login' && used >= ofDevices)
}

/** The names of the account that were typed too often with a wrong password. */
const namesAtLimit = async ({ keysOfName, ofNames }: Stores['limits'], counters: SharedCounters, user: User) => {
  const found = [user.username, user.email].map(async (name) =>
    (await counters.read(keysOfName(name))).map((counter) => ({ ...counter, name })),
  )
  return (await Promise.all(found)).flat().filter(({ used }) => used >= ofNames)
}

/** Why the counters are not known: they are in the memory of the service, or Redis does not answer. */
type WhyUnknown = 'in_memory' | 'unreachable'

/** The limits that are used up for this account's names and known browsers, and for networks from which it was used. */
const reachedLimits = async (
  { limits }: Stores,
  user: User,
  events: readonly StoredEvent[],
): Promise<ReachedLimit[] | WhyUnknown> => {
  const counters = await limits.openCounters().catch(() => 'unreachable' as const)
  if (counters === undefined) return 'in_memory'
  if (counters === 'unreachable') return counters
  try {
    const networks = networksOf(events.map(({ ip }) => ip)).slice(0, mostNetworks)
    const maxima = new Map<string, number>(Object.entries(limits.ofNetworks))
    const networkKeys = networks.flatMap((network) => [...maxima.keys()].map((limit) => `${limit}:${network}`))
    const names = await namesAtLimit(limits, counters, user)
    const devices = await devicesAtLimit(limits, counters, user.id)
    return [
      ...devices.map(({ ends }) => ({ limit: 'login', subject: knownBrowser, until: moment(ends) })),
      ...names.map(({ name, ends }) => ({ limit: 'account', subject: name, until: moment(ends) })),
      ...(await counters.read(networkKeys)).flatMap(({ key, used, ends }) => {
        const { limit, subject } = readLimitKey(key)
        return used >= (maxima.get(limit) ?? Number.POSITIVE_INFINITY) ? [{ limit, subject, until: moment(ends) }] : []
      }),
    ]
  } finally {
    await counters.close()
  }
}

const reachedCodeLimit = async ({ codeWaits, clock }: Stores, { id }: User): Promise<ReachedLimit[]> => {
  const left = await codeWaits.secondsLeft(id)
  if (left === 0) return []
  return [{ limit: 'codes', subject: `user:${id}`, until: moment(new Date(clock.now().getTime() + left * seconds)) }]
}

const readReport = async (stores: Stores, user: User) => {
  const { totpCreatedAt: totp, recoveryCodesLeft } = await stores.factors.describe(user.id)
  const sessions = await stores.sessionLookups.list(user.id)
  const devices = await stores.trustedDevices.list(user.id)
  const applications = await stores.usedApplications.listOfUser(user.id)
  const passkeys = await stores.passkeys.countUsable(user.id)
  const events = await recentEvents(stores, user)
  const reached = await reachedLimits(stores, user, events)
  const formerEmails = await stores.userChanges.emailHistoryOf(user.id)
  const { id, username, email, emailProven, disabled, createdAt, providers, groups } = user
  const lastSignIn = events.find((event) => event.userId === id && beganSession(event))
  return {
    lastFailures: failuresIn(events, lastSignIn).slice(0, mostFailures).toReversed(),
    lastSignIn,
    mustAddFactor: stores.secondFactor === 'required' && !totp && passkeys === 0,
    unknownCounters: typeof reached === 'string' ? reached : undefined,
    hasOtherWay: canSignIn({
      hasPassword: false,
      hasProvider: providers.some((provider) => stores.configuredProviders.includes(provider)),
      hasPasskey: passkeys > 0,
    }),
    details: {
      id,
      username,
      email,
      emailProven,
      ...shownProfile(user, profileFieldNames),
      fields: stores.profileFields.known(user.fields),
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
      applications: applications.map(({ application: { id, name }, since, lastUsedAt }) => ({
        id,
        name,
        since: moment(since),
        lastUsedAt: moment(lastUsedAt),
      })),
      limits: [...(await reachedCodeLimit(stores, user)), ...(typeof reached === 'string' ? [] : reached)],
    },
  }
}

type Report = Awaited<ReturnType<typeof readReport>>

/** A sentence about a limit, with the command that lifts it. */
const limitObstacle =
  (username: string) =>
  ({ limit, subject, until }: ReachedLimit) => {
    const ofUser = quoteCommandWith('limits clear', '--user', username)
    if (limit === 'codes') return `Too many wrong codes: no code works until ${until}, a recovery code does. ${ofUser}`
    if (limit === 'account')
      return `Too many wrong passwords for “${subject}”: until ${until}, that name is refused in browsers that never signed in here. ${ofUser}`
    if (subject === knownBrowser)
      return `Too many wrong passwords in a browser that the user has signed in with before: it is refused until ${until}. ${ofUser}`
    return `The limit "${limit}" refuses ${subject} until ${until}: ${quoteCommandWith('limits clear', '--network', subject)}`
  }

const whyUnknown: Record<WhyUnknown, string> = {
  in_memory: 'Which limits refuse now is known only to the running service, which counts them in its memory.',
  unreachable: 'Which limits refuse now is not known here: the counters in Redis could not be read.',
}

/** What keeps the user from signing in now, in sentences. */
const obstacles = ({ details, hasOtherWay, unknownCounters, mustAddFactor }: Report) => {
  const { disabled, password, username, limits } = details
  return [
    ...(disabled ? [`The account is disabled: ${quoteCommand('user enable', username)}`] : []),
    ...(password || disabled
      ? []
      : [
          `There is no password.${hasOtherWay ? ' The user can sign in with a passkey or a provider.' : ''} “Forgot password?” on the sign-in page sets one.`,
        ]),
    ...(mustAddFactor && !disabled
      ? [
          'SECOND_FACTOR=required: at the next sign-in the user must add a second step, after a code that is mailed to them.',
        ]
      : []),
    ...limits.map(limitObstacle(username)),
    ...(unknownCounters ? [whyUnknown[unknownCounters]] : []),
  ]
}

const factorsOf = ({ totp, recoveryCodesLeft, trustedDevices }: Report['details']) =>
  totp
    ? `on since ${totp.createdAt}; ${counted(recoveryCodesLeft, 'recovery code')} left, ${counted(trustedDevices, 'trusted device')}`
    : 'off'

/** The newest change first: the present address came last. */
const formerEmailLines = ({ formerEmails }: Report['details']) =>
  formerEmails.toReversed().map(({ email, replacedAt }) => ['', `changed ${replacedAt}, before: ${email}`])

/** A passkey works for the host that it was made for, and for no other. */
const otherHostLines = ({ passkeysOfOtherHosts: hosts }: Report['details']) =>
  [...new Set(hosts)].map((host) => {
    const count = hosts.filter((each) => each === host).length
    return ['', `not with ${counted(count, 'passkey')} made for ${host}`]
  })

const asLines = (report: Report) => {
  const { details, lastFailures, lastSignIn } = report
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
    ['email proven', details.emailProven ? 'yes' : 'no: applications are told email_verified = false'],
    ['name', details.name ?? ''],
    ['language of mails', details.language ?? 'set at the next sign-in'],
    ['groups', details.groups.join(', ') || 'none'],
    ...Object.entries(details.fields).map(([key, value]) => [`field ${key}`, printableText(String(value))]),
    ['created', details.createdAt],
    ['state', details.disabled ? 'disabled' : 'enabled'],
    ['signs in with', ways.join(', ') || 'nothing'],
    ...otherHostLines(details),
    ['two-step sign-in', factorsOf(details)],
    ['sessions', newest ? `${details.sessions.length}, last used ${newest.lastUsedAt} from ${newest.ip}` : 'none'],
    ...details.applications.map(({ name, lastUsedAt }, at) => [
      at === 0 ? 'applications' : '',
      `${name}, last used ${lastUsedAt}`,
    ]),
    ['last sign-in', lastSignIn ? `${moment(lastSignIn.createdAt)} from ${lastSignIn.ip}` : 'none in 90 days'],
  ])
  const sentences = obstacles(report).map(printableText)
  const failed = lastFailures.length > 0 ? `Last failures:\n${eventsAsTable(lastFailures)}` : 'No failures in 90 days.'
  return [facts, ...(sentences.length > 0 ? [sentences.join('\n')] : []), failed].join('\n\n')
}

/** The user who had this name or address before, while it is still reserved for them. */
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

Shows the account, the email addresses that it had in the last 90 days, how the user signs in, two-step sign-in, sessions, what
keeps the user from signing in now, and the last ${mostFailures} failures with their reasons, also refusals of IP addresses from which
the account was used. USER is a username, an email or an id. An account exists only when its email was confirmed, or when an
operator or a provider vouched for it.

  --json    one JSON object, for programs`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { json: { type: 'boolean' } }, ['USER'])
    const [named = ''] = positionals
    return withStores(context, 'service', async (stores) => {
      const user = await findUser(stores, named)
      if (!user) throw await noSuchUser(stores, named)
      const report = await readReport(stores, user)
      const { details, lastFailures, lastSignIn } = report
      const asObject = {
        ...details,
        lastSignIn: lastSignIn ? eventAsObject(lastSignIn) : null,
        obstacles: obstacles(report),
        failures: lastFailures.map(eventAsObject),
      }
      await print(context.stdout, values.json ? printableJson(asObject) : asLines(report))
      return 0
    })
  },
}
