import type { FastifyReply, FastifyRequest } from 'fastify'
import { isRefused, refuse } from '../../contract/outcome.js'
import { SignedIn } from '../../contract/schemas.js'
import type { Callers } from '../../http/caller.js'
import { clientOf } from '../../http/client.js'
import type { Cookies } from '../../http/cookies.js'
import type { Limits } from '../../http/limits.js'
import { sendRenewed } from '../../http/responses.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import type { createRefresh } from './refresh.js'

const { responses, sendRefusal } = routeRefusals('not_authenticated', 'cross_site', 'too_many_requests', 'unavailable')

const schema = {
  tags: ['sessions'],
  summary: 'Exchange the refresh token for a new pair of tokens',
  security: [{ refreshToken: [] }],
  response: { 200: SignedIn, ...responses },
}

type Dependencies = {
  refresh: ReturnType<typeof createRefresh>
  cookies: Cookies
  callers: Callers
  limits: Limits
}

export const refreshRoutes = (server: Server, { refresh, cookies, callers, limits }: Dependencies) => {
  /** Every visit to the login page asks whether there is a session; a request without a cookie is not counted. */
  const tokenRequired = async (request: FastifyRequest, reply: FastifyReply) =>
    cookies.read(request, 'refresh_token') === undefined ? sendRefusal(reply, refuse('not_authenticated')) : undefined

  server.post('/api/auth/refresh', { schema, onRequest: [tokenRequired, limits.session] }, async (request, reply) => {
    const refreshToken = callers.refreshTokenOf(request)
    // A token that is not ours is left alone: only if the session has ended, its cookies are cleared.
    if (!refreshToken) return sendRefusal(reply, refuse('not_authenticated'))
    const result = await refresh(refreshToken, clientOf(request))
    if (!isRefused(result)) return sendRenewed(reply, cookies, result)
    if (result.sessionEnded) cookies.clearSession(reply)
    return sendRefusal(reply, result)
  })
}
