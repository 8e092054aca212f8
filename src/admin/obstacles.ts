import type { Undos } from '../account-changes/undos.js'
import type { AdminObstacle, ObstacleCode } from '../contract/admin/admin-bodies.js'
import type { ProviderId } from '../contract/providers.js'
import type { Passkeys } from '../factors/passkeys.js'
import type { createCodeWaits } from '../factors/prove-code.js'
import type { Factors } from '../factors/second-factors.js'

import { canSignIn } from '../factors/ways-to-sign-in.js'
import { type Clock, later } from '../lib/clock.js'
import { days, seconds } from '../lib/durations.js'
import type { Events, StoredEvent } from '../messages/events.js'
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

type Dependencies = {
  clock: Clock
  events: Pick<Events, 'about'>
  factors: Pick<Factors, 'describe'>
  passkeys: Pick<Passkeys, 'countUsable'>
  codeWaits: ReturnType<typeof createCodeWaits>
  undos: Pick<Undos, 'formerOwnerOf'>
  limits: SignInLimits
  settings: {
    secondFactorRequired: boolean
    mailSignIn: boolean
    mailIsOff: boolean
    configuredProviders: readonly ProviderId[]
  }
  /** Functions that find obstacles in other parts of the service. `recentEvents`: the events of the user, newest first. */
  otherFinders: readonly ((user: User, recentEvents: readonly StoredEvent[]) => Promise<Obstacle[]>)[]
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

export type Obstacles = ReturnType<typeof createObstacles>

/** Finds what keeps a user from signing in, for operators and administrators. */
export const createObstacles = (deps: Dependencies) => {
  const { clock, events, factors, passkeys, codeWaits, undos, limits, settings, otherFinders } = deps
  const { secondFactorRequired, mailSignIn, mailIsOff, configuredProviders } = settings
  const canMailTo = ({ emailClaimed }: User) => !mailIsOff && !emailClaimed

  const withoutPassword = async (user: User, hasPasskey: boolean): Promise<Obstacle> => {
    const hasProvider = user.providers.some((provider) => configuredProviders.includes(provider))
    const formerOwner = user.passwordDistrusted ? await undos.formerOwnerOf(user) : undefined
    if (isOwnerInDoubt(user)) return ownerInDoubt(formerOwner)
    return noPassword(canSignIn({ hasPassword: false, hasProvider, hasPasskey }), {
      mailSignIn,
      canMail: canMailTo(user),
    })
  }

  /** The obstacles in the account itself. */
  const accountObstacles = async (user: User, recentEvents: readonly StoredEvent[]): Promise<Obstacle[]> => {
    if (user.lockedDownAt) return [lockDownObstacle(user.lockedDownAt, recentEvents)]
    if (user.disabled) return [{ code: 'disabled', message: 'The account is disabled.', solvedBy: 'enable' }]
    const { totpCreatedAt } = await factors.describe(user.id)
    const hasPasskey = (await passkeys.countUsable(user.id)) > 0
    const mustStillAddFactor = secondFactorRequired && !totpCreatedAt && !hasPasskey
    return [
      ...(user.passwordHash === undefined ? [await withoutPassword(user, hasPasskey)] : []),
      ...(mustStillAddFactor ? [mustAddFactor(canMailTo(user))] : []),
    ]
  }

  const wrongCodeObstacles = async ({ id }: User): Promise<Obstacle[]> => {
    const secondsLeft = await codeWaits.secondsLeft(id)
    if (secondsLeft === 0) return []
    const until = later(clock.now(), secondsLeft * seconds)
    const message = `Too many wrong codes: no code of the app works until ${until.toISOString()}. A recovery code does.`
    return [{ code: 'wrong_codes', limit: 'codes', message, subject: `user:${id}`, until, solvedBy: 'clear-limits' }]
  }

  /** The events of a user, newest first. They include requests that a limit refused to IP addresses from which the account was used. */
  const eventsOf = ({ id, username }: User) => {
    const span = { since: later(clock.now(), -90 * days), until: later(clock.now(), 1 * days), limit: maxEvents }
    return events.about({ userId: id, name: username }, span)
  }

  return {
    eventsOf,
    /** `recentEvents`: the events of the user. They also tell from which networks the account was used. */
    of: async (user: User, recentEvents: readonly StoredEvent[]): Promise<Obstacle[]> => {
      const limitsOrReason = await reachedLimits(
        limits,
        user,
        recentEvents.filter(({ actorId, actorKey }) => (actorId ?? actorKey) === null).map(({ ip }) => ip),
      )
      const limitObstacles: Obstacle[] =
        typeof limitsOrReason === 'string'
          ? [{ code: 'limits_unknown', message: whyUnknown[limitsOrReason] }]
          : limitsOrReason.map(limitObstacle)
      const otherObstacles = await Promise.all(otherFinders.map((find) => find(user, recentEvents)))
      return [
        ...(await accountObstacles(user, recentEvents)),
        ...otherObstacles.flat(),
        ...(await wrongCodeObstacles(user)),
        ...limitObstacles,
      ]
    },
  }
}
