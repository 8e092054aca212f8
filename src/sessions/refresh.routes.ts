import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { Nullable, SignedIn } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import { clientOf } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import { sendRenewed, withCookies } from '../sign-in/responses.js'
import type { Callers } from './caller.js'
import type { Limits } from './limits.js'
import type { Rotations } from './rotations.js'
import type { SessionLookups } from './session-lookups.js'
import type { Sessions } from './sessions.js'

const { responses, sendRefusal } = routeRefusals('not_authenticated', 'cross_site', 'too_many_requests', 'unavailable')

const schema = {
  tags: ['sessions'],
  summary: 'Exchange the refresh token for a new pair of tokens',
  body: Nullable(
    Type.Object({ ifOld: Type.Optional(Type.Boolean({ description: 'Only if the access token is no longer new' })) }),
  ),
  security: [{ refreshToken: [] }],
  response: {
    200: SignedIn,
    ...withCookies(responses, { 401: 'Clears access_token and refresh_token, if the session has ended' }),
  },
}

type Dependencies = {
  rotate: Rotations
  cookies: Cookies
  callers: Callers
  limits: Limits
  sessions: Pick<Sessions, 'isNew'>
  sessionLookups: Pick<SessionLookups, 'isLive'>
}

export const refreshRoutes = (server: Server, deps: Dependencies) => {
  const { rotate, cookies, callers, limits, sessions, sessionLookups } = deps

  /** Refuses a request without a cookie before the limiter counts it, because every visit to the login page asks for a refresh. */
  const tokenRequired = async (request: FastifyRequest, reply: FastifyReply) =>
    cookies.read(request, 'refresh_token') === undefined ? sendRefusal(reply, refuse('not_authenticated')) : undefined

  /**
   * The user, if this session got its access token a moment ago. A page asks for a refresh after a call was refused, but an answer of the
   * application may have set new tokens meanwhile. If these were exchanged at once, a request that is still under way with the former
   * tokens would look like a request of a thief. The database is asked, because another instance may have replaced the token in the last
   * second, by a change of groups: then the page would be refused there again and again.
   */
  const userOfNewToken = async (request: FastifyRequest, sessionId: string) => {
    const claims = callers.claimsOf(request)
    if (claims?.sid !== sessionId || !sessions.isNew(claims)) return undefined
    const { userId: id, username, email, name = null, exp, gen: generation } = claims
    if (!(await sessionLookups.isLive({ sessionId, userId: id, generation }))) return undefined
    return { user: { id, username, email, name }, accessTokenExpiresAt: new Date(exp * 1000).toISOString() }
  }

  server.post('/api/auth/refresh', { schema, onRequest: [tokenRequired, limits.session] }, async (request, reply) => {
    const refreshToken = callers.refreshTokenOf(request)
    // A token that is not ours is left alone. Cookies are cleared only if their session has ended.
    if (!refreshToken) return sendRefusal(reply, refuse('not_authenticated'))
    const current = request.body?.ifOld ? await userOfNewToken(request, refreshToken.claims.sid) : undefined
    if (current) return reply.send(current)
    const rotated = await rotate(refreshToken, clientOf(request), 'browser')
    if (!isRefused(rotated)) return sendRenewed(reply, cookies, rotated.issued)
    // The browser may already have the newer tokens, so an answer that lost a race does not change the cookies.
    if (rotated.refused !== 'replaced') cookies.clearSession(reply)
    return sendRefusal(reply, refuse('not_authenticated'))
  })
}
