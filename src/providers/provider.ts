import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import { readEmail } from '../users/names.js'

/** The profile of a user at the provider. The provider has verified the email, or an operator trusts its emails (`TRUST_EMAIL`). */
export type Profile = {
  subject: string
  email: string
  username: string
  name: string | null
  /**
   * When the user last proved to the provider who they are. It may be long ago, because a provider with its own session may not have asked
   * again.
   */
  provenAt?: Date | undefined
}

/**
 * The values of an attempt. The answer must repeat `state` and `nonce`. `verifier` shows the provider that the same program finishes the
 * attempt (PKCE).
 */
type AttemptValues = { state: string; verifier: string; nonce: string }

/** `cause` is a fixed word for the log and the event. It never contains text from the provider. */
export type ProviderRefusal = Refused<'failed' | 'cancelled' | 'no_email'> & { cause: string }

/** The functions that each kind of provider has. */
export type Provider = {
  id: ProviderId
  name: string
  /**
   * Returns the URL to send the browser to. `asksAgain`: the provider is asked that its user proves again who they are. One that cannot be
   * asked leaves it out, and the session does not become fresh by it.
   */
  begin(attempt: AttemptValues, options?: { asksAgain: boolean }): Promise<URL | ProviderRefusal>
  /** Reads the profile, given the URL that the browser came back to. */
  finish(callback: URL, attempt: AttemptValues): Promise<Profile | ProviderRefusal>
}

export type ClientSettings = { name: string; clientId: string; clientSecret: string; redirectUri: string }

export const providerRefusal = (refused: ProviderRefusal['refused'], cause: string): ProviderRefusal =>
  refuse(refused, { cause })

/** Undefined if the email is not valid. */
export const usableEmail = (email: unknown): string | undefined =>
  typeof email === 'string' && !isRefused(readEmail(email)) ? email : undefined
