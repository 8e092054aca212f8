import type { ProviderId } from '../../contract/providers.js'
import type { Attempt } from '../../domain/providers/attempt.js'
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
  disabled: false,
  other_identity: false,
  identity_taken: false,
  email_taken: false,
  registration_closed: true,
}

export const failedAt = (page: string, provider: ProviderId, reason?: string) =>
  `${page}?error=${provider}_auth_failed${reason === undefined ? '' : `&reason=${reason}`}`

/** The page on which a journey ends. */
export const redirectFor = (ending: Ending, { provider, purpose, returnTo }: Attempt): string => {
  const linking = purpose.kind === 'link'
  const page = linking ? returnTo : '/login'
  if (ending.ended === 'signed_in') return returnTo
  // The page finishes the link by a request that carries the session.
  if (ending.ended === 'proven') return `${page}?linking=${provider}`
  if (ending.ended === 'broken') return `${page}?error=callback_failed`
  return failedAt(page, provider, toldAtSignIn[ending.reason] ? ending.reason : undefined)
}
