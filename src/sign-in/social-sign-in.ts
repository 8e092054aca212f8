import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import { fingerprint } from '../lib/random.js'
import type { Events } from '../messages/events.js'
import type { OneTimeTokens } from '../messages/one-time-tokens.js'
import type { Attempt, Linker } from '../providers/attempts.js'
import type { Identities, ProvenIdentity, ResolvedAccount, ResolvingRefusal } from '../providers/identities.js'
import type { Profile, Provider, ProviderRefusal } from '../providers/providers.js'

import type { SignInOutcome, SignIns, Visit } from './sign-ins.js'

export type SocialRefusal = ProviderRefusal['refused'] | ResolvingRefusal | 'too_many_requests' | 'used_before'

/**
 * Either signed in, or a second proof is needed, or an identity was proven: then the session that began the link has to
 * finish it.
 */
type Finished = SignInOutcome | { profile: Profile; linker: Linker }

export type Outcome = Finished | Refused<SocialRefusal> | (Refused<'callback_failed'> & { error: unknown })

type CallbackVisit = Visit & { provider: Provider; callback: URL; attempt: Attempt } & Pick<
    Required<ProvenIdentity>,
    'mayCreate'
  >

type Dependencies = {
  identities: Identities
  signIns: SignIns
  oneTimeTokens: OneTimeTokens
  events: Events
}

/**
 * The second half of a sign-in at a provider: the browser is back with an answer. A failure at the provider is a refusal, a
 * failure on our side is `callback_failed`. No exception is thrown, so that the browser always gets a page.
 */
export const createSocialSignIn = ({ identities, signIns, oneTimeTokens, events }: Dependencies) => {
  const recordFailure = async (
    { provider, client }: Pick<CallbackVisit, 'provider' | 'client'>,
    refused: SocialRefusal,
    cause: string = refused,
  ) => {
    await events.record({ kind: 'sign_in_failed', provider: provider.id, triedBy: provider.id, reason: cause }, client)
    return refuse(refused)
  }

  const signIn = async (visit: CallbackVisit, { subject, provenAt }: Profile, resolved: ResolvedAccount) => {
    const { provider, client } = visit
    const { user, how, waitingLink, usedInvitation } = resolved
    if (usedInvitation) await events.record({ kind: 'invitation_used', userId: user.id, provider: provider.id }, client)
    const identity = { provider: provider.id, subject }
    const isLinkWaiting = waitingLink !== undefined
    return signIns.byProvider(user, { identity, provenAt, isNew: how === 'create', isLinkWaiting }, visit)
  }

  const finish = async (visit: CallbackVisit) => {
    const { provider, callback, attempt, client, mayCreate } = visit
    // The attempt is marked as used before the code is exchanged, so that only one of several answers to it continues.
    const isFirst = await oneTimeTokens.useOnce('provider_attempt', fingerprint(attempt.state), attempt.expiresAt)
    if (!isFirst) return recordFailure(visit, 'used_before')
    const profile = await provider.finish(callback, attempt)
    if (isRefused(profile)) return recordFailure(visit, profile.refused, profile.cause)
    if (attempt.purpose.kind === 'link') {
      const { userId, sessionId } = attempt.purpose
      // The browser sends no Strict cookies from the provider's site, so the session is not known here.
      return { profile, linker: { userId, sessionId } }
    }
    const resolved = await identities.resolve({
      provider: provider.id,
      profile,
      client,
      mustWait: signIns.needsSecondStep,
      mayCreate,
    })
    return isRefused(resolved) ? recordFailure(visit, resolved.refused) : signIn(visit, profile, resolved)
  }

  return {
    finish: (visit: CallbackVisit): Promise<Outcome> =>
      finish(visit).catch((error: unknown) => refuse('callback_failed', { error })),
    /** Records an answer without an attempt of this browser, or a provider that could not be reached. */
    noteFailure: (provider: Provider['id'], cause: string, client: Client) =>
      events.record({ kind: 'sign_in_failed', provider, triedBy: provider, reason: cause }, client),
  }
}

export type SocialSignIn = ReturnType<typeof createSocialSignIn>
