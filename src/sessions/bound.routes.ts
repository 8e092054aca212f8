import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { limiterKey, limiters, sessionSubject } from '../http/limiters.js'
import { clientOf } from '../http/request-origin.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { App } from '../service/open-http.js'
import { refreshPath, registerPath } from './bound-sessions.js'
import { createRegistrationGuards } from './guards.js'
import type { RefreshToken } from './tokens.js'

const Instructions = Type.Object({
  session_identifier: Type.String(),
  refresh_url: Type.String(),
  scope: Type.Object({ include_site: Type.Boolean() }),
  credentials: Type.Array(Type.Object({ type: Type.String(), name: Type.String(), attributes: Type.String() })),
})

/** The value of a header of the protocol. The draft has it in quotes; browsers send it without. */
const sentValue = ({ headers }: FastifyRequest, name: string) => {
  const value = headers[name]
  return typeof value === 'string' ? value.replace(/^"(.*)"$/, '$1') : undefined
}

const proofOf = (request: FastifyRequest) => sentValue(request, 'secure-session-response')

/**
 * What a browser does from now on. There is no list of addresses in the scope: every request waits for new tokens, but that to the address
 * where it gets them.
 */
const instructionsFor = ({ cookies }: App, sessionId: string) => ({
  session_identifier: sessionId,
  refresh_url: refreshPath,
  scope: { include_site: false },
  credentials: [{ type: 'cookie', ...cookies.accessCookie }],
})

/** Records a proof that the key of the session has not signed: at most once a minute, and a mail after the third within an hour. */
const noteRefusedProof = async (app: App, { claims }: RefreshToken, request: FastifyRequest) => {
  const { cache, events, accountChanges, metrics } = app
  const { userId, sid: sessionId, gen: generation } = claims
  const client = clientOf(request)
  const count = async (name: 'refused_proofs' | 'refused_proof_events') => {
    const reserved = await cache.reserve(limiterKey(name, sessionSubject(sessionId)), limiters[name].limit)
    if (!reserved.granted) metrics?.countRejection(name)
    return reserved
  }
  const [ofMail, ofEvent] = await Promise.all([count('refused_proofs'), count('refused_proof_events')])
  if (ofEvent.granted) await events.record({ kind: 'device_proof_refused', userId, sessionId }, client)
  if (ofMail.granted && ofMail.remaining === 0)
    await accountChanges.byOldToken(
      { caller: { userId, sessionId, generation }, client },
      'device_proofs_refused',
      async () => ({ changes: { device_proofs_refused: {} } }),
    )
}

/** A refusal never sets a cookie: the session of another sign-in in this browser may be the newer one. */
const registerRoute = (server: Server, app: App) => {
  const { boundSessions, callers, cookies, limits, metrics } = app

  const { isOffered, notByScript } = createRegistrationGuards(boundSessions, metrics)
  route(server, `POST ${registerPath}`, {
    hidden: true,
    guard: [isOffered, limits.session, notByScript],
    refuses: ['not_authenticated', 'session_bound'],
    answers: { 200: withHeaders(Instructions, { 'Set-Cookie': 'New access_token and refresh_token' }) },
    handle: async ({ request, reply }) => {
      const refreshToken = callers.refreshableTokenOf(request)
      const bound = refreshToken
        ? await boundSessions.register(refreshToken, proofOf(request) ?? '', clientOf(request))
        : refuse('token')
      if (!isRefused(bound)) {
        metrics?.countBoundSession('registered')
        cookies.renewSession(reply, bound)
        return instructionsFor(app, bound.sessionId)
      }
      metrics?.countBoundSession(`registration_refused_${bound.refused}`)
      return refuse(bound.refused === 'bound' ? 'session_bound' : 'not_authenticated')
    },
  })
}

/** The token of the session that the browser names. Two cookies: a sibling host has planted one, and the session must not end by that. */
const tokenOfNamedSession = ({ callers, cookies, metrics }: App, request: FastifyRequest) => {
  const sessionId = sentValue(request, 'sec-secure-session-id')
  if (sessionId !== undefined && cookies.isDoubled(request, 'refresh_token')) {
    metrics?.countBoundSession('refused_doubled')
    return refuse('unavailable', { retryAfter: 1 })
  }
  const refreshToken = callers.refreshableTokenOf(request)
  if (refreshToken && refreshToken.claims.sid === sessionId) return refreshToken
  metrics?.countBoundSession('refused_other_session')
  return refuse('not_authenticated')
}

/** Only 401 ends the session in the browser, for good. So would 429: a reached limit is 503. */
const refreshRoute = (server: Server, app: App) => {
  const { boundSessions, cookies, reserveBoundRefresh, metrics } = app

  route(server, `POST ${refreshPath}`, {
    hidden: true,
    guard: [],
    refuses: ['not_authenticated', 'device_proof_required', 'cross_site', 'unavailable'],
    answers: { 200: withHeaders(Instructions, { 'Set-Cookie': 'New access_token and refresh_token' }) },
    config: { countsIn: ['bound_refreshes'] },
    handle: async ({ request, reply }) => {
      const refreshToken = tokenOfNamedSession(app, request)
      if (isRefused(refreshToken)) return refreshToken
      const { granted, retryAfter } = await reserveBoundRefresh(refreshToken.claims.sid, request)
      if (!granted) {
        metrics?.countBoundSession('refused_limited')
        return refuse('unavailable', { retryAfter })
      }
      const refreshed = await boundSessions.refresh(refreshToken, proofOf(request), clientOf(request))
      if (!isRefused(refreshed)) {
        metrics?.countBoundSession('refreshed')
        cookies.renewSession(reply, refreshed)
        return instructionsFor(app, refreshed.sessionId)
      }
      if (refreshed.refused === 'challenged') {
        metrics?.countBoundSession('challenged')
        reply.header('secure-session-challenge', `"${refreshed.challenge}";id="${refreshToken.claims.sid}"`)
        return refuse('device_proof_required')
      }
      metrics?.countBoundSession(`refused_${refreshed.refused}`)
      if (refreshed.refused === 'proof') await noteRefusedProof(app, refreshToken, request)
      // The next request of the browser has the token that a step-up has put into its place.
      return refreshed.refused === 'replaced' ? refuse('unavailable', { retryAfter: 1 }) : refuse('not_authenticated')
    },
  })
}

/**
 * The two requests of browsers that bind sessions to their device. Both come without `Origin`, `Sec-Fetch-Site`, body and content type.
 */
export const boundRoutes = (server: Server, app: App) => {
  registerRoute(server, app)
  refreshRoute(server, app)
}
