import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../contract/outcome.js'
import { isLoopback } from '../lib/networks.js'
import { sendRefusal } from './errors.js'
import { isAddressForWindows, isAdminPath, isProtocolRoute, passesFromOtherSites, takesForm } from './exempt-routes.js'
import { formType } from './forms.js'

export type AllowedOrigins = ReturnType<typeof createAllowedOrigins>

const exposedHeaders =
  'Retry-After, RateLimit, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, X-Request-Id'
const preflightHeaders = {
  'Access-Control-Allow-Methods': 'GET, POST, PATCH, DELETE',
  'Access-Control-Allow-Headers': 'Content-Type, X-CSRF-Token',
  'Access-Control-Max-Age': '600',
}

/** The sites of ALLOWED_ORIGINS, whose pages may use the API of `/api/auth/` with the cookies of the user (CORS). */
export const createAllowedOrigins = (origins: readonly string[]) => {
  const allowed = new Set(origins)
  const has = (origin: string | undefined): origin is string => origin !== undefined && allowed.has(origin)

  return {
    has,
    /** Whether no other origin is allowed. If some are, the answers of `/api/auth/` depend on the origin, and say so in `Vary`. */
    isEmpty: allowed.size === 0,
    /** Lets the page of an allowed site read the answer, and answers its preflight. */
    grant: async (request: FastifyRequest, reply: FastifyReply) => {
      // The routes of the protocol have a list of their own (`known-clients`), and never take credentials.
      if (!request.url.startsWith('/api/auth/') || isProtocolRoute(request)) return undefined
      // An address without a route for the method has no `url` in `routeOptions`: that of a preflight.
      const { url = request.url.split('?')[0] ?? '' } = request.routeOptions
      if (isAddressForWindows(url)) return undefined
      // Administrators use our own pages only.
      if (isAdminPath(request.routeOptions.url) || isAdminPath(request.url)) return undefined
      reply.header('vary', 'Origin')
      const { origin, 'access-control-request-method': requestedMethod } = request.headers
      if (!has(origin)) return undefined
      reply.headers({
        'Access-Control-Allow-Origin': origin,
        'Access-Control-Allow-Credentials': 'true',
        'Access-Control-Expose-Headers': exposedHeaders,
      })
      if (request.method !== 'OPTIONS' || requestedMethod === undefined) return undefined
      return reply.headers(preflightHeaders).status(204).send()
    },
  }
}

export const noOtherOrigins = createAllowedOrigins([])

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])
const jsonType = /^application\/json(?:; ?charset=utf-8)?$/i

/** A page cannot change the `Sec-Fetch-Site` that a browser sends. For older browsers the `Origin` decides. */
const isCrossSite = (request: FastifyRequest, publicUrl: string, isExempt: boolean) => {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (isExempt || site === 'same-origin' || site === 'none') return false
  return site === 'cross-site' || (origin !== undefined && origin !== publicUrl)
}

/**
 * Images, frames, fetches and prefetches from another site's page, also with a safe method: they would use up the visitor's
 * limits. Only a navigation of the whole window may come from another site, for example from a provider.
 */
const isForeignSubresource = ({ headers, routeOptions }: FastifyRequest) =>
  headers['sec-fetch-site'] === 'cross-site' &&
  (headers['sec-fetch-dest'] !== 'document' || headers['sec-purpose'] !== undefined) &&
  // The route counts and not the address, which may be written in other ways (`/%61pi/`).
  (routeOptions.url?.startsWith('/api/') ?? false)

const isAuthRoute = ({ routeOptions }: FastifyRequest) => routeOptions.url?.startsWith('/api/auth/') ?? false

const hasBody = (request: FastifyRequest) =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0

const formExpected = refuse('unsupported_media_type', { message: 'Send application/x-www-form-urlencoded in UTF-8' })

/**
 * Refuses every unsafe request from another site's page, before anything is counted. A body must be JSON: content types
 * that a form can send without a preflight reach no handler. The routes of a closed list (`protocol-routes`) are for other sites, and
 * take forms only.
 */
export const refuseCrossSite = (
  { publicUrl, allowedOrigins }: { publicUrl: string; allowedOrigins: AllowedOrigins },
  request: FastifyRequest,
  reply: FastifyReply,
) => {
  const { ownOriginOnly = false, answersProxies = false } = request.routeOptions.config
  const isAllowedOrigin = !ownOriginOnly && allowedOrigins.has(request.headers.origin) && isAuthRoute(request)
  const isExempt = passesFromOtherSites(request) || isAllowedOrigin || answersProxies
  if (!isExempt && isForeignSubresource(request))
    return sendRefusal(reply, request.routeOptions.config.crossSite ?? refuse('cross_site'))
  if (safeMethods.has(request.method)) return undefined
  if (isCrossSite(request, publicUrl, isExempt)) return sendRefusal(reply, refuse('cross_site'))
  const { 'content-type': type } = request.headers
  const isForm = takesForm(request)
  const acceptedType = isForm ? formType : jsonType
  if ((hasBody(request) || type !== undefined) && !acceptedType.test(type ?? ''))
    return sendRefusal(reply, isForm ? formExpected : refuse('unsupported_media_type'))
  return undefined
}

/** The host without its port, in lower case. An IPv6 address keeps its brackets. */
const nameIn = (host: string) => host.replace(/:\d*$/, '').toLowerCase()

const isAddress = (name: string) => isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0

/**
 * Says whether a `Host` header names this development service. Another site can point its own name to this machine (DNS rebinding), and
 * then the browser lets its page read every answer. This works only with a name: an IP address cannot be redirected, and browsers
 * resolve names below `localhost` themselves.
 */
export const createOwnHosts = ({ publicUrl, otherNames }: { publicUrl: string; otherNames: readonly string[] }) => {
  const names = new Set([new URL(publicUrl).hostname, ...otherNames])
  return (host: string) => {
    const name = nameIn(host)
    return isLoopback(name) || name.endsWith('.localhost') || isAddress(name) || names.has(name)
  }
}
