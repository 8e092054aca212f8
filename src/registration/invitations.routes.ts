import { Type } from 'typebox'
import type { AccountChanges } from '../account-changes/account-changes.js'
import { InvitationState, JoinedGroups } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { type Groups, joinedByInvitation } from '../groups/groups.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Events } from '../messages/events.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards, Limits } from '../sessions/guards.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { SessionCaller } from '../sessions/sessions.js'
import type { UserChanges, Users } from '../users/users.js'
import { type FoundInvitation, type Invitations, isForAccount } from './invitations.js'

const checkRefusals = routeRefusals(
  'bad_request',
  'invalid_invitation',
  'cross_site',
  'too_many_requests',
  'unavailable',
)
const acceptRefusals = routeRefusals(...guardRefusals, 'bad_request', 'invalid_invitation', 'too_many_groups')

const body = Type.Object({ token: Type.String({ maxLength: 1024 }) })

const checkSchema = {
  tags: ['registration'],
  summary: 'Whom an invitation is for, who invites, and what its user does next; changes nothing',
  body,
  response: { 200: InvitationState, ...checkRefusals.responses },
}
const acceptSchema = {
  tags: ['account'],
  summary: 'Join the groups of an invitation for the address of this account',
  description:
    'The access tokens of the account are refused afterwards, and the next refresh gets tokens with the new groups.',
  body,
  response: { 200: JoinedGroups, ...acceptRefusals.responses },
}

type InviteRouteDependencies = {
  acceptInvitation: ReturnType<typeof createAcceptInvitation>
  callers: Callers
  guards: Guards
  limits: Limits
}

export const inviteRoutes = (
  server: Server,
  { acceptInvitation, callers, guards, limits }: InviteRouteDependencies,
) => {
  const checkOptions = { schema: checkSchema, onRequest: limits.byNetwork }
  server.post('/api/auth/invite/check', checkOptions, async (request, reply) =>
    checkRefusals.answer(reply, await acceptInvitation.describe(request.body.token, callers.find(request))),
  )

  server.post('/api/auth/invite/accept', { schema: acceptSchema, onRequest: guards.change }, async (request, reply) => {
    const accepted = await acceptInvitation.accept(callers.contextOf(request), request.body.token)
    if (isRefused(accepted)) return acceptRefusals.sendRefusal(reply, accepted)
    return { groups: accepted.result }
  })
}

type AcceptInvitationDependencies = {
  accountChanges: AccountChanges
  events: Events
  groups: Groups
  invitations: Invitations
  sessionLookups: SessionLookups
  userChanges: UserChanges
  users: Users
}

/** An invitation for the person who opens its link: for a new account, or for an account that can join groups. */
export const createAcceptInvitation = (deps: AcceptInvitationDependencies) => {
  const { accountChanges, events, groups, invitations, sessionLookups, userChanges, users } = deps

  const nextFor = async (
    invitation: FoundInvitation,
    caller: SessionCaller | undefined,
  ): Promise<InvitationState['next']> => {
    const user = caller && (await sessionLookups.isLive(caller)) ? await users.findEnabled(caller.userId) : undefined
    const hasGroups = invitation.groups.length > 0
    if (user && isForAccount(invitation, user)) return hasGroups ? 'join' : 'nothing'
    // Anyone may have got another link. The reader of the mail may know that its address has an account: a registration says it, too.
    const mayKnowOfAccount = invitation.provesAddress && hasGroups
    return mayKnowOfAccount && (await users.findByEmail(invitation.email)) ? 'sign_in' : 'register'
  }

  return {
    /** What the page of the link shows. Changes nothing. */
    describe: async (token: string, caller: SessionCaller | undefined) => {
      const invitation = await invitations.find(token)
      if (!invitation) return refuse('invalid_invitation')
      const { email, provesAddress, isPrinted: printed, invitedBy, returnTo } = invitation
      const next = await nextFor(invitation, caller)
      return { email, provesAddress, printed, groups: [...invitation.groups], invitedBy, returnTo, next }
    },

    /** The signed-in user of the invited address joins its groups. */
    accept: (context: CallerContext, token: string) =>
      accountChanges.byCaller(context, 'group_joined', async (sql, user) => {
        const taken = await invitations.takeFor(sql, user, token)
        if (isRefused(taken)) return taken
        const change = await groups.change(sql, user, { add: taken.groups })
        if (isRefused(change)) return change.refused === 'no_group' ? refuse('invalid_invitation') : change
        // The link of the mail may be what has proven the address.
        await userChanges.proveEmail(sql, user.id)
        const { userId, sessionId } = context.caller
        await events.recordInside(sql, { kind: 'invitation_used', userId, sessionId }, context.client)
        const reason = joinedByInvitation(change.joined, taken.madeBy)
        return {
          result: taken.groups,
          changes: change.joined.length > 0 ? { group_joined: { event: { reason } } } : {},
        }
      }),
  }
}
