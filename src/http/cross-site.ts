import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../contract/outcome.js'
import type { AllowedOrigins } from './allowed-origins.js'
import { sendRefusal } from './errors.js'
import { formType } from './forms.js'
import { passesFromOtherSites, takesForm } from './protocol-routes.js'

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
export const refuseCrossSite =
  ({ publicUrl, allowedOrigins }: { publicUrl: string; allowedOrigins: AllowedOrigins }) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    const { ownOriginOnly = false } = request.routeOptions.config
    const isAllowedOrigin = !ownOriginOnly && allowedOrigins.has(request.headers.origin) && isAuthRoute(request)
    const isExempt = passesFromOtherSites(request) || isAllowedOrigin
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
