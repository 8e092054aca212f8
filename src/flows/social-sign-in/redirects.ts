import { isRefused } from '../../contract/outcome.js'
import { callbackFailed, linkingParameter, signInFailed, type ToldReason, toldReasons } from '../../contract/pages.js'
import type { ProviderId } from '../../contract/providers.js'
import type { Attempt } from '../../domain/providers/attempt.js'
import type { Outcome, SocialRefusal } from './social-sign-in.js'

const toldOf = (refused: SocialRefusal): ToldReason | undefined => toldReasons.find((told) => told === refused)

export const failedAt = (page: string, provider: ProviderId, reason?: ToldReason) =>
  `${page}?error=${signInFailed(provider)}${reason === undefined ? '' : `&reason=${reason}`}`

/** The page on which a journey ends. */
export const redirectFor = (outcome: Outcome, { provider, purpose, returnTo }: Attempt): string => {
  const linking = purpose.kind === 'link'
  const page = linking ? returnTo : '/login'
  if (!isRefused(outcome))
    // The page finishes a link by a request that carries the session.
    return 'issued' in outcome ? returnTo : `${page}?${linkingParameter}=${provider}`
  if (outcome.refused === 'callback_failed') return `${page}?error=${callbackFailed}`
  return failedAt(page, provider, toldOf(outcome.refused))
}
