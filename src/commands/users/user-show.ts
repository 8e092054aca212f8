import type { ObstacleCode } from '../../contract/admin/admin-bodies.js'
import { isProviderId, providerLabel } from '../../contract/providers.js'
import { builtInFieldNames } from '../../contract/schemas.js'
import { countText } from '../../lib/text.js'
import type { StoredEvent } from '../../messages/events.js'
import { builtInValues } from '../../users/built-in-fields.js'
import type { User } from '../../users/users.js'
import { CommandFailure, type CommandRooms, command, findUser } from '../command.js'
import { eventAsObject, eventsAsTable } from '../operations/events.js'
import { asTable, printableText, quoteCommand, quoteCommandWith } from '../terminal/printing.js'
import { sessionAsObject } from './user-sessions.js'

const failureKinds = new Set([
  'sign_in_failed',
  'second_factor_failed',
  'rate_limited',
  'step_up_failed',
  'refresh_theft',
])
const maxFailures = 10

/**
 * The failures among the events, the newest first. A sign-in that still waits for its second step is a failure, too, unless a later one
 * succeeded.
 */
const failuresIn = (events: readonly StoredEvent[], lastSignIn: StoredEvent | undefined) => {
  const eventsSinceSignIn = lastSignIn ? events.slice(0, events.indexOf(lastSignIn)) : events
  return events.filter(
    (event) =>
      failureKinds.has(event.kind) || (event.kind === 'second_factor_asked' && eventsSinceSignIn.includes(event)),
  )
}

/** Whether the event began a session. A registration may begin one, too. */
const beganSession = ({ kind, sessionId }: StoredEvent) =>
  kind === 'signed_in' || (kind === 'registered' && sessionId !== null)

const isoText = (date: Date) => date.toISOString()

/** Stands in the place of the subject, because no name is stored for a browser. */
const knownBrowser = 'known browser'

const readReport = async (rooms: CommandRooms, user: User) => {
  const { totpCreatedAt: totp, recoveryCodesLeft } = await rooms.factors.describe(user.id)
  const sessions = await rooms.sessionLookups.list(user.id)
  const devices = await rooms.trustedDevices.list(user.id)
  const applications = await rooms.usedApplications.listOfUser(user.id)
  const applicationsNotTold = await rooms.logoutNotices.untoldOf(user.id)
  const passkeys = await rooms.passkeys.countUsable(user.id)
  const events = await rooms.obstacles.eventsOf(user)
  const obstacles = await rooms.obstacles.of(user, events)
  const formerEmails = await rooms.userChanges.emailHistoryOf(user.id)
  const { id, username, email, emailProven, emailClaimed, disabled, createdAt, providers, groups } = user
  const lastSignIn = events.find((event) => event.userId === id && beganSession(event))
  return {
    lastFailures: failuresIn(events, lastSignIn).slice(0, maxFailures).toReversed(),
    lastSignIn,
    obstacles,
    details: {
      id,
      username,
      email,
      emailProven,
      emailClaimed,
      ...builtInValues(user, builtInFieldNames),
      fields: rooms.profileFields.knownValues(user.fields),
      createdAt: isoText(createdAt),
      disabled,
      formerEmails: formerEmails.map((former) => ({ email: former.email, replacedAt: isoText(former.replacedAt) })),
      password: user.passwordHash !== undefined,
      providers,
      groups,
      totp: totp ? { createdAt: isoText(totp) } : null,
      recoveryCodesLeft,
      passkeys,
      passkeysOfOtherHosts: await rooms.passkeys.otherHostsOf(user.id),
      trustedDevices: devices.length,
      sessions: sessions.map(sessionAsObject),
      applications: applications.map(({ application: { id, name }, since, lastUsedAt }) => ({
        id,
        name,
        since: isoText(since),
        lastUsedAt: isoText(lastUsedAt),
      })),
      applicationsNotTold,
      limits: obstacles.flatMap(({ limit, subject, until }) =>
        limit && until ? [{ limit, subject: subject ?? knownBrowser, until: isoText(until) }] : [],
      ),
    },
  }
}

type Report = Awaited<ReturnType<typeof readReport>>

const clearLimitsCommand = (username: string) => quoteCommandWith('limits clear', '--user', username)

/** The command that removes the obstacle, for obstacles that a command can remove. */
const solutions: { [Code in ObstacleCode]?: (username: string, subject: string) => string } = {
  disabled: (username) => quoteCommand('user enable', username),
  locked_down: (username) => quoteCommand('user enable', username),
  owner_in_doubt: (username) => quoteCommand('user send-reset', username),
  wrong_codes: clearLimitsCommand,
  wrong_passwords_for_name: clearLimitsCommand,
  wrong_passwords_in_browser: clearLimitsCommand,
  network_limit: (_, subject) => quoteCommandWith('limits clear', '--network', subject),
}

/** The obstacles to a sign-in of the user, in sentences with the commands that help. */
const sentencesOf = ({ obstacles, details: { username } }: Report) =>
  obstacles.map(({ code, message, subject = '' }) => {
    const command = solutions[code]?.(username, subject)
    return command === undefined ? message : `${message} ${command}`
  })

const factorsOf = ({ totp, recoveryCodesLeft, trustedDevices }: Report['details']) =>
  totp
    ? `on since ${totp.createdAt}; ${countText(recoveryCodesLeft, 'recovery code')} left, ${countText(trustedDevices, 'trusted device')}`
    : 'off'

/** Lists the newest change first, below the present address. */
const formerEmailLines = ({ formerEmails }: Report['details']) =>
  formerEmails.toReversed().map(({ email, replacedAt }) => ['', `changed ${replacedAt}, before: ${email}`])

/** A passkey works for the host that it was made for, and for no other. */
const otherHostLines = ({ passkeysOfOtherHosts: hosts }: Report['details']) =>
  [...new Set(hosts)].map((host) => {
    const count = hosts.filter((each) => each === host).length
    return ['', `not with ${countText(count, 'passkey')} made for ${host}`]
  })

const provenText = ({ emailProven, emailClaimed }: Report['details']) => {
  if (emailProven) return 'yes'
  return `no: applications are told email_verified = false${emailClaimed ? ', and no mail to it lets anyone in' : ''}`
}

const reportText = (report: Report) => {
  const { details, lastFailures, lastSignIn } = report
  const ways = [
    ...(details.password ? ['password'] : []),
    ...(details.passkeys > 0 ? [countText(details.passkeys, 'passkey')] : []),
    ...details.providers.map((id) => (isProviderId(id) ? providerLabel(id) : id)),
  ]
  const [newest] = details.sessions
  const facts = asTable([
    ['username', details.username],
    ['id', details.id],
    ['email', details.email],
    ...formerEmailLines(details),
    ['email proven', provenText(details)],
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
    ...details.applications.map(({ name, lastUsedAt }, index) => [
      index === 0 ? 'applications' : '',
      `${name}, last used ${lastUsedAt}`,
    ]),
    ...details.applicationsNotTold.map(({ name, givenUp }, index) => [
      index === 0 ? 'not told of logout' : '',
      `${name}${givenUp ? ', given up' : ', tried again'}: ${quoteCommand('application show', name)}`,
    ]),
    ['last sign-in', lastSignIn ? `${isoText(lastSignIn.createdAt)} from ${lastSignIn.ip}` : 'none in 90 days'],
  ])
  const sentences = sentencesOf(report).map(printableText)
  const failuresText =
    lastFailures.length > 0 ? `Last failures:\n${eventsAsTable(lastFailures)}` : 'No failures in 90 days.'
  return [facts, ...(sentences.length > 0 ? [sentences.join('\n')] : []), failuresText].join('\n\n')
}

/** The user who had this name or address before, while it is still reserved for them. */
const formerOwner = async ({ users, usernames }: CommandRooms, userName: string) => {
  const id = (await usernames.formerOwner(userName)) ?? (await users.reservedFor(userName))
  return id === undefined ? undefined : users.findById(id)
}

const hintAbout = async (rooms: CommandRooms, userName: string) => {
  const owner = await formerOwner(rooms, userName)
  if (owner)
    return ` It is a former name of ${printableText(owner.username)}: ${quoteCommand('user show', owner.username)}`
  const waits = await rooms.registrations.hasWaiting(userName)
  return waits ? ' A registration under this name waits until its email is confirmed.' : ''
}

/** Says that there is no such user, with a hint if the name is a former one or belongs to a registration that is not confirmed. */
export const noSuchUser = async (rooms: CommandRooms, userName: string) => {
  const hint = await hintAbout(rooms, userName)
  const name = printableText(JSON.stringify(userName))
  const attempts = quoteCommandWith('events', '--user', userName)
  return new CommandFailure(`There is no user ${name}.${hint} Attempts under that name: ${attempts}`)
}

export const userShow = command({
  summary: 'Show everything about a user: why can they not sign in?',
  help: `latchkey user show USER [--json]

Shows the account, the email addresses that it had in the last 90 days, how the user signs in, two-step sign-in, sessions, what
keeps the user from signing in now, and the last ${maxFailures} failures with their reasons, also refusals of IP addresses from which
the account was used. USER is a username, an email or an id. An account exists only when its email was confirmed, or when an
operator or a provider vouched for it.`,
  json: '{"id", "username", "email", "groups", …, "obstacles": [sentence], "lastSignIn", "failures": [event]}',
  args: ['USER'],
  run: async (rooms, { args: [userName] }) => {
    const user = await findUser(rooms, userName)
    if (!user) throw await noSuchUser(rooms, userName)
    const report = await readReport(rooms, user)
    const { details, lastFailures, lastSignIn } = report
    return {
      json: {
        ...details,
        lastSignIn: lastSignIn ? eventAsObject(lastSignIn) : null,
        obstacles: sentencesOf(report),
        failures: lastFailures.map(eventAsObject),
      },
      text: reportText(report),
    }
  },
})
