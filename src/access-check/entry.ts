import { mayUse } from '../applications/applications.js'
import type { ProtectedApplication } from '../applications/protected-applications.js'
import type { AccessClaims } from '../contract/access-claims.js'
import { countFactors } from '../contract/factors.js'
import { refuse } from '../contract/outcome.js'
import { seconds } from '../lib/durations.js'
import { type AskedRequest, isOpenPath, originOf } from './asked-request.js'
import { asksForOther, isPreflight, type VisitorHeaders } from './visitor-headers.js'

/** Why the user of these claims may not enter now. The group comes first, because a new proof would not help. */
export const entryRefusal = (
  application: ProtectedApplication,
  claims: Pick<AccessClaims, 'amr' | 'auth_time' | 'groups' | 'mfa_time'>,
  now: Date,
) => {
  if (!mayUse(application, claims.groups ?? [])) return refuse('group_required', { page: '/step-up?group=1' })
  const { factors, maxAge = Number.POSITIVE_INFINITY } = application
  const provenAt = (factors === 2 ? claims.mfa_time : claims.auth_time) ?? 0
  const isFresh = maxAge === Number.POSITIVE_INFINITY || now.getTime() - provenAt * seconds <= maxAge
  if (isFresh && countFactors(claims.amr) >= factors) return undefined
  const conditions = [
    ...(factors === 2 ? ['factors=2'] : []),
    ...(isFresh ? [] : [`fresh=${Math.floor(maxAge / seconds)}s`]),
  ]
  return refuse('step_up_required', { page: `/step-up?${conditions.join('&')}` })
}

/**
 * Whether the check itself came for another application than the one that the proxy names. A proxy that believes a visitor's
 * `X-Forwarded-Host` would let the visitor choose whose rules count.
 */
export const isForOther = (
  { origin }: AskedRequest,
  host: string | undefined,
  { find }: { find(origin: string): unknown },
) => {
  const ownOrigin = host === undefined ? undefined : originOf(origin.slice(0, origin.indexOf(':')), host)
  return ownOrigin !== undefined && ownOrigin !== origin && find(ownOrigin) !== undefined
}

/** Whether anybody may see what was asked for. */
export const isOpen = (application: ProtectedApplication, asked: AskedRequest, headers: VisitorHeaders) =>
  (isOpenPath(asked, application.openPaths) && !asksForOther(asked, headers)) ||
  (application.openPreflight && isPreflight(asked, headers))
