import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { ProviderId } from '../../contract/providers.js'
import { readEmail } from '../users/email.js'

/** What the provider says of a person, once it is proven. The email is one that the provider has verified. */
export type Profile = { subject: string; email: string; username: string; name: string | null }

/** What one attempt must find again in the provider's answer. */
export type Checks = { state: string; verifier: string; nonce: string }

/** `cause` is a fixed word for the log and the event; nothing that a provider wrote ever becomes part of it. */
export type ProviderRefusal = Refused<'failed' | 'cancelled' | 'no_email'> & { cause: string }

/** A provider is one file that fulfils this, and one entry of the table in `providers.ts`. */
export type Provider = {
  id: ProviderId
  name: string
  /** The address to send the browser to. */
  begin(checks: Checks): Promise<URL | ProviderRefusal>
  /** Reads who the person is from the address that the browser came back to. */
  finish(callback: URL, checks: Checks): Promise<Profile | ProviderRefusal>
}

export type ClientSettings = { name: string; clientId: string; clientSecret: string; redirectUri: string }

export const refusal = (refused: ProviderRefusal['refused'], cause: string): ProviderRefusal =>
  refuse(refused, { cause })

/** An address that we could not write to is as good as none. */
export const usableEmail = (email: unknown): string | undefined =>
  typeof email === 'string' && !isRefused(readEmail(email)) ? email : undefined
