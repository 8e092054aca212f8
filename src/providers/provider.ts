import * as oidc from 'openid-client'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import { codeOf } from '../lib/caught.js'
import { OutboundFailed } from '../platform/outbound/outbound.js'
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

/**
 * Turns a failure at a provider into a refusal. Library errors contain whole responses as their cause, so only their codes are kept. Of the
 * provider's own text, only the error codes of the standards are kept.
 */
export const refusalFrom = (error: unknown): ProviderRefusal => {
  if (error instanceof oidc.AuthorizationResponseError)
    return error.error === 'access_denied'
      ? providerRefusal('cancelled', 'access_denied')
      : providerRefusal('failed', 'denied')
  if (error instanceof oidc.ResponseBodyError)
    return providerRefusal('failed', standardErrors.has(error.error) ? error.error : 'error_body')
  const outboundFailure = outboundFailureIn(error)
  if (outboundFailure) return providerRefusal('failed', outboundFailure.code)
  return providerRefusal('failed', libraryCode(error) ?? 'unexpected_answer')
}

const standardErrors = new Set(['invalid_client', 'invalid_grant', 'invalid_request', 'unauthorized_client'])

const outboundFailureIn = (error: unknown): OutboundFailed | undefined => {
  for (let current = error, depth = 0; depth < 4; depth += 1) {
    if (current instanceof OutboundFailed) return current
    if (!(current instanceof Error)) return undefined
    current = current.cause
  }
  return undefined
}

const libraryCode = (error: unknown) => {
  const code = codeOf(error)
  return typeof code === 'string' && /^OAUTH_[A-Z_]+$/.test(code)
    ? code.slice('OAUTH_'.length).toLowerCase()
    : undefined
}
