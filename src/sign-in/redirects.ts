import { isRefused } from '../contract/outcome.js'
import {
  callbackFailed,
  linkingParameter,
  type PublicReason,
  providerParameter,
  publicReasons,
  signInFailed,
} from '../contract/pages.js'
import { type ProviderId, providerPath } from '../contract/providers.js'

import type { Attempt } from '../providers/attempts.js'
import type { Outcome, SocialRefusal } from './social-sign-in.js'

const publicReasonOf = (refused: SocialRefusal): PublicReason | undefined =>
  publicReasons.find((reason) => reason === refused)

export const failureUrl = (page: string, provider: ProviderId, reason?: PublicReason) =>
  `${page}?error=${signInFailed(provider)}${reason === undefined ? '' : `&reason=${reason}`}`

/** The sign-in page with the button of this provider in focus. */
export const loginWithProvider = (provider: ProviderId, returnTo: string | undefined) => {
  const query = new URLSearchParams({ [providerParameter]: providerPath(provider) })
  if (returnTo !== undefined) query.set('returnTo', returnTo)
  return `/login?${query}`
}

const secondFactorPage = (returnTo: string) => `/second-factor?returnTo=${encodeURIComponent(returnTo)}`

/** The page at the end of a sign-in. */
export const redirectFor = (outcome: Outcome, { provider, purpose, returnTo }: Attempt): string => {
  const isLinking = purpose.kind === 'link'
  const page = isLinking ? returnTo : '/login'
  if (isRefused(outcome))
    return outcome.refused === 'callback_failed'
      ? `${page}?error=${callbackFailed}`
      : failureUrl(page, provider, publicReasonOf(outcome.refused))
  if ('issued' in outcome) return returnTo
  if ('challenge' in outcome) return secondFactorPage(returnTo)
  // The page finishes the link with a request of its own, which carries the session cookie.
  return `${page}?${linkingParameter}=${provider}`
}
