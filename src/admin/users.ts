import type { OperatorContext } from '../account-changes/account-changes.js'
import type { Undos } from '../account-changes/undos.js'
import { needsNewPassword, type OperatorChanges } from '../accounts/operator-changes.js'
import { usedApplicationBody } from '../accounts/user-bodies.js'
import type { UsedApplications } from '../applications/used-applications.js'
import type { AdminRole, AdminUserDetails, AdminUsers, UserAction } from '../contract/admin/admin-bodies.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { builtInFieldNames } from '../contract/schemas.js'
import type { Passkeys } from '../factors/passkeys.js'
import type { Factors } from '../factors/second-factors.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import { registrationLifetime } from '../http/cookie-table.js'
import type { Client } from '../http/request-origin.js'
import { later } from '../lib/clock.js'
import type { Invitations } from '../registration/invitations.js'
import type { createWaitingRegistrations } from '../registration/pending-registrations.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { ResetLinks } from '../sign-in/reset-links.js'
import { builtInValues } from '../users/built-in-fields.js'
import { readEmail } from '../users/names.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { UserSearch } from '../users/search.js'
import type { User, UserChanges, Users } from '../users/users.js'
import { eventBodyFor, obstacleBody, sessionBody, undoBody, userBody } from './bodies.js'
import type { Obstacles } from './obstacles.js'
import type { ClearLimits } from './reached-limits.js'

const maxShownEvents = 50

type FactorParts = {
  factors: Factors
  passkeys: Passkeys
  trustedDevices: TrustedDevices
}

/** The ways in which the account signs in. No secret of them is shown. */
const describeFactors = async (
  { factors, passkeys, trustedDevices }: FactorParts,
  { id, passwordHash, providers }: User,
) => {
  const { totpCreatedAt, recoveryCodesLeft } = await factors.describe(id)
  return {
    hasPassword: passwordHash !== undefined,
    providers,
    totp: totpCreatedAt ? { createdAt: totpCreatedAt.toISOString() } : null,
    recoveryCodesLeft,
    passkeys: await passkeys.countUsable(id),
    trustedDevices: (await trustedDevices.list(id)).length,
  }
}

type ActivityParts = {
  obstacles: Obstacles
  sessionLookups: SessionLookups
  usedApplications: UsedApplications
  undos: Undos
}

/** The open undo links, sessions, applications and recent events of a user, and why they cannot sign in. */
export const createActivity =
  ({ obstacles, sessionLookups, usedApplications, undos }: ActivityParts) =>
  async (user: User, role: AdminRole) => {
    const events = await obstacles.eventsOf(user)
    return {
      undos: (await undos.openOf(user.id)).map(undoBody),
      why: (await obstacles.of(user, events)).map(obstacleBody),
      sessions: (await sessionLookups.list(user.id)).map(sessionBody),
      applications: (await usedApplications.listOfUser(user.id)).map(usedApplicationBody),
      events: events.slice(0, maxShownEvents).map(eventBodyFor(role)),
    }
  }

type DetailsDependencies = FactorParts & {
  users: Users
  userChanges: UserChanges
  userSearch: UserSearch
  profileFields: ProfileFields
  undos: Undos
  resetLinks: ResetLinks
  activity: ReturnType<typeof createActivity>
}

/** Everything about one user that administrators see. */
export const createUserDetails =
  (deps: DetailsDependencies) =>
  async (id: string, caller: { userId: string; role: AdminRole }): Promise<AdminUserDetails | undefined> => {
    const foundUser = await deps.userSearch.find(id)
    const user = foundUser && (await deps.users.findById(id))
    if (!user) return undefined
    const formerEmails = await deps.userChanges.emailHistoryOf(id)
    const formerOwner = user.passwordDistrusted ? await deps.undos.formerOwnerOf(user) : undefined
    return {
      ...userBody(foundUser),
      ...builtInValues(user, builtInFieldNames),
      fields: deps.profileFields.knownValues(user.fields),
      fieldDefinitions: [...deps.profileFields.definitions],
      self: id === caller.userId,
      emailProven: user.emailProven,
      formerEmails: formerEmails.map(({ email, replacedAt }) => ({ email, replacedAt: replacedAt.toISOString() })),
      enablingSendsReset: needsNewPassword(user) && formerOwner === undefined && deps.resetLinks.canMailTo(user),
      enablingNeedsLink: needsNewPassword(user) && formerOwner === undefined && !deps.resetLinks.canMailTo(user),
      formerOwner: formerOwner ?? null,
      ...(await describeFactors(deps, user)),
      ...(await deps.activity(user, caller.role)),
    }
  }

type ActionDependencies = {
  operatorChanges: OperatorChanges
  resetLinks: ResetLinks
  clearLimits: ClearLimits
  users: Users
}

/** `retryAfter` is in seconds. */
type ActionRefusal =
  | Refused<'no_user'>
  | Refused<'account_disabled'>
  | Refused<'mail_is_off'>
  | Refused<'address_not_proven'>
  | Refused<'locked_down'>
  | (Refused<'too_many_mails'> & { retryAfter: number })
type Action = (context: OperatorContext) => Promise<ActionRefusal | object>

/** Changes that an administrator makes to the account of another user. Operators have the same changes as commands. */
export const createUserActions = ({ operatorChanges, resetLinks, clearLimits, users }: ActionDependencies) => {
  const actions: Record<UserAction, Action> = {
    disable: operatorChanges.disable,
    enable: (context) => operatorChanges.enable(context),
    'end-sessions': operatorChanges.endSessions,
    'reset-factors': operatorChanges.resetFactors,
    'send-reset': resetLinks.sendByOperator,
    'lock-down': operatorChanges.lockDown,
    'clear-limits': clearLimits,
  }

  return {
    act: async (action: UserAction, userId: string, client: Client) => {
      const outcome = await actions[action]({ userId, client })
      if (!isRefused(outcome)) return undefined
      return outcome.refused === 'no_user' ? refuse('not_found') : outcome
    },

    /** The administrator types `username`, so that a wrong id is noticed. */
    remove: async (userId: string, username: string, client: Client) => {
      const user = await users.findById(userId)
      if (!user) return refuse('not_found')
      if (user.username !== username)
        return refuse('other_username', { message: 'This is not the username of the account. Nothing was deleted.' })
      const removed = await operatorChanges.remove({ userId, client })
      return isRefused(removed) ? refuse('not_found') : undefined
    },
  }
}

type Dependencies = {
  invitations: Invitations
  waitingRegistrations: Pick<ReturnType<typeof createWaitingRegistrations>, 'findByEmails'>
}

/** Describes an email address that no user has: a person who calls a helpdesk may only think that they have an account. */
export const createFindWithoutAccount =
  ({ invitations, waitingRegistrations }: Dependencies) =>
  async (search: string): Promise<AdminUsers['withoutAccount']> => {
    const email = readEmail(search.trim())
    if (isRefused(email)) return null
    const invitation = (await invitations.findByEmails([email.email])).at(-1)
    const registrations = await waitingRegistrations.findByEmails([email.email])
    const registration = registrations.filter(({ confirmedAt }) => confirmedAt === null).at(-1)
    if (!invitation && !registration) return null
    return {
      email: email.email,
      invitedAt: invitation?.createdAt.toISOString() ?? null,
      registeredAt: registration ? later(registration.expiresAt, -registrationLifetime).toISOString() : null,
    }
  }
