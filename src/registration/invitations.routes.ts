import { Type } from 'typebox'
import { InvitationState, JoinedGroups } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { joinedByInvitation } from '../groups/groups.js'
import { route, type Server } from '../http/route.js'
import type { App } from '../service/open-http.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionCaller } from '../sessions/sessions.js'
import { type FoundInvitation, isForAccount } from './invitations.js'

/** What the user of the link does next: an invitation is for a new account, or for an account that can join groups. */
const nextFor = async (
  { sessionLookups, users }: App,
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

/** The signed-in user of the invited address joins its groups. */
const acceptInvitation = (
  { accountChanges, events, groups, invitations, userChanges }: App,
  context: CallerContext,
  token: string,
) =>
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
    return { result: taken.groups, changes: change.joined.length > 0 ? { group_joined: { event: { reason } } } : {} }
  })

export const inviteRoutes = (server: Server, app: App) => {
  const { callers, guards, limits, invitations } = app
  const body = Type.Object({ token: Type.String({ maxLength: 1024 }) })

  route(server, 'POST /api/auth/invite/check', {
    guard: [limits.byNetwork],
    tag: 'registration',
    summary: 'Whom an invitation is for, who invites, and what its user does next; changes nothing',
    body,
    refuses: ['bad_request', 'invalid_invitation', 'cross_site'],
    answers: { 200: InvitationState },
    handle: async ({ body: { token }, request }) => {
      const invitation = await invitations.find(token)
      if (!invitation) return refuse('invalid_invitation')
      const { email, provesAddress, isPrinted: printed, invitedBy, returnTo } = invitation
      const next = await nextFor(app, invitation, callers.find(request))
      return { email, provesAddress, printed, groups: [...invitation.groups], invitedBy, returnTo, next }
    },
  })

  route(server, 'POST /api/auth/invite/accept', {
    guard: guards.change,
    tag: 'account',
    summary: 'Join the groups of an invitation for the address of this account',
    description:
      'The access tokens of the account are refused afterwards, and the next refresh gets tokens with the new groups.',
    body,
    refuses: ['bad_request', 'invalid_invitation', 'too_many_groups'],
    answers: { 200: JoinedGroups },
    handle: async ({ body: { token }, request }) => {
      const accepted = await acceptInvitation(app, callers.contextOf(request), token)
      return isRefused(accepted) ? accepted : { groups: [...accepted.result] }
    },
  })
}
