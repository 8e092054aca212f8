import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent, Nullable, SignedIn } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import { type Client, clientOf } from '../http/request-origin.js'
import { guardRefusals, routeRefusals, withCookies, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Events } from '../messages/events.js'
import type { BrowserSessionsOf, Callers } from './callers.js'
import type { Csrf } from './csrf.js'
import type { Guards, Limits } from './guards.js'
import type { Rotations } from './rotation.js'
import { cacheHeader, forgetInBrowser, sendRenewed } from './session-cookies.js'
import type { CallerContext } from './session-facts.js'
import type { SessionLookups } from './session-lookups.js'
import type { Sessions } from './sessions.js'

const { responses: refreshResponses, sendRefusal: refreshSendRefusal } = routeRefusals(
  'not_authenticated',
  'cross_site',
  'too_many_requests',
  'unavailable',
)

const refreshSchema = {
  tags: ['sessions'],
  summary: 'Exchange the refresh token for a new pair of tokens',
  body: Nullable(
    Type.Object({ ifOld: Type.Optional(Type.Boolean({ description: 'Only if the access token is no longer new' })) }),
  ),
  security: [{ refreshToken: [] }],
  response: {
    200: SignedIn,
    ...withCookies(refreshResponses, { 401: 'Clears access_token and refresh_token, if the session has ended' }),
  },
}

type RefreshRouteDependencies = {
  rotate: Rotations
  cookies: Cookies
  callers: Callers
  limits: Limits
  sessions: Sessions
  sessionLookups: SessionLookups
}

export const refreshRoutes = (server: Server, deps: RefreshRouteDependencies) => {
  const { rotate, cookies, callers, limits, sessions, sessionLookups } = deps

  /** Refuses a request without a cookie before the limiter counts it, because every visit to the login page asks for a refresh. */
  const tokenRequired = async (request: FastifyRequest, reply: FastifyReply) =>
    cookies.read(request, 'refresh_token') === undefined
      ? refreshSendRefusal(reply, refuse('not_authenticated'))
      : undefined

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

  server.post(
    '/api/auth/refresh',
    { schema: refreshSchema, onRequest: [tokenRequired, limits.session] },
    async (request, reply) => {
      const refreshToken = callers.refreshTokenOf(request)
      // A token that is not ours is left alone. Cookies are cleared only if their session has ended.
      if (!refreshToken) return refreshSendRefusal(reply, refuse('not_authenticated'))
      const current = request.body?.ifOld ? await userOfNewToken(request, refreshToken.claims.sid) : undefined
      if (current) return reply.send(current)
      const rotated = await rotate(refreshToken, clientOf(request), 'browser')
      if (!isRefused(rotated)) return sendRenewed(reply, cookies, rotated.issued)
      // The browser may already have the newer tokens, so an answer that lost a race does not change the cookies.
      if (rotated.refused !== 'replaced') cookies.clearSession(reply)
      return refreshSendRefusal(reply, refuse('not_authenticated'))
    },
  )
}

type OwnedSession = { userId: string; sessionId: string }

type LogoutDependencies = {
  accountChanges: AccountChanges
  sessions: Sessions
  sessionLookups: SessionLookups
  events: Events
}

export const createLogout = ({ accountChanges, sessions, sessionLookups, events }: LogoutDependencies) => {
  const endOne = async ({ userId, sessionId }: OwnedSession, client: Client) => {
    if (await sessions.end('signed_out', { userId, sessionId }))
      await events.record({ kind: 'signed_out', userId, sessionId }, client)
  }

  return {
    /**
     * Ends the sessions of all cookies: the access token expires first, so the refresh token counts, too. If the cookies name several
     * sessions, one was planted, and all of them end.
     */
    here: async (browserSessions: readonly OwnedSession[], client: Client) => {
      for (const session of browserSessions) await endOne(session, client)
    },
    /** Ends all sessions of the user. A caller whose session ended at another instance a moment ago is refused. */
    everywhere: async (context: CallerContext, refreshTokenSession: OwnedSession | undefined) => {
      const ended = await accountChanges.byCaller(context, 'signed_out_everywhere', async () => ({
        changes: { signed_out_everywhere: {} },
      }))
      // A change of the groups has just replaced this token. The browser renews it and asks again.
      if (isRefused(ended) && (await sessionLookups.isLiveForAnyToken(context.caller))) return refuse('outdated')
      if (refreshTokenSession) await endOne(refreshTokenSession, context.client)
      return ended
    },
  }
}

const { responses: logoutResponses, sendRefusal: logoutSendRefusal } = routeRefusals(...guardRefusals)
const clearsSession = 'Clears the cookies of the session'
const response = { 204: withHeaders(NoContent, { 'Set-Cookie': clearsSession, ...cacheHeader }), ...logoutResponses }
const logoutSchema = { tags: ['sessions'], summary: 'End this session', response }
const everywhereSchema = {
  tags: ['sessions'],
  summary: 'End every session of the caller',
  response: withCookies(response, { 401: clearsSession }),
}

type LogoutRouteDependencies = {
  guards: Guards
  logout: ReturnType<typeof createLogout>
  cookies: Cookies
  callers: Callers
  browserSessionsOf: BrowserSessionsOf
  csrf: Csrf
  limits: Limits
}

export const logoutRoutes = (server: Server, deps: LogoutRouteDependencies) => {
  const { guards, logout, cookies, callers, browserSessionsOf, csrf, limits } = deps

  server.post(
    '/api/auth/logout',
    { schema: logoutSchema, onRequest: [csrf.required, limits.logout] },
    async (request, reply) => {
      await logout.here(browserSessionsOf(request), clientOf(request))
      forgetInBrowser(reply, cookies)
      return reply.status(204).send()
    },
  )

  const everywhereOptions = { schema: everywhereSchema, onRequest: guards.changeLimitedBy(limits.logout) }
  server.post('/api/auth/logout-all', everywhereOptions, async (request, reply) => {
    const ended = await logout.everywhere(callers.contextOf(request), callers.sessionOfRefreshToken(request))
    if (isRefused(ended) && ended.refused === 'outdated') return logoutSendRefusal(reply, refuse('not_authenticated'))
    if (isRefused(ended)) {
      cookies.clearSession(reply)
      return logoutSendRefusal(reply, ended)
    }
    forgetInBrowser(reply, cookies)
    return reply.status(204).send()
  })
}

const { responses: csrfTokenResponses, sendRefusal: csrfTokenSendRefusal } = routeRefusals(
  'bad_request',
  'cross_site',
  'unavailable',
)

const csrfTokenSchema = {
  tags: ['request forgery'],
  summary: 'The token to send as X-CSRF-Token, and the cookie that it belongs to',
  querystring: Type.Object({
    for: Type.Optional(
      Type.Literal('challenge', {
        description: 'A token for the sign-in that waits for its next step, even if this browser has a session',
      }),
    ),
  }),
  response: {
    200: withHeaders(Type.Object({ csrfToken: Type.String() }), { 'Set-Cookie': 'csrf_secret, if there was none' }),
    ...csrfTokenResponses,
  },
}

export const csrfTokenRoutes = (server: Server, { csrf }: { csrf: Csrf }) => {
  const config = { unlimited: 'Every form needs one, and the answer needs no store' }
  server.get(
    '/api/auth/csrf-token',
    { schema: csrfTokenSchema, config, exposeHeadRoute: false },
    async (request, reply) => {
      // `csrf_secret` is SameSite=Strict, so a navigation from another site comes without it. A new secret would replace the one in use.
      if (request.headers['sec-fetch-site'] === 'cross-site') return csrfTokenSendRefusal(reply, refuse('cross_site'))
      return reply.send({ csrfToken: csrf.issue(request, reply, request.query.for !== undefined) })
    },
  )
}
