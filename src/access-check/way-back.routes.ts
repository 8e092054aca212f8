import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { ProtectedApplications } from '../applications/protected-applications.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import { clientOf } from '../http/request-origin.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Metrics } from '../platform/metrics/metrics.js'
import { type Callers, mustComeAgain } from '../sessions/callers.js'
import type { ReserveRotation } from '../sessions/guards.js'
import type { Rotations } from '../sessions/rotation.js'
import { countReturn } from './return-counts.js'

export type WayBackParts = {
  callers: Callers
  cookies: Cookies
  protectedApplications: Pick<ProtectedApplications, 'find'>
  rotate: Rotations
  reserveRotation: ReserveRotation
  metrics: Pick<Metrics, 'countBoundSession'> | undefined
  config: { publicUrl: string; afterSignIn: string }
}

/** The page that says that the cookies of this sign-in do not reach the application. */
type SendPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply

const led = { 302: withHeaders(NoContent, { 'Set-Cookie': 'How often the browser was led there, and new tokens' }) }

/** So often a browser may be led back to the same address within ten seconds, and to all: a restored window has several tabs. */
const maxReturns = { same: 6, all: 20 }
/** At this return the cookies are set anew: those of the browser may be from before a change of COOKIE_DOMAIN, and reach only this host. */
const renewingReturn = 3

const isPage = ({ headers }: FastifyRequest) =>
  (headers['sec-fetch-dest'] ?? 'document') === 'document' && headers['sec-purpose'] === undefined

/**
 * New cookies if the refresh token is still good. A prefetch gets none: nobody may see its answer. `always`: also while the access token is
 * good.
 */
const createRenewal =
  ({ callers, cookies, rotate, reserveRotation, metrics }: WayBackParts) =>
  async (request: FastifyRequest, reply: FastifyReply, always = false) => {
    if (!always && callers.find(request)) return true
    const refreshToken = cookies.hasDoubledSessionCookie(request) ? undefined : callers.refreshableTokenOf(request)
    if (!refreshToken || !isPage(request)) return false
    // As at `refresh`, every exchange counts, whatever its outcome.
    if (!(await reserveRotation(request)).granted) return false
    const rotated = await rotate(refreshToken, clientOf(request), 'browser')
    if (isRefused(rotated)) {
      // Its user is not led to the sign-in page while the browser could only not get the tokens for the moment.
      const waits = rotated.refused === 'unproven' && mustComeAgain(request, rotated.sessionId, metrics)
      return waits && refuse('unavailable', { retryAfter: 1 })
    }
    cookies.renewSession(reply, rotated.issued)
    return true
  }

/** Leads browsers back to protected applications, and nowhere else. */
export const wayBackRoutes = (server: Server, parts: WayBackParts, sendTellWhy: SendPage) => {
  const { callers, cookies, protectedApplications } = parts
  const { publicUrl, afterSignIn } = parts.config

  /** The address, if it is a page of a protected application. It is compared after it was read as a browser reads it. */
  const protectedPage = (address: string) => {
    if (!URL.canParse(address)) return undefined
    const { origin, username, password, href } = new URL(address)
    const isPageOf = href.startsWith(`${origin}/`) && username === '' && password === ''
    return isPageOf && protectedApplications.find(origin) ? href : undefined
  }

  const renew = createRenewal(parts)

  const isSignedIn = (request: FastifyRequest) =>
    callers.find(request) !== undefined || callers.refreshableTokenOf(request) !== undefined

  const readAddress = (request: FastifyRequest, name: string) => {
    const value = (request.query as Record<string, unknown>)[name]
    return typeof value === 'string' ? protectedPage(value) : undefined
  }

  // Our pages know only their own address and ALLOWED_ORIGINS, so after a sign-in they lead to every other address by way of this one.
  route(server, 'GET /api/auth/return', {
    hidden: true,
    guard: [],
    refuses: ['unavailable'],
    answers: led,
    config: { countsIn: ['session'] },
    handle: async ({ request, reply }) => {
      const address = readAddress(request, 'to')
      if (address === undefined) return reply.redirect(afterSignIn)
      const { same, all, kept } = countReturn(cookies.read(request, 'attempt_returns'), address)
      cookies.set(reply, 'attempt_returns', kept)
      if (same === renewingReturn) await renew(request, reply, true)
      if (same <= maxReturns.same && all <= maxReturns.all) return reply.redirect(address)
      // Without a session no cookie is missing there: the sign-in page asks.
      if (!isSignedIn(request)) return reply.redirect(`/login?returnTo=${encodeURIComponent(address)}`)
      return sendTellWhy(request, reply)
    },
  })

  // For the pages on the way: to which application they lead.
  route(server, 'GET /api/auth/return/application', {
    hidden: true,
    guard: [],
    refuses: ['not_found'],
    answers: { 200: Type.Object({ name: Type.String(), home: Type.String() }) },
    config: { unlimited: 'Compares an address with those in memory', ownOriginOnly: true },
    handle: async ({ request }) => {
      const address = readAddress(request, 'to')
      const application = address === undefined ? undefined : protectedApplications.find(new URL(address).origin)
      return application ? { name: application.name, home: application.home } : refuse('not_found')
    },
  })

  route(server, 'GET /api/auth/renew', {
    hidden: true,
    guard: [],
    refuses: ['unavailable'],
    answers: led,
    config: { countsIn: ['session'], ownOriginOnly: true },
    handle: async ({ request, reply }) => {
      const address = readAddress(request, 'returnTo')
      if (address === undefined) return reply.redirect(afterSignIn)
      const query = encodeURIComponent(address)
      const renewed = await renew(request, reply)
      if (typeof renewed === 'object') return renewed
      const path = renewed ? `/api/auth/return?to=${query}` : `/login?returnTo=${query}`
      return reply.redirect(`${publicUrl}${path}`)
    },
  })
}
