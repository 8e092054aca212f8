import type { FastifyRequest } from 'fastify'
import { adminPath } from '../contract/admin/admin-bodies.js'

/**
 * The sender of a request that passes the checks for other sites and for JSON. `program`: a server, or a page of another site by CORS
 * without credentials. `navigation`: a form of another site that the whole window follows. None of these routes reads a cookie.
 */
type SentBy = 'program' | 'navigation'

/** The closed list of these routes. A test checks that every other route refuses forms and other sites. */
const protocolRoutes: Readonly<Record<string, SentBy>> = {
  'POST /api/auth/token': 'program',
  'OPTIONS /api/auth/token': 'program',
  'POST /api/auth/device': 'program',
  'OPTIONS /api/auth/device': 'program',
  'POST /api/auth/revoke': 'program',
  'OPTIONS /api/auth/revoke': 'program',
  'GET /api/auth/userinfo': 'program',
  'POST /api/auth/userinfo': 'program',
  'OPTIONS /api/auth/userinfo': 'program',
  'GET /api/auth/.well-known/openid-configuration': 'program',
  'GET /api/auth/keys': 'program',
  'POST /api/auth/authorize': 'navigation',
  'POST /api/auth/end-session': 'navigation',
}

/** The route and not the address, which may be written in other ways (`/%61pi/`). `HEAD` is answered by the route of `GET`. */
const senderOf = ({ method, routeOptions }: FastifyRequest): SentBy | undefined => {
  const route = `${method === 'HEAD' ? 'GET' : method} ${routeOptions.url}`
  return Object.hasOwn(protocolRoutes, route) ? protocolRoutes[route] : undefined
}

export const isProtocolRoute = (request: FastifyRequest) => senderOf(request) !== undefined

const isAddressFor = (sender: SentBy, url: string) =>
  Object.entries(protocolRoutes).some(([route, sentBy]) => sentBy === sender && route.endsWith(` ${url}`))

/** Whether programs know the address by any method: then a wrong method is answered in the words of the protocol. */
export const isAddressForPrograms = (url: string) => isAddressFor('program', url)

/** Whether applications send the whole window there. By no method may a page of another site read the answer (RFC 9700, 2.6). */
export const isAddressForWindows = (url: string) => isAddressFor('navigation', url)

/** Whether programs send the request. Then its errors are in the words of the protocol. */
export const isForPrograms = (request: FastifyRequest) => senderOf(request) === 'program'

/** Whether the route of the request takes a form instead of JSON. */
export const takesForm = (request: FastifyRequest) => request.method === 'POST' && senderOf(request) !== undefined

/** Older browsers send no `Sec-Fetch-Mode`, so a request without it counts as a navigation. */
const isNavigation = ({ headers }: FastifyRequest) =>
  (headers['sec-fetch-mode'] ?? 'navigate') === 'navigate' && (headers['sec-fetch-dest'] ?? 'document') === 'document'

/** Whether another site may send the request. */
export const passesFromOtherSites = (request: FastifyRequest) => {
  const sender = senderOf(request)
  return sender === 'program' || (sender === 'navigation' && isNavigation(request))
}

/** Whether only administrators see the path, of a registered route or of a request. */
export const isAdminPath = (url: string | undefined) => url === adminPath || url?.startsWith(`${adminPath}/`) === true
