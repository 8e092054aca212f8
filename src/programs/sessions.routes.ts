import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent, Revocations } from '../contract/schemas.js'
import { ServiceTokenBody, ServiceTokenState } from '../contract/service.js'
import { fixedLimiter, userSubject } from '../http/limiters.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import { seconds } from '../lib/durations.js'
import { isUuid } from '../lib/uuid.js'
import type { App } from '../service/open-http.js'
import type { EndedSince } from '../sessions/ended-sessions.js'

const tag = 'for other programs'

const maxWaitSeconds = 25

/** How long one wait lasts before it checks whether the client still waits. */
const waitSlice = 1 * seconds

/** The answer in the form that verifiers read. Those of earlier releases know `entries` only. */
const answerOf = ({ entries, users, cursor, complete }: EndedSince) => ({
  entries: entries.map(({ sid, minGeneration }) => ({ sid, below: minGeneration })),
  ...(users.length > 0 && { users }),
  cursor,
  complete,
})

/** The ended sessions for verifiers in other programs. If there is no news, the answer waits for some. */
export const revocationsRoutes = (server: Server, { serviceCallers, endedSessions, isClosing }: App) =>
  route(server, 'GET /api/service/revocations', {
    guard: [serviceCallers.withScope('revocations:read')],
    tag,
    summary: 'Sessions whose access tokens are refused before they expire, for programs that check tokens themselves',
    query: Type.Object({
      after: Type.Optional(Type.String({ maxLength: 4_096, description: 'The cursor of the answer before' })),
      wait: Type.Optional(
        Type.String({
          pattern: '^(?:1?\\d|2[0-5])$',
          description: `How many seconds the answer waits if there is no news, 0 to ${maxWaitSeconds}`,
        }),
      ),
    }),
    refuses: [],
    answers: { 200: Revocations },
    handle: async ({ query: { after, wait = '0' }, request }) => {
      const deadline = performance.now() + Number(wait) * seconds
      // The wait begins before the list is read, so that a session that ends in between is not missed.
      let news = endedSessions.waitForNews(waitSlice)
      const endedSince = await endedSessions.since(after)
      const { complete, entries, users } = endedSince
      if (complete || entries.length + users.length > 0) return answerOf(endedSince)
      while (performance.now() < deadline && !isClosing() && !request.raw.socket.destroyed) {
        if (await news) return answerOf(await endedSessions.since(endedSince.cursor))
        news = endedSessions.waitForNews(Math.min(waitSlice, deadline - performance.now()))
      }
      return answerOf(wait === '0' ? endedSince : await endedSessions.since(endedSince.cursor))
    },
  })

/** Token introspection (RFC 7662). The answer about a token that is not valid is `active: false` alone. */
export const tokensRoutes = (server: Server, { serviceCallers, openidProvider }: App) =>
  route(server, 'POST /api/service/token', {
    guard: [serviceCallers.withScope('tokens:read')],
    tag,
    summary:
      'Check an access token that an application has sent you, and find its user; for programs that native applications call',
    body: ServiceTokenBody,
    refuses: [],
    answers: { 200: ServiceTokenState },
    handle: async ({ body }): Promise<ServiceTokenState> => {
      const openid = await openidProvider.open()
      const holder = await openid?.authorizations.holderOf(body.token)
      if (!holder) return { active: false }
      const { clientId: application, scopes, claims } = holder
      return {
        active: true,
        application,
        scope: scopes.join(' '),
        claims,
      }
    },
  })

/** Administrators can be signed out too, so a stolen key could keep out those who can stop it. */
const userLimiter = fixedLimiter('service_sign_outs')

export const signOutUserRoutes = (server: Server, { serviceCallers, countedRequests, operatorChanges }: App) =>
  route(server, 'POST /api/service/users/:id/sign-out', {
    guard: [serviceCallers.withScope('sessions:end')],
    tag,
    summary: 'End every session of a user',
    params: Type.Object({ id: Type.String() }),
    refuses: [],
    answers: { 204: NoContent },
    config: { countsIn: ['service_sign_outs'] },
    handle: async ({ params: { id: userId }, request, reply }) => {
      if (!isUuid(userId)) return refuse('not_found')
      if (await countedRequests.count(userLimiter, userSubject(userId), request, reply)) return reply
      // Administrators can be signed out, too, because it costs them no more than a new sign-in now and then.
      const client = serviceCallers.actingClient(request, { protectedGroups: [] })
      const ended = await operatorChanges.endSessions({ userId, client })
      return isRefused(ended) ? refuse('not_found') : undefined
    },
  })
