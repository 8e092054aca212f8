import type { FastifyRequest } from 'fastify'
import type { Events } from '../../domain/events/events.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { Callers } from '../../http/caller.js'
import { clientOf } from '../../http/client.js'
import type { Cookies } from '../../http/cookies.js'
import type { Csrf } from '../../http/csrf.js'
import { ErrorBody } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import { NoContent } from '../../http/responses.js'
import type { Server } from '../../http/server.js'

const response = { 204: NoContent, 401: ErrorBody, 403: ErrorBody, 429: ErrorBody, 503: ErrorBody }
const schema = { tags: ['sessions'], summary: 'End this session', response }
const everywhereSchema = { tags: ['sessions'], summary: 'End every session of the caller', response }

type Dependencies = {
  sessions: Sessions
  events: Events
  cookies: Cookies
  callers: Callers
  csrf: Csrf
  limits: Limits
}

export const logoutRoutes = (server: Server, { sessions, events, cookies, callers, csrf, limits }: Dependencies) => {
  /** By either cookie: an access token that has expired must not keep anybody from signing out. */
  const endSession = async (request: FastifyRequest) => {
    const caller = callers.peek(request)
    if (caller) {
      const { userId, sessionId } = caller
      return (await sessions.end(sessionId, userId)) ? { userId, sessionId } : undefined
    }
    const refreshToken = cookies.read(request, 'refresh_token')
    return refreshToken === undefined ? undefined : sessions.endByRefreshToken(refreshToken)
  }

  server.post('/api/auth/logout', { schema, onRequest: [csrf.required, limits.session] }, async (request, reply) => {
    const ended = await endSession(request)
    if (ended) await events.record({ kind: 'signed_out', ...ended }, clientOf(request))
    cookies.clearSession(reply)
    return reply.status(204).send()
  })

  const everywhere = { schema: everywhereSchema, onRequest: [callers.required, csrf.required, limits.session] }
  server.post('/api/auth/logout-all', everywhere, async (request, reply) => {
    const { userId, sessionId } = callers.of(request)
    await sessions.endAll(userId)
    await events.record({ kind: 'signed_out_everywhere', userId, sessionId }, clientOf(request))
    cookies.clearSession(reply)
    return reply.status(204).send()
  })
}
