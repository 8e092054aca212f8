import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { ProtectedApplications } from '../applications/protected-applications.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import { clientOf } from '../http/request-origin.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { fingerprint } from '../lib/random.js'
import type { Callers } from '../sessions/callers.js'
import type { ReserveRotation } from '../sessions/guards.js'
import type { Rotations } from '../sessions/rotation.js'

export type WayBackParts = {
  callers: Callers
  cookies: Cookies
  protectedApplications: Pick<ProtectedApplications, 'find'>
  rotate: Rotations
  reserveRotation: ReserveRotation
  config: { publicUrl: string; afterSignIn: string }
}

/** The page that says that the cookies of this sign-in do not reach the application. */
type SendPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** So often a browser may be led back to the same address within ten seconds, and to all: a restored window has several tabs. */
const maxReturns = { same: 6, all: 20 }

const nameOf = (address: string) => fingerprint(address).toString('base64url').slice(0, 16)

/** Leads browsers back to protected applications, and nowhere else. */
export const wayBackRoutes = (server: Server, parts: WayBackParts, sendTellWhy: SendPage) => {
  const { callers, cookies, protectedApplications, rotate, reserveRotation } = parts
  const { publicUrl, afterSignIn } = parts.config

  /** The address, if it is a page of a protected application. It is compared after it was read as a browser reads it. */
  const protectedPage = (address: string) => {
    if (!URL.canParse(address)) return undefined
    const { origin, username, password, href } = new URL(address)
    const isPageOf = href.startsWith(`${origin}/`) && username === '' && password === ''
    return isPageOf && protectedApplications.find(origin) ? href : undefined
  }

  /** Whether this browser was led back so often that its cookies cannot reach the application. */
  const isLoop = (request: FastifyRequest, reply: FastifyReply, address: string) => {
    const [name, same = '0', all = '0'] = cookies.read(request, 'attempt_returns')?.split('.') ?? []
    const next = { same: name === nameOf(address) ? Number(same) + 1 : 1, all: Number(all) + 1 }
    cookies.set(reply, 'attempt_returns', `${nameOf(address)}.${Math.min(9, next.same)}.${Math.min(99, next.all)}`)
    return next.same > maxReturns.same || next.all > maxReturns.all
  }

  const isSignedIn = (request: FastifyRequest) =>
    callers.find(request) !== undefined || callers.refreshableTokenOf(request) !== undefined

  const readAddress = (request: FastifyRequest, name: string) => {
    const value = (request.query as Record<string, unknown>)[name]
    return typeof value === 'string' ? protectedPage(value) : undefined
  }

  const isPage = ({ headers }: FastifyRequest) =>
    (headers['sec-fetch-dest'] ?? 'document') === 'document' && headers['sec-purpose'] === undefined

  // Our pages know only their own address and ALLOWED_ORIGINS, so after a sign-in they lead to every other address by way of this one.
  route(server, 'GET /api/auth/return', {
    hidden: true,
    guard: [],
    refuses: [],
    answers: {},
    config: { unlimited: 'Compares an address with those in memory' },
    handle: async ({ request, reply }) => {
      const address = readAddress(request, 'to')
      if (address === undefined) return reply.redirect(afterSignIn)
      if (!isLoop(request, reply, address)) return reply.redirect(address)
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

  /** New cookies if the refresh token is still good. A prefetch gets none: nobody may see its answer. */
  const renew = async (request: FastifyRequest, reply: FastifyReply) => {
    if (callers.find(request)) return true
    const refreshToken = cookies.hasDoubledSessionCookie(request) ? undefined : callers.refreshableTokenOf(request)
    if (!refreshToken || !isPage(request)) return false
    // As at `refresh`, every exchange counts, whatever its outcome.
    if (!(await reserveRotation(request)).granted) return false
    const rotated = await rotate(refreshToken, clientOf(request), 'browser')
    if (isRefused(rotated)) return false
    cookies.renewSession(reply, rotated.issued)
    return true
  }

  route(server, 'GET /api/auth/renew', {
    hidden: true,
    guard: [],
    refuses: ['unavailable'],
    answers: { 302: withHeaders(NoContent, { 'Set-Cookie': 'access_token and refresh_token, if they were renewed' }) },
    config: { countsIn: ['session'], ownOriginOnly: true },
    handle: async ({ request, reply }) => {
      const address = readAddress(request, 'returnTo')
      if (address === undefined) return reply.redirect(afterSignIn)
      const query = encodeURIComponent(address)
      const path = (await renew(request, reply)) ? `/api/auth/return?to=${query}` : `/login?returnTo=${query}`
      return reply.redirect(`${publicUrl}${path}`)
    },
  })
}
