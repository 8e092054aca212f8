import type { Attempt } from '../../domain/providers/attempt.js'
import type { ProviderId } from '../../domain/users/users.js'
import type { Ending } from './social-sign-in.js'

type Refusal = (Ending & { ended: 'refused' })['reason']

/**
 * What the address of the page may say about a refusal. To somebody who signs in only that the provider gave no email, or
 * that registration is closed, which is a public setting: more would tell a stranger about the account.
 */
const toldAtSignIn: Record<Refusal, boolean> = {
  failed: false,
  cancelled: false,
  no_email: true,
  used_before: false,
  signed_out: false,
  disabled: false,
  other_identity: false,
  identity_taken: false,
  email_taken: false,
  registration_closed: true,
}

/** Somebody who links from their own account page may know why it was refused. */
const toldWhileLinking: Record<Refusal, boolean> = {
  ...toldAtSignIn,
  signed_out: true,
  other_identity: true,
  identity_taken: true,
  email_taken: true,
}

export const failedAt = (page: '/login' | '/dashboard', provider: ProviderId, reason?: string) =>
  `${page}?error=${provider}_auth_failed${reason === undefined ? '' : `&reason=${reason}`}`

/** The page on which a journey ends. */
export const landingOf = (ending: Ending, { provider, purpose, returnTo }: Attempt): string => {
  const linking = purpose.kind === 'link'
  const page = linking ? '/dashboard' : '/login'
  if (ending.ended === 'signed_in') return returnTo
  if (ending.ended === 'linked') return `/dashboard?linked=${provider}`
  if (ending.ended === 'broken') return `${page}?error=callback_failed`
  const told = linking ? toldWhileLinking : toldAtSignIn
  return failedAt(page, provider, told[ending.reason] ? ending.reason : undefined)
}
