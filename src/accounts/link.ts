import { isRefused, refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import type { Client } from '../http/request-origin.js'
import { fingerprint } from '../lib/random.js'
import type { Events } from '../messages/events.js'
import type { OneTimeTokens } from '../messages/one-time-tokens.js'
import type { Attempts, PendingLink } from '../providers/attempts.js'
import type { Identities, ResolvingRefusal } from '../providers/identities.js'
import type { Providers } from '../providers/providers.js'

import type { SessionLookups } from '../sessions/session-lookups.js'
import type { SessionCaller } from '../sessions/sessions.js'
import type { Users } from '../users/users.js'

type Dependencies = {
  providers: Providers
  attempts: Attempts
  users: Users
  sessionLookups: Pick<SessionLookups, 'isLive'>
  identities: Identities
  oneTimeTokens: OneTimeTokens
  events: Events
}
type BeginRequest = { provider: ProviderId | undefined; caller: SessionCaller; returnTo: string }
type WaitingRequest = { provider: ProviderId | undefined; caller: SessionCaller; link: PendingLink | undefined }
type FinishRequest = { link: PendingLink; caller: SessionCaller; client: Client }

/** Links an account at a provider to the caller's account. Only the session that began the link can finish it. */
export const createLink = (deps: Dependencies) => {
  const { providers, attempts, users, sessionLookups, identities, oneTimeTokens, events } = deps

  /** Returns the attempt, which the browser keeps, and the address to which the browser goes. */
  const begin = async ({ provider: id, caller, returnTo }: BeginRequest) => {
    const provider = id && providers[id]
    if (!provider) return refuse('not_found')
    // An access token is valid for some minutes after its session has ended. Only a valid session may add a way to sign in.
    if (!(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
    const { userId, sessionId } = caller
    const user = await users.findEnabled(userId)
    if (!user) return refuse('not_authenticated')
    if (user.providers.includes(provider.id)) return refuse('already_linked')
    const attempt = attempts.begin(provider.id, returnTo, { kind: 'link', userId, sessionId })
    const location = await provider.begin(attempt)
    return isRefused(location) ? refuse('provider_unavailable') : { attempt, location }
  }

  /** The pending link of this browser, if the caller may finish it. */
  const findWaiting = async ({ provider, caller, link }: WaitingRequest) => {
    if (!(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
    return link && link.provider === provider ? link : refuse('nothing_to_link')
  }

  const noteFailure = ({ link, client }: FinishRequest, reason: string) =>
    events.record({ kind: 'sign_in_failed', provider: link.provider, triedBy: link.provider, reason }, client)

  const refuseLink = async (request: FinishRequest, reason: ResolvingRefusal | 'used_before') => {
    await noteFailure(request, reason)
    return reason === 'invitation_required' || reason === 'email_domain_not_allowed'
      ? refuse('link_registration_closed')
      : refuse(`link_${reason}`)
  }

  const finish = async (request: FinishRequest) => {
    const { link, caller, client } = request
    const { provider, profile, state, linker, expiresAt } = link
    // A cookie that an attacker planted names the attacker's session.
    if (linker.sessionId !== caller.sessionId || linker.userId !== caller.userId) {
      await noteFailure(request, 'signed_out')
      return refuse('link_of_another_session')
    }
    const isFirst = await oneTimeTokens.useOnce('provider_attempt', fingerprint(`link ${state}`), expiresAt)
    if (!isFirst) return refuseLink(request, 'used_before')
    const resolved = await identities.resolve({ provider, profile, linkingTo: { caller, client }, client })
    if (!isRefused(resolved)) return undefined
    return resolved.refused === 'too_many_requests' ? resolved : refuseLink(request, resolved.refused)
  }

  return { begin, findWaiting, finish }
}
