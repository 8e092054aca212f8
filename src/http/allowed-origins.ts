import type { FastifyReply, FastifyRequest } from 'fastify'
import { isAdminPath } from '../admin/admin-guard.js'
import { isAddressForWindows, isProtocolRoute } from './protocol-routes.js'

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
