import type { Undos } from '../account-changes/undos.js'
import { type Applications, applicationWithoutAccess, mayUse } from '../applications/applications.js'
import type { AdminObstacle, ObstacleCode } from '../contract/admin/admin-bodies.js'
import type { LiveSettings } from '../contract/configuration.js'
import { mailEventKinds } from '../contract/events.js'
import type { ProviderId } from '../contract/providers.js'
import type { Passkeys } from '../factors/passkeys.js'
import type { Factors } from '../factors/second-factors.js'
import { canSignIn } from '../factors/ways-to-sign-in.js'
import { type Clock, later } from '../lib/clock.js'
import { days, seconds } from '../lib/durations.js'
import type { Events, StoredEvent } from '../messages/events.js'
import type { createWaitingMails } from '../messages/mails.js'
import type { Database } from '../platform/database/database.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { Terms } from '../users/terms.js'
import { isOwnerInDoubt, type User } from '../users/users.js'
import { type ReachedLimit, reachedLimits, type SignInLimits, type WhyUnknown } from './reached-limits.js'

export type Obstacle = {
  code: ObstacleCode
  /** A sentence for operators. */
  message: string
  /** The name of the limiter, if a limit is the obstacle. */
  limit?: string
  subject?: string | undefined
  until?: Date
  since?: Date
  count?: number
  detail?: string
  solvedBy?: NonNullable<AdminObstacle['solvedBy']>
}

type Needed = {
  database: Database
  clock: Clock
  events: Events
  factors: Factors
  passkeys: Passkeys
  undos: Undos
  applications: Applications
  waitingMails: ReturnType<typeof createWaitingMails>
  terms: Terms
  profileFields: ProfileFields
  limits: SignInLimits
  settings: {
    now: () => Pick<LiveSettings, 'secondFactor' | 'mailSignIn'>
    mailIsOff: boolean
    configuredProviders: readonly ProviderId[]
  }
}

const maxEvents = 200

const limitObstacle = ({ limit, subject, until }: ReachedLimit): Obstacle => {
  const time = until.toISOString()
  if (subject === undefined)
    return {
      code: 'wrong_passwords_in_browser',
      limit,
      message: `Too many wrong passwords in a browser that the user has signed in with before: that browser is refused until ${time}.`,
      until,
      solvedBy: 'clear-limits',
    }
  if (limit === 'account')
    return {
      code: 'wrong_passwords_for_name',
      limit,
      message: `Too many wrong passwords for “${subject}”: until ${time}, that name is refused in browsers that never signed in here.`,
      subject,
      until,
      solvedBy: 'clear-limits',
    }
  if (limit === 'mail_sign_ins')
    return {
      code: 'mails_to_sign_in',
      limit,
      message: `The limit of mails to sign in is reached for ${subject}: until ${time}, browsers that never signed in here get none.`,
      subject,
      until,
      solvedBy: 'clear-limits',
    }
  const message = `The limit "${limit}" refuses ${subject} until ${time}.`
  return { code: 'network_limit', limit, message, subject, until }
}

const whyUnknown: Record<WhyUnknown, string> = {
  unreachable: 'Which limits refuse now is not known here: the shared counters could not be read.',
}

const printsLink = 'An operator prints a link for one: latchkey user reset-link.'

const noPassword = (
  hasOtherWay: boolean,
  { mailSignIn, canMail }: { mailSignIn: boolean; canMail: boolean },
): Obstacle => ({
  code: 'no_password',
  message: `There is no password.${hasOtherWay ? ' The user can sign in with a passkey or a provider.' : ''}${mailSignIn && canMail ? ' The user can sign in by mail.' : ''} ${canMail ? '“Forgot password?” on the sign-in page sets one.' : printsLink}`,
  ...(canMail && { solvedBy: 'send-reset' }),
})

const ownerInDoubt = (formerOwner: string | undefined): Obstacle => ({
  code: 'owner_in_doubt',
  message: formerOwner
    ? `The account was locked down, and ${formerOwner} can still take it back with “This was not me”. Until then “Forgot password?” sends nothing to the present address.`
    : 'The account was locked down, and its former owner has not taken it back in time. “Forgot password?” sends nothing to the present address: make sure whose it is, then mail a link.',
  ...(formerOwner !== undefined && { subject: formerOwner }),
  solvedBy: 'send-reset',
})

const mustAddFactor = (canMail: boolean): Obstacle => ({
  code: 'must_add_factor',
  message: canMail
    ? 'SECOND_FACTOR=required: at the next sign-in the user must add a second step, after a code that is mailed to them.'
    : 'SECOND_FACTOR=required: the user must add a second step, within a day after a link that an operator prints: latchkey user reset-link.',
})

/** The event is deleted after 90 days, and the account stays locked down. So who did it and why may be missing. */
const lockDownObstacle = (since: Date, recentEvents: readonly StoredEvent[]): Obstacle => {
  const event = recentEvents.find(({ kind }) => kind === 'user_locked_down')
  const subject = (event?.actor ?? event?.actorKey ?? event?.userAgent) || undefined
  const detail = event?.actorReason ?? undefined
  const by = subject === undefined ? '' : ` by ${subject}`
  const why = detail === undefined ? '' : `, because: ${detail}`
  const message = `The account was locked down at ${since.toISOString()}${by}${why}.`
  return { code: 'locked_down', message, since, subject, detail, solvedBy: 'enable' }
}

const canMailTo = ({ settings }: Needed, { emailClaimed }: User) => !settings.mailIsOff && !emailClaimed

const withoutPassword = async (needed: Needed, user: User, hasPasskey: boolean): Promise<Obstacle> => {
  const { now, configuredProviders } = needed.settings
  const hasProvider = user.providers.some((provider) => configuredProviders.includes(provider))
  const formerOwner = user.passwordDistrusted ? await needed.undos.formerOwnerOf(user) : undefined
  if (isOwnerInDoubt(user)) return ownerInDoubt(formerOwner)
  const hasOtherWay = canSignIn({ hasPassword: false, hasProvider, hasPasskey })
  return noPassword(hasOtherWay, { mailSignIn: now().mailSignIn === 'on', canMail: canMailTo(needed, user) })
}

/** The obstacles in the account itself. */
const accountObstacles = async (
  needed: Needed,
  user: User,
  recentEvents: readonly StoredEvent[],
): Promise<Obstacle[]> => {
  if (user.lockedDownAt) return [lockDownObstacle(user.lockedDownAt, recentEvents)]
  if (user.disabled) return [{ code: 'disabled', message: 'The account is disabled.', solvedBy: 'enable' }]
  const hasPasskey = (await needed.passkeys.countUsable(user.id)) > 0
  const mustStillAddFactor =
    needed.settings.now().secondFactor === 'required' && !(await needed.factors.hasFactor(user.id))
  return [
    ...(user.passwordHash === undefined ? [await withoutPassword(needed, user, hasPasskey)] : []),
    ...(mustStillAddFactor ? [mustAddFactor(canMailTo(needed, user))] : []),
  ]
}

const wrongCodeObstacles = async ({ clock, factors }: Needed, { id }: User): Promise<Obstacle[]> => {
  const secondsLeft = await factors.secondsToWait(id)
  if (secondsLeft === 0) return []
  const until = later(clock.now(), secondsLeft * seconds)
  const message = `Too many wrong codes: no code of the app works until ${until.toISOString()}. A recovery code does.`
  return [{ code: 'wrong_codes', limit: 'codes', message, subject: `user:${id}`, until, solvedBy: 'clear-limits' }]
}

/** `recentEvents` also tell from which networks the account was used. */
const limitObstacles = async (
  { limits }: Needed,
  user: User,
  recentEvents: readonly StoredEvent[],
): Promise<Obstacle[]> => {
  const ownEvents = recentEvents.filter(({ actorId, actorKey }) => (actorId ?? actorKey) === null)
  const limitsOrReason = await reachedLimits(
    limits,
    user,
    ownEvents.map(({ ip }) => ip),
  )
  return typeof limitsOrReason === 'string'
    ? [{ code: 'limits_unknown', message: whyUnknown[limitsOrReason] }]
    : limitsOrReason.map(limitObstacle)
}

/** Finds applications that refused the user in the last day, and would refuse the user now. */
const applicationObstacles = async (
  { clock, applications }: Needed,
  { id, groups }: User,
  recentEvents: readonly StoredEvent[],
): Promise<Obstacle[]> => {
  const since = later(clock.now(), -1 * days)
  const names = recentEvents
    .filter(({ kind, userId, createdAt }) => kind === 'application_refused' && userId === id && createdAt > since)
    .flatMap(({ reason }) => applicationWithoutAccess(reason) ?? [])
  const refusingApplications = await Promise.all([...new Set(names)].map(applications.findByName))
  return refusingApplications
    .filter((application) => application !== undefined)
    .filter((application) => !mayUse(application, groups))
    .map(({ name, groups: admittedGroups }) => ({
      code: 'no_access',
      message: `The user tried to use ${name}, and is in none of its groups: ${admittedGroups.join(', ') || 'it has none'}.`,
      subject: name,
      detail: admittedGroups.join(', '),
    }))
}

const maxWaiting = 100

/** The obstacle if mails have failed and wait for another attempt. Mails that wait for their first attempt are no obstacle. */
const waitingObstacles = async ({ waitingMails }: Needed, { id, email }: User): Promise<Obstacle[]> => {
  const failedMails = (await waitingMails.list(maxWaiting, { userId: id, email })).filter(
    ({ failure }) => failure !== null,
  )
  const [oldest] = failedMails
  const detail = failedMails.at(-1)?.failure
  if (!oldest || !detail) return []
  const count = failedMails.length
  const since = oldest.createdAt
  const message = `Mails to this user that wait for the mail server: ${count}, since ${since.toISOString()}. The last attempt failed: ${detail}.`
  return [{ code: 'mails_waiting', message, count, since, detail }]
}

const sentences = {
  mail_refused: 'The mail server refused the last mail to this user',
  mail_given_up: 'The last mail to this user was given up',
}

/** The obstacle if the last mail to the user was refused or given up. If the last mail was accepted, earlier refusals do not matter. */
const lastRefusalObstacles = ({ id }: User, recentEvents: readonly StoredEvent[]): Obstacle[] => {
  const last = recentEvents.find(({ kind, userId }) => userId === id && mailEventKinds.some((each) => each === kind))
  if (last?.kind !== 'mail_refused' && last?.kind !== 'mail_given_up') return []
  // The reason begins with the kind of the mail.
  const detail = (last.reason ?? '').split(': ').slice(1).join(': ')
  const since = last.createdAt
  const message = `${sentences[last.kind]}, on ${since.toISOString()}: ${detail}.`
  return [{ code: last.kind, message, since, detail }]
}

/** Finds what the user will be asked for before the next session begins. */
export const nextSignInObstacles = async (
  { database, terms, profileFields }: { database: Database; terms: Terms; profileFields: ProfileFields },
  user: User,
): Promise<Obstacle[]> => {
  if (user.disabled) return []
  const subject = profileFields
    .missing(user.fields)
    .map(({ key }) => key)
    .join(', ')
  const obstacles: (Obstacle | false)[] = [
    subject !== '' && {
      code: 'must_give_fields',
      message: `Required fields are empty: ${subject}. The user is asked for them at the next sign-in.`,
      subject,
    },
    (await terms.isAgreementMissing(database, user.id)) && {
      code: 'must_agree_to_terms',
      message: `The user has not agreed to the terms, version ${terms.version}, and is asked to at the next sign-in.`,
      subject: terms.version,
    },
  ]
  return obstacles.filter((obstacle) => obstacle !== false)
}

/** Finds what keeps a user from signing in, for operators and administrators. */
export const createObstacles = (needed: Needed) => ({
  /** The events of a user, newest first. They include requests that a limit refused to IP addresses from which the account was used. */
  eventsOf: ({ id, username }: User) => {
    const now = needed.clock.now()
    const span = { since: later(now, -90 * days), until: later(now, 1 * days), limit: maxEvents }
    return needed.events.about({ userId: id, name: username }, span)
  },

  /** `recentEvents`: the events of the user. */
  of: async (user: User, recentEvents: readonly StoredEvent[]): Promise<Obstacle[]> => {
    const ofLimits = await limitObstacles(needed, user, recentEvents)
    const otherObstacles = await Promise.all([
      nextSignInObstacles(needed, user),
      applicationObstacles(needed, user, recentEvents),
      waitingObstacles(needed, user),
    ])
    return [
      ...(await accountObstacles(needed, user, recentEvents)),
      ...otherObstacles.flat(),
      ...lastRefusalObstacles(user, recentEvents),
      ...(await wrongCodeObstacles(needed, user)),
      ...ofLimits,
    ]
  },
})
