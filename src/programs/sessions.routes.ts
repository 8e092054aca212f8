import { Type } from 'typebox'
import type { OperatorChanges } from '../accounts/operator-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent, Revocations } from '../contract/schemas.js'
import { ServiceTokenBody, ServiceTokenState } from '../contract/service.js'
import { type Limiter, limiters, userSubject } from '../http/limiters.js'
import type { CountedRequests } from '../http/limits.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'
import { seconds } from '../lib/durations.js'
import { isUuid } from '../lib/uuid.js'
import type { OpenidRoom } from '../openid/open-openid.js'
import type { EndedSessions, EndedSince } from '../sessions/ended-sessions.js'
import type { Guards } from '../sessions/guards.js'
import { type ServiceCallers, serviceRefusals } from './service-callers.js'

const { responses: revocationsResponses } = routeRefusals(...serviceRefusals)

const maxWaitSeconds = 25
const revocationsSchema = {
  tags: ['for other programs'],
  summary: 'Sessions whose access tokens are refused before they expire, for programs that check tokens themselves',
  querystring: Type.Object({
    after: Type.Optional(Type.String({ maxLength: 4_096, description: 'The cursor of the answer before' })),
    wait: Type.Optional(
      Type.String({
        pattern: '^(?:1?\\d|2[0-5])$',
        description: `How many seconds the answer waits if there is no news, 0 to ${maxWaitSeconds}`,
      }),
    ),
  }),
  response: { 200: Revocations, ...revocationsResponses },
}

/** How long one wait lasts before it checks whether the client still waits. */
const waitSlice = 1 * seconds

/** The answer in the form that verifiers read. Those of earlier releases know `entries` only. */
const answerOf = ({ entries, users, cursor, complete }: EndedSince) => ({
  entries: entries.map(({ sid, minGeneration }) => ({ sid, below: minGeneration })),
  ...(users.length > 0 && { users }),
  cursor,
  complete,
})

type RevocationsRouteDependencies = {
  guards: Guards
  endedSessions: EndedSessions
  isClosing: () => boolean
}

/** The ended sessions for verifiers in other programs. If there is no news, the answer waits for some. */
export const revocationsRoutes = (
  server: Server,
  { guards, endedSessions, isClosing }: RevocationsRouteDependencies,
) => {
  const onRequest = guards.service('revocations:read')

  server.get('/api/service/revocations', { schema: revocationsSchema, onRequest }, async (request) => {
    const { after, wait = '0' } = request.query
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
  })
}

const { responses: tokensResponses } = routeRefusals('bad_request', ...serviceRefusals)

const tokensSchema = {
  tags: ['for other programs'],
  summary:
    'Check an access token that an application has sent you, and find its user; for programs that native applications call',
  body: ServiceTokenBody,
  response: { 200: ServiceTokenState, ...tokensResponses },
}

type TokensRouteDependencies = {
  guards: Guards
  openidProvider: { open(): Promise<OpenidRoom | undefined> }
  publicUrl: string
}

/** Token introspection (RFC 7662). The answer about a token that is not valid is `active: false` alone. */
export const tokensRoutes = (server: Server, { guards, openidProvider, publicUrl }: TokensRouteDependencies) => {
  const onRequest = guards.service('tokens:read')
  server.post(
    '/api/service/token',
    { schema: tokensSchema, onRequest },
    async (request): Promise<ServiceTokenState> => {
      const nouns = await openidProvider.open()
      const holder = await nouns?.authorizations.holderOf(request.body.token)
      if (!holder) return { active: false }
      const { clientId: application, scopes, claims } = holder
      return {
        active: true,
        application,
        scope: scopes.join(' '),
        claims: { ...claims, sub: claims.userId, iss: publicUrl, aud: publicUrl },
      }
    },
  )
}

const { responses: signOutUserResponses, sendRefusal } = routeRefusals(...serviceRefusals)

const signOutUserSchema = {
  tags: ['for other programs'],
  summary: 'End every session of a user',
  params: Type.Object({ id: Type.String() }),
  response: { 204: NoContent, ...signOutUserResponses },
}

/** Administrators can be signed out too, so a stolen key could keep out those who can stop it. */
const userLimiter: Limiter = {
  name: 'service_sign_outs',
  limit: limiters.service_sign_outs.limit,
  code: 'too_many_requests',
}

type SignOutUserRouteDependencies = {
  guards: Guards
  countedRequests: CountedRequests
  operatorChanges: OperatorChanges
  serviceCallers: ServiceCallers
}

export const signOutUserRoutes = (
  server: Server,
  { guards, countedRequests, operatorChanges, serviceCallers }: SignOutUserRouteDependencies,
) => {
  const onRequest = guards.service('sessions:end')
  const config = { countsIn: ['service_sign_outs'] as const }

  server.post(
    '/api/service/users/:id/sign-out',
    { schema: signOutUserSchema, onRequest, config },
    async (request, reply) => {
      const { id: userId } = request.params
      if (!isUuid(userId)) return sendRefusal(reply, refuse('not_found'))
      if (await countedRequests.count(userLimiter, userSubject(userId), request, reply)) return reply
      // Administrators can be signed out, too, because it costs them no more than a new sign-in now and then.
      const client = serviceCallers.actingClient(request, { protectedGroups: [] })
      const ended = await operatorChanges.endSessions({ userId, client })
      return isRefused(ended) ? sendRefusal(reply, refuse('not_found')) : reply.status(204).send()
    },
  )
}
