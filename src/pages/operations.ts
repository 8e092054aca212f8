import type { AdminRole } from '../contract/admin/admin-bodies.js'
import type { RouteFacts } from '../sessions/guards.js'

/** The credentials that a request needs, from the guards in front of its handler. An empty list means that anyone may call. */
export const securityOf = (facts: Pick<RouteFacts, 'byAccessToken' | 'byCsrfToken' | 'serviceScope'>) => {
  const schemes = {
    ...(facts.byAccessToken && { accessToken: [] }),
    ...(facts.byCsrfToken && { csrfToken: [] }),
    ...(facts.serviceScope && { serviceKey: [] }),
  }
  return Object.keys(schemes).length === 0 ? [] : [schemes]
}

const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

/** `POST /api/auth/verify-email` is `postAuthVerifyEmail`, `GET /api/content/:slug` is `getContentBySlug`. */
export const operationId = ({ method, url }: { method: string | string[]; url: string }) => {
  const [first = ''] = [method].flat()
  const words = url
    .replace(/^\/api\//, '/')
    .replaceAll('/:', '/by-')
    .split(/[/.-]/)
    .filter((word) => word !== '')
  return [first.toLowerCase(), ...words.map(capitalized)].join('')
}

export type Security = readonly Readonly<Record<string, readonly string[]>>[]

const schemeNames: Readonly<Record<string, string>> = {
  accessToken: 'the access token',
  refreshToken: 'the refresh token',
  challenge: 'the challenge cookie',
  csrfToken: 'X-CSRF-Token',
}

const callersByRole: Record<AdminRole, string> = { admin: 'an administrator', support: 'an administrator or support' }

/** The credentials in words. Only a session can be stale, so only for a session it is said that it must be fresh. */
export const needsOf = ({ serviceScope, isSensitive, adminRole }: RouteFacts, security: Security) => {
  if (adminRole)
    return [callersByRole[adminRole], ...security.flatMap(Object.keys).map((name) => schemeNames[name])].join(', ')
  const ways = security.map((schemes) => {
    const names = Object.keys(schemes).map((name) => schemeNames[name] ?? `a service key with \`${serviceScope}\``)
    return [...names, ...(isSensitive && 'accessToken' in schemes ? ['a fresh sign-in'] : [])].join(', ')
  })
  return ways.length === 0 ? 'no sign-in' : ways.join(', or ')
}

/** The description of an operation that has none of its own. */
export const describe = (facts: RouteFacts, security: Security) => {
  const limiterSentences = facts.limiters.length > 0 ? [`Limiter: ${facts.limiters.join(', ')}.`] : []
  return [`Needs ${needsOf(facts, security)}.`, ...limiterSentences].join(' ')
}
