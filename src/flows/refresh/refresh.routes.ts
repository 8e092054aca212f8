import type { FastifyReply, FastifyRequest } from 'fastify'
import { isRefused, refuse } from '../../contract/outcome.js'
import { SignedIn } from '../../contract/schemas.js'
import type { Rotations } from '../../domain/sessions/rotations.js'
import type { Callers } from '../../http/caller.js'
import { clientOf } from '../../http/client.js'
import type { Cookies } from '../../http/cookies/cookies.js'
import type { Limits } from '../../http/limits/limits.js'
import { sendRenewed, withCookies } from '../../http/responses.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'

const { responses, sendRefusal } = routeRefusals('not_authenticated', 'cross_site', 'too_many_requests', 'unavailable')

const schema = {
  tags: ['sessions'],
  summary: 'Exchange the refresh token for a new pair of tokens',
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
}

export const refreshRoutes = (server: Server, { rotate, cookies, callers, limits }: Dependencies) => {
  /** Refuses a request without a cookie before the limiter counts it, because every visit to the login page asks for a refresh. */
  const tokenRequired = async (request: FastifyRequest, reply: FastifyReply) =>
    cookies.read(request, 'refresh_token') === undefined ? sendRefusal(reply, refuse('not_authenticated')) : undefined

  server.post('/api/auth/refresh', { schema, onRequest: [tokenRequired, limits.session] }, async (request, reply) => {
    const refreshToken = callers.refreshTokenOf(request)
    // A token that is not ours is left alone. Cookies are cleared only if their session has ended.
    if (!refreshToken) return sendRefusal(reply, refuse('not_authenticated'))
    const rotated = await rotate(refreshToken, clientOf(request), 'browser')
    if (!isRefused(rotated)) return sendRenewed(reply, cookies, rotated.issued)
    // The browser may already have the newer tokens, so an answer that lost a race does not change the cookies.
    if (rotated.refused !== 'replaced') cookies.clearSession(reply)
    return sendRefusal(reply, refuse('not_authenticated'))
  })
}
