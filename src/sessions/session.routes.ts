import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AccessClaims } from '../contract/access-claims.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent, Nullable, SignedIn } from '../contract/schemas.js'
import { type Client, clientOf } from '../http/request-origin.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { seconds } from '../lib/durations.js'
import type { App } from '../service/open-http.js'
import { browserSessionsOf, mustComeAgain } from './callers.js'
import type { Unproven } from './rotation.js'
import { cacheHeader, forgetInBrowser, sendRenewed } from './session-cookies.js'
import type { CallerContext } from './session-facts.js'
import type { RefusedToken } from './tokens.js'

/**
 * The user, if this session got its access token a moment ago. A page asks for a refresh after a call was refused, but an answer of the
 * application may have set new tokens meanwhile. If these were exchanged at once, a request that is still under way with the former
 * tokens would look like a request of a thief. The database is asked, because another instance may have replaced the token in the last
 * second, by a change of groups: then the page would be refused there again and again.
 */
const userOfNewToken = async (
  { callers, sessions, sessionLookups }: App,
  request: FastifyRequest,
  sessionId: string,
) => {
  const claims = callers.claimsOf(request)
  if (claims?.sid !== sessionId || !sessions.isNew(claims)) return undefined
  const { userId, gen: generation } = claims
  if (!(await sessionLookups.isLive({ sessionId, userId, generation }))) return undefined
  return userIn(claims)
}

/** The user of a session whose tokens stay as they are. */
const userIn = ({ userId: id, username, email, name, exp }: AccessClaims) => ({
  user: { id, username, email, name: name ?? null },
  accessTokenExpiresAt: new Date(exp * 1000).toISOString(),
})

/** So long after its token has expired a browser may still send the access cookie, whose age counts from when the answer came. */
const latestCookie = 10 * seconds

/** Whether the browser had a reason to believe in an access token that is refused, for example since a change of the groups. */
const isBelieved = (judged: AccessClaims | RefusedToken, sessionId: string, now: Date) => {
  // Nobody knows any more what was in a token of a withdrawn key.
  if (isRefused(judged) && judged.refused === 'invalid') return true
  const { sid, exp } = isRefused(judged) ? judged.claims : judged
  return sid === sessionId && exp * 1000 > now.getTime() - latestCookie
}

/**
 * Answers a refresh of a bound session that has proven no key. A browser with the key asks for tokens by itself before the request leaves,
 * but only without an access cookie: one that it believes in and that is refused is taken away, and the request comes again in a second.
 * The other cookies stay, because the browser may be able to ask for tokens at its next request.
 */
const answerUnproven = (
  { callers, cookies, metrics, clock }: App,
  request: FastifyRequest,
  reply: FastifyReply,
  { sessionId, oldestGeneration }: Unproven,
) => {
  const comeAgain = refuse('unavailable', { retryAfter: 1 })
  // One of them was planted, and the browser believes in both.
  if (cookies.isDoubled(request, 'access_token')) {
    cookies.expireAccess(reply)
    return comeAgain
  }
  const judged = callers.judge(request)
  if (judged && !isRefused(judged) && judged.sid === sessionId && judged.gen >= oldestGeneration) return userIn(judged)
  if (judged && isBelieved(judged, sessionId, clock.now())) {
    cookies.expireAccess(reply)
    return comeAgain
  }
  return mustComeAgain(request, sessionId, metrics) ? comeAgain : refuse('device_proof_missing')
}

export const refreshRoutes = (server: Server, app: App) => {
  const { rotate, cookies, callers, limits } = app

  route(server, 'POST /api/auth/refresh', {
    // A request without a cookie is refused before the limiter counts it, because every visit to the login page asks for a refresh.
    guard: [callers.refreshTokenRequired, limits.session],
    tag: 'sessions',
    summary: 'Exchange the refresh token for a new pair of tokens',
    body: Nullable(
      Type.Object({ ifOld: Type.Optional(Type.Boolean({ description: 'Only if the access token is no longer new' })) }),
    ),
    security: [{ refreshToken: [] }],
    refuses: ['not_authenticated', 'device_proof_missing', 'unavailable'],
    answers: { 200: SignedIn },
    refusalHeaders: {
      401: { 'Set-Cookie': 'Clears access_token and refresh_token, if the session has ended' },
      503: { 'Set-Cookie': 'Clears access_token, if the browser has to get tokens of a bound session first' },
    },
    handle: async ({ body, request, reply }) => {
      const refreshToken = callers.refreshTokenOf(request)
      // A token that is not ours is left alone. Cookies are cleared only if their session has ended.
      if (!refreshToken) return refuse('not_authenticated')
      const current = body?.ifOld ? await userOfNewToken(app, request, refreshToken.claims.sid) : undefined
      if (current) return current
      const rotated = await rotate(refreshToken, clientOf(request), 'browser')
      if (!isRefused(rotated)) return sendRenewed(reply, cookies, rotated.issued)
      if (rotated.refused === 'unproven') return answerUnproven(app, request, reply, rotated)
      // The browser may already have the newer tokens, so an answer that lost a race does not change the cookies.
      if (rotated.refused !== 'replaced') cookies.clearSession(reply)
      return refuse('not_authenticated')
    },
  })
}

export type OwnedSession = { userId: string; sessionId: string }

const signOutOf = async ({ sessions, events }: App, { userId, sessionId }: OwnedSession, client: Client) => {
  if (await sessions.end('signed_out', { userId, sessionId }))
    await events.record({ kind: 'signed_out', userId, sessionId }, client)
}

/**
 * Ends the sessions of all cookies: the access token expires first, so the refresh token counts, too. If the cookies name several
 * sessions, one was planted, and all of them end.
 */
export const signOutHere = async (app: App, browserSessions: readonly OwnedSession[], client: Client) => {
  for (const session of browserSessions) await signOutOf(app, session, client)
}

/** Ends all sessions of the user. A caller whose session ended at another instance a moment ago is refused. */
const signOutEverywhere = async (app: App, context: CallerContext, refreshTokenSession: OwnedSession | undefined) => {
  const ended = await app.accountChanges.byCaller(context, 'signed_out_everywhere', async () => ({
    changes: { signed_out_everywhere: {} },
  }))
  // A change of the groups has just replaced this token. The browser renews it and asks again.
  if (isRefused(ended) && (await app.sessionLookups.isLiveForAnyToken(context.caller))) return refuse('outdated')
  if (refreshTokenSession) await signOutOf(app, refreshTokenSession, context.client)
  return ended
}

const clearsSession = 'Clears the cookies of the session'
const signedOut = withHeaders(NoContent, { 'Set-Cookie': clearsSession, ...cacheHeader })

export const logoutRoutes = (server: Server, app: App) => {
  const { guards, cookies, callers, csrf, limits } = app

  route(server, 'POST /api/auth/logout', {
    guard: [csrf.required, limits.logout],
    tag: 'sessions',
    summary: 'End this session',
    refuses: ['not_authenticated'],
    answers: { 204: signedOut },
    handle: async ({ request, reply }) => {
      await signOutHere(app, browserSessionsOf(app, request), clientOf(request))
      forgetInBrowser(reply, cookies)
      return undefined
    },
  })

  route(server, 'POST /api/auth/logout-all', {
    guard: guards.changeLimitedBy(limits.logout),
    tag: 'sessions',
    summary: 'End every session of the caller',
    refuses: [],
    answers: { 204: signedOut },
    refusalHeaders: { 401: { 'Set-Cookie': clearsSession } },
    handle: async ({ request, reply }) => {
      const ended = await signOutEverywhere(app, callers.contextOf(request), callers.sessionOfRefreshToken(request))
      if (isRefused(ended) && ended.refused === 'outdated') return refuse('not_authenticated')
      if (isRefused(ended)) {
        cookies.clearSession(reply)
        return ended
      }
      forgetInBrowser(reply, cookies)
      return undefined
    },
  })
}

export const csrfTokenRoutes = (server: Server, { csrf }: App) => {
  route(server, 'GET /api/auth/csrf-token', {
    guard: [],
    tag: 'request forgery',
    summary: 'The token to send as X-CSRF-Token, and the cookie that it belongs to',
    query: Type.Object({
      for: Type.Optional(
        Type.Literal('challenge', {
          description: 'A token for the sign-in that waits for its next step, even if this browser has a session',
        }),
      ),
    }),
    refuses: ['bad_request', 'cross_site', 'unavailable'],
    answers: {
      200: withHeaders(Type.Object({ csrfToken: Type.String() }), { 'Set-Cookie': 'csrf_secret, if there was none' }),
    },
    config: { unlimited: 'Every form needs one, and the answer needs no store' },
    exposeHeadRoute: false,
    handle: async ({ query, request, reply }) => {
      // `csrf_secret` is SameSite=Strict, so a navigation from another site comes without it. A new secret would replace the one in use.
      if (request.headers['sec-fetch-site'] === 'cross-site') return refuse('cross_site')
      return { csrfToken: csrf.issue(request, reply, query.for !== undefined) }
    },
  })
}
