import type { RouteFacts } from './route-codes.js'

/** What a request needs, from the gates before its handler. An empty list means that anyone may call. */
export const securityOf = (gated: Pick<RouteFacts, 'byAccessToken' | 'byCsrfToken' | 'serviceScope'>) => {
  const needed = {
    ...(gated.byAccessToken && { accessToken: [] }),
    ...(gated.byCsrfToken && { csrfToken: [] }),
    ...(gated.serviceScope && { serviceKey: [] }),
  }
  return Object.keys(needed).length === 0 ? [] : [needed]
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

/** The same in words, for an operation that has no description of its own. */
export const needsOf = (facts: RouteFacts) => {
  const needed = [
    ...(facts.byAccessToken ? ['the access token'] : []),
    ...(facts.byCsrfToken ? ['X-CSRF-Token'] : []),
    ...(facts.serviceScope ? [`a service key with the scope \`${facts.serviceScope}\``] : []),
  ]
  return [
    needed.length === 0 ? 'Needs no sign-in.' : `Needs ${needed.join(' and ')}.`,
    ...(facts.limits.length > 0 || facts.serviceScope ? ['The number of requests is limited.'] : []),
  ].join(' ')
}
