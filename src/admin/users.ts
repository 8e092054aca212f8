import type { OperatorContext } from '../account-changes/account-changes.js'
import { needsNewPassword } from '../accounts/operator-changes.js'
import { usedApplicationBody } from '../accounts/user-bodies.js'
import type { AdminRole, AdminUserDetails, AdminUsers, UserAction } from '../contract/admin/admin-bodies.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { builtInFieldNames } from '../contract/schemas.js'
import { registrationLifetime } from '../http/cookie-table.js'
import type { RequestOrigin } from '../http/request-origin.js'
import { later } from '../lib/clock.js'
import { personalTokenBody } from '../personal-tokens/personal-token-body.js'
import { sessionBody } from '../sessions/session-lookups.js'
import { builtInValues } from '../users/built-in-fields.js'
import { readEmail } from '../users/names.js'
import type { UserSearch } from '../users/search.js'
import type { User } from '../users/users.js'
import { eventBody, obstacleBody, undoBody, userBody } from './bodies.js'
import type { AdminServices } from './open-admin.js'

const maxShownEvents = 50

/** The ways in which the account signs in. No secret of them is shown. */
const describeFactors = async (
  { factors, passkeys, trustedDevices }: AdminServices,
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

/** The open undo links, sessions, applications and recent events of a user, and why they cannot sign in. */
const activityOf = async (
  { obstacles, sessionLookups, usedApplications, personalTokens, undos }: AdminServices,
  user: User,
  role: AdminRole,
) => {
  const events = await obstacles.eventsOf(user)
  return {
    undos: (await undos.openOf(user.id)).map(undoBody),
    why: (await obstacles.of(user, events)).map(obstacleBody),
    sessions: (await sessionLookups.list(user.id)).map(sessionBody),
    tokens: (await personalTokens.list(user.id)).map(personalTokenBody),
    applications: (await usedApplications.listOfUser(user.id)).map(usedApplicationBody),
    events: events.slice(0, maxShownEvents).map((event) => eventBody(event, role)),
  }
}

/** Everything about one user that administrators see. */
export const detailsOf = async (
  services: AdminServices,
  userSearch: UserSearch,
  id: string,
  caller: { userId: string; role: AdminRole },
): Promise<AdminUserDetails | undefined> => {
  const foundUser = await userSearch.find(id)
  const user = foundUser && (await services.users.findById(id))
  if (!user) return undefined
  const formerEmails = await services.userChanges.emailHistoryOf(id)
  const formerOwner = user.passwordDistrusted ? await services.undos.formerOwnerOf(user) : undefined
  return {
    ...userBody(foundUser),
    ...builtInValues(user, builtInFieldNames),
    fields: services.profileFields.knownValues(user.fields),
    fieldDefinitions: [...services.profileFields.definitions],
    self: id === caller.userId,
    emailProven: user.emailProven,
    formerEmails: formerEmails.map(({ email, replacedAt }) => ({ email, replacedAt: replacedAt.toISOString() })),
    enablingSendsReset: needsNewPassword(user) && formerOwner === undefined && services.resetLinks.canMailTo(user),
    enablingNeedsLink: needsNewPassword(user) && formerOwner === undefined && !services.resetLinks.canMailTo(user),
    formerOwner: formerOwner ?? null,
    ...(await describeFactors(services, user)),
    ...(await activityOf(services, user, caller.role)),
  }
}

/** `retryAfter` is in seconds. */
type ActionRefusal =
  | Refused<'no_user'>
  | Refused<'account_disabled'>
  | Refused<'mail_is_off'>
  | Refused<'address_not_proven'>
  | Refused<'locked_down'>
  | (Refused<'too_many_mails'> & { retryAfter: number })
type Action = (services: AdminServices, context: OperatorContext) => Promise<ActionRefusal | object>

/** The changes that administrators make to the account of another user. Operators have the same changes as commands. */
const actions: Record<UserAction, Action> = {
  disable: ({ operatorChanges }, context) => operatorChanges.disable(context),
  enable: ({ operatorChanges }, context) => operatorChanges.enable(context),
  'end-sessions': ({ operatorChanges }, context) => operatorChanges.endSessions(context),
  'reset-factors': ({ operatorChanges }, context) => operatorChanges.resetFactors(context),
  'send-reset': ({ resetLinks }, context) => resetLinks.sendByOperator(context),
  'lock-down': ({ operatorChanges }, context) => operatorChanges.lockDown(context),
  'clear-limits': ({ clearLimits }, context) => clearLimits(context),
}

export const act = async (services: AdminServices, action: UserAction, userId: string, client: RequestOrigin) => {
  const outcome = await actions[action](services, { userId, client })
  if (!isRefused(outcome)) return undefined
  return outcome.refused === 'no_user' ? refuse('not_found') : outcome
}

/** The administrator types `username`, so that a wrong id is noticed. */
export const removeUser = async (
  { users, operatorChanges }: AdminServices,
  userId: string,
  username: string,
  client: RequestOrigin,
) => {
  const user = await users.findById(userId)
  if (!user) return refuse('not_found')
  if (user.username !== username)
    return refuse('other_username', { message: 'This is not the username of the account. Nothing was deleted.' })
  const removed = await operatorChanges.remove({ userId, client })
  return isRefused(removed) ? refuse('not_found') : undefined
}

/** Describes an email address that no user has: a person who calls a helpdesk may only think that they have an account. */
export const findWithoutAccount = async (
  { invitations, registrations: waiting }: AdminServices,
  search: string,
): Promise<AdminUsers['withoutAccount']> => {
  const email = readEmail(search.trim())
  if (isRefused(email)) return null
  const invitation = (await invitations.findByEmails([email.email])).at(-1)
  const registrations = await waiting.findByEmails([email.email])
  const registration = registrations.filter(({ confirmedAt }) => confirmedAt === null).at(-1)
  if (!invitation && !registration) return null
  return {
    email: email.email,
    invitedAt: invitation?.createdAt.toISOString() ?? null,
    registeredAt: registration ? later(registration.expiresAt, -registrationLifetime).toISOString() : null,
  }
}
