import type { Language } from '../../contract/languages.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { OneTimeTokens } from '../../domain/one-time-tokens/one-time-tokens.js'
import type { Attempt } from '../../domain/providers/attempt.js'
import type { Identities, Resolved } from '../../domain/providers/identities.js'
import type { LinkingRefusal } from '../../domain/providers/linking.js'
import type { Linker } from '../../domain/providers/pending-link.js'
import type { Profile, Provider, ProviderRefusal } from '../../domain/providers/provider.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Issued, Sessions } from '../../domain/sessions/sessions.js'
import { fingerprint } from '../../lib/random.js'

export type SocialRefusal = ProviderRefusal['refused'] | LinkingRefusal | 'used_before'

/** Either signed in, or proven: then the session that began the link has to finish it. */
type Finished = { issued: Issued } | { profile: Profile; linker: Linker }

export type Outcome = Finished | Refused<SocialRefusal> | (Refused<'callback_failed'> & { error: unknown })

type Visit = { provider: Provider; callback: URL; attempt: Attempt; client: Client; language: Language }

type Dependencies = { identities: Identities; sessions: Sessions; oneTimeTokens: OneTimeTokens; events: Events }

/**
 * The second half of a journey to a provider: the browser is back with an answer. Whatever fails at the provider is a
 * refusal; whatever fails on our side is `callback_failed`. No exception leaves, so that the browser always arrives somewhere.
 */
export const createSocialSignIn = ({ identities, sessions, oneTimeTokens, events }: Dependencies) => {
  const failed = async (
    { provider, client }: Pick<Visit, 'provider' | 'client'>,
    refused: SocialRefusal,
    cause: string = refused,
  ) => {
    await events.record({ kind: 'sign_in_failed', reason: `${provider.id} ${cause}` }, client)
    return refuse(refused)
  }

  const signIn = async ({ provider, client }: Visit, { user, how }: Resolved) => {
    const issued = await sessions.start(user, client)
    const { sessionId } = issued
    const about = { userId: user.id, sessionId, reason: provider.id }
    if (how === 'create') await events.record({ kind: 'registered', ...about }, client)
    if (how === 'link') await events.record({ kind: 'provider_linked', ...about }, client)
    await events.record({ kind: 'signed_in', ...about }, client)
    return { issued }
  }

  const finish = async (visit: Visit) => {
    const { provider, callback, attempt, language } = visit
    // Marked before the code is exchanged: of many answers to one attempt one goes on.
    const isFirst = await oneTimeTokens.useOnce(fingerprint(attempt.state), attempt.expiresAt)
    if (!isFirst) return failed(visit, 'used_before')
    const profile = await provider.finish(callback, attempt)
    if (isRefused(profile)) return failed(visit, profile.refused, profile.cause)
    if (attempt.purpose.kind === 'link') {
      const { userId, sessionId } = attempt.purpose
      // Strict cookies do not come along from the provider, so nothing here proves whose browser this is.
      return { profile, linker: { userId, sessionId } }
    }
    const resolved = await identities.resolve({ provider: provider.id, profile, language })
    return isRefused(resolved) ? failed(visit, resolved.refused) : signIn(visit, resolved)
  }

  return {
    finish: (visit: Visit): Promise<Outcome> =>
      finish(visit).catch((error: unknown) => refuse('callback_failed', { error })),
    /** An answer that belongs to no attempt of this browser, or a provider that could not be asked. */
    noteFailure: (provider: Provider['id'], cause: string, client: Client) =>
      events.record({ kind: 'sign_in_failed', reason: `${provider} ${cause}` }, client),
  }
}

export type SocialSignIn = ReturnType<typeof createSocialSignIn>
