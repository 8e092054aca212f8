import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import { clientOf } from '../../http/client.js'
import type { Cookies } from '../../http/cookies.js'
import { ErrorBody, sendRefusal } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import { SignedIn, sendRenewed } from '../../http/responses.js'
import type { Server } from '../../http/server.js'

const schema = {
  tags: ['sessions'],
  summary: 'Trade the refresh token for a new pair of tokens',
  response: { 200: SignedIn, 401: ErrorBody, 403: ErrorBody, 429: ErrorBody, 503: ErrorBody },
}

type Dependencies = {
  sessions: Sessions
  events: Events
  cookies: Cookies
  limits: Limits
  onRefresh: (outcome: 'rotated' | 'raced' | 'replaced' | 'ended' | 'theft') => void
}

export const refreshRoutes = (server: Server, { sessions, events, cookies, limits, onRefresh }: Dependencies) => {
  /** Every visit to the sign-in page asks whether there is a session; without a cookie there is nothing to count. */
  const tokenRequired = async (request: FastifyRequest, reply: FastifyReply) =>
    cookies.read(request, 'refresh_token') === undefined ? sendRefusal(reply, refuse('not_authenticated')) : undefined

  server.post('/api/auth/refresh', { schema, onRequest: [tokenRequired, limits.session] }, async (request, reply) => {
    const client = clientOf(request)
    const result = await sessions.rotate(cookies.read(request, 'refresh_token') ?? '', client)
    if ('issued' in result) {
      onRefresh(result.raced ? 'raced' : 'rotated')
      return sendRenewed(reply, cookies, result.issued)
    }
    // What is absent or not ours is left alone; only a session that has ended takes its cookies with it.
    if (result.refused === 'invalid') return sendRefusal(reply, refuse('not_authenticated'))
    const { userId, sessionId, refused } = result
    onRefresh(refused)
    // The browser may hold the newer tokens already: an answer that lost a race leaves its cookies alone.
    if (refused === 'replaced') return sendRefusal(reply, refuse('not_authenticated'))
    if (refused === 'theft')
      await events.record({ kind: 'refresh_theft', userId, sessionId, reason: 'old_token' }, client)
    cookies.clearSession(reply)
    return sendRefusal(reply, refuse('not_authenticated'))
  })
}
