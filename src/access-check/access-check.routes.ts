import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AccessClaims } from '../contract/access-claims.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { Caller, NoContent } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import { clientNetwork, clientOf } from '../http/request-origin.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { createOncePerWindow } from '../lib/recent.js'
import type { Metrics, RefusedCheck } from '../platform/metrics/metrics.js'
import type { BoundSessions } from '../sessions/bound-sessions.js'
import { type Callers, mustComeAgain } from '../sessions/callers.js'
import type { ReserveRotation } from '../sessions/guards.js'
import type { Rotations } from '../sessions/rotation.js'
import { offerBinding } from '../sessions/session-cookies.js'
import type { IssuedTokens } from '../sessions/sessions.js'
import type { RefreshToken, RefusedToken, Tokens } from '../sessions/tokens.js'
import { type Conditions, readConditions, refusalFor } from './conditions.js'
import { identityHeaders, identityOf } from './identity-headers.js'

const security: Record<string, string[]>[] = [{ accessToken: [] }, { refreshToken: [] }]
const refreshMaxAge = 'X-Auth-Refresh-Max-Age'
const renewedHeaders = {
  'Set-Cookie': 'With renew=1, if the tokens were renewed: access_token and refresh_token',
  [refreshMaxAge]:
    'With Set-Cookie: Max-Age of the new refresh_token in seconds, for a proxy that sees only the values of cookies',
}
const verifyDescription =
  'With `renew=1` an access token that is missing or has expired is renewed by the refresh cookie, and the answer sets both cookies. A 403 has X-Auth-Step-Up with the page that helps. Other parameters: 400.'
const verifyQuery = Type.Object({
  renew: Type.Optional(Type.Literal('1')),
  fresh: Type.Optional(Type.String({ description: 'The longest time since the last proof, such as 10m' })),
  factors: Type.Optional(Type.Literal('2')),
  group: Type.Optional(
    Type.String({
      description: 'Names of groups, with commas between them: the user must be a member of one of them',
    }),
  ),
})
const allowed = withHeaders(NoContent, {
  ...Object.fromEntries(identityHeaders.map((name) => [name, 'Who the user is; empty if it is not known'])),
  ...renewedHeaders,
})

/** What of the app the routes use. The test of the fast lane has no stores, and gives its own. */
type AccessCheckParts = {
  callers: Callers
  cookies: Cookies
  tokens: { readAccess: Tokens['readAccess'] }
  rotate: Rotations
  reserveRotation: ReserveRotation
  boundSessions: Pick<BoundSessions, 'offerAfterProvider'>
  clock: Clock
  log: { info: (details: object, message: string) => void }
  metrics: Pick<Metrics, 'countRefusedCheck' | 'countBoundSession'> | undefined
}

type Judged = AccessClaims | RefusedToken | undefined

/** Whether the proxy asks for a group, but the token is from a release that knew no groups. */
const lacksGroups = (claims: AccessClaims, { groups }: Conditions) =>
  groups !== undefined && claims.groups === undefined

/**
 * The refresh token for a renewal; undefined if there is none. If a session cookie came twice, one was planted, and only the login
 * page can clear it.
 */
const renewableTokenIn = (request: FastifyRequest, { callers, cookies }: AccessCheckParts) =>
  request.method === 'GET' && !cookies.hasDoubledSessionCookie(request) ? callers.refreshTokenOf(request) : undefined

const checkConfig = { quiet: true, unlimited: 'Sent with each request of an application, and needs no store' }

const addCallerRoute = (server: Server, { callers, boundSessions }: AccessCheckParts) =>
  route(server, 'GET /api/auth/me', {
    guard: [callers.required],
    tag: 'who am I',
    summary: 'Who the caller is, from the access token alone',
    refuses: ['unavailable'],
    answers: {
      200: withHeaders(Caller, {
        'Secure-Session-Registration': 'Right after a sign-in at a provider: offers to bind the session to the device',
      }),
    },
    config: checkConfig,
    handle: async ({ request, reply }) => {
      const claims = callers.claimsOf(request)
      if (claims) offerBinding(reply, boundSessions.offerAfterProvider(claims))
      const { userId, username, sessionId, expiresAt } = callers.of(request)
      return { user: { id: userId, username }, sessionId, expiresAt: expiresAt.toISOString() }
    },
  })

export const accessCheckRoutes = (server: Server, parts: AccessCheckParts) => {
  const { callers, cookies, tokens, clock } = parts
  const renewTokens = createRenewal(parts)
  const noteRefusedCheck = createNoteRefusedCheck(parts)
  addCallerRoute(server, parts)

  /** Renews the tokens, sets them in the answer, and returns the new claims. */
  const renewClaims = async (request: FastifyRequest, reply: FastifyReply) => {
    const refreshToken = renewableTokenIn(request, parts)
    const issued = refreshToken ? await renewTokens(refreshToken, request) : refuse('not_authenticated')
    if (isRefused(issued)) return issued
    cookies.renewThroughProxy(reply, issued)
    // nginx writes the line of the refresh cookie itself and knows only its value, so the age comes in a header.
    reply.header(refreshMaxAge, String(issued.refreshTokenMaxAge))
    return tokens.readAccess(issued.accessToken) ?? refuse('not_authenticated')
  }

  const claimsFor = async (request: FastifyRequest, reply: FastifyReply, judged: Judged, conditions: Conditions) => {
    const claims = isRefused(judged) ? undefined : judged
    if (claims && !(conditions.renew && lacksGroups(claims, conditions) && renewableTokenIn(request, parts)))
      return claims
    return conditions.renew ? renewClaims(request, reply) : refuse('not_authenticated')
  }

  /** Notes that the tokens of the request did not sign anyone in. A visitor without a token has tried nothing. */
  const noteSignedOut = (request: FastifyRequest, judged: Judged, { renew }: Conditions) => {
    if (cookies.hasDoubledSessionCookie(request)) return noteRefusedCheck(request, 'doubled')
    const refreshToken = renew ? renewableTokenIn(request, parts) : undefined
    if (refreshToken) return noteRefusedCheck(request, 'not_renewed', refreshToken.claims)
    if (isRefused(judged))
      return noteRefusedCheck(request, judged.refused, 'claims' in judged ? judged.claims : undefined)
    const isRefreshTried = renew && request.method === 'GET' && cookies.read(request, 'refresh_token') !== undefined
    return isRefreshTried ? noteRefusedCheck(request, 'invalid') : undefined
  }

  route(server, 'GET /api/auth/verify', {
    guard: [],
    tag: 'who am I',
    summary: 'The access check for a reverse proxy: 204 with X-Auth-… headers that name the user, or a refusal',
    description: verifyDescription,
    query: verifyQuery,
    // `readConditions` takes the place of the schema, which would drop a parameter that it does not know.
    validatorCompiler: () => () => true,
    security,
    refuses: ['bad_request', 'not_authenticated', 'group_required', 'step_up_required', 'unavailable'],
    refusalHeaders: {
      403: {
        'X-Auth-Step-Up': 'The page where the user can prove it again, or sees that this account has no access',
        ...renewedHeaders,
      },
    },
    answers: { 204: allowed },
    config: {
      ...checkConfig,
      isAccessCheck: true,
      // A request from another site is answered as one without cookies, so that the proxy sends the user to the login page.
      crossSite: refuse('not_authenticated'),
      countsIn: ['session'],
    },
    handle: async ({ query, request, reply }) => {
      const conditions = readConditions(query)
      if (isRefused(conditions)) return conditions
      const judged = callers.judge(request)
      const claims = await claimsFor(request, reply, judged, conditions)
      if (isRefused(claims)) {
        if (claims.refused === 'not_authenticated') noteSignedOut(request, judged, conditions)
        return claims
      }
      const refusal = refusalFor(claims, conditions, clock.now())
      if (refusal) {
        noteRefusedCheck(request, refusal.refused, claims, conditions.groups)
        reply.header('X-Auth-Step-Up', refusal.page)
        return refusal
      }
      const identity = identityOf(claims)
      for (const [index, name] of identityHeaders.entries()) reply.header(name, identity[index])
      return reply.send()
    },
  })
}

type RenewalOutcome = IssuedTokens | Refused<'not_authenticated' | 'unavailable'>

/**
 * New tokens for a request that came through a proxy. A page sends many requests at once, all with the same refresh token: those that
 * arrive while the token is being exchanged share one exchange. Only an exchange that rotates the token counts in the limit of
 * refreshes, so the many requests of one page count once.
 */
const createRenewal = ({ rotate, reserveRotation, metrics }: AccessCheckParts) => {
  const exchanges = new Map<string, Promise<RenewalOutcome>>()

  const exchange = async (token: RefreshToken, request: FastifyRequest): Promise<RenewalOutcome> => {
    const { granted, retryAfter, refund } = await reserveRotation(request)
    if (!granted) return refuse('unavailable', { retryAfter })
    let isRotated = false
    try {
      const rotated = await rotate(token, clientOf(request), 'proxy')
      if (isRefused(rotated)) {
        const waits = rotated.refused === 'unproven' && mustComeAgain(request, rotated.sessionId, metrics)
        return waits ? refuse('unavailable', { retryAfter: 1 }) : refuse('not_authenticated')
      }
      isRotated = !rotated.raced
      return rotated.issued
    } finally {
      if (!isRotated) await refund()
    }
  }

  return (token: RefreshToken, request: FastifyRequest) => {
    const pending = exchanges.get(token.text) ?? exchange(token, request).finally(() => exchanges.delete(token.text))
    exchanges.set(token.text, pending)
    return pending
  }
}

/** Whom the token named, if it was ours: of a refresh token that could not be exchanged, the session is known, too. */
type Named = { userId: string; sid: string }

/** A check with many parallel requests, or a page that asks again and again, causes one line in this time. */
const logWindow = 1 * minutes
const maxSessions = 5_000
const maxNetworks = 1_000

/**
 * Counts and logs refused access checks: somebody asked for what their groups, their proofs or their token do not open. A request without
 * any token is not among them: it is a visitor. Only a token of ours can name a session, so tokens that strangers make up are told apart by
 * their network, and cannot fill the memory of sessions.
 */
const createNoteRefusedCheck = ({ log, clock, metrics }: AccessCheckParts) => {
  const isFirstOfSession = createOncePerWindow({ maxKeys: maxSessions, clock })
  const isFirstOfNetwork = createOncePerWindow({ maxKeys: maxNetworks, clock })

  return (request: FastifyRequest, reason: RefusedCheck, named?: Named, groups?: readonly string[]) => {
    metrics?.countRefusedCheck(reason)
    const isFirst = named ? isFirstOfSession(named.sid, logWindow) : isFirstOfNetwork(clientNetwork(request), logWindow)
    if (!isFirst) return
    const who = named && { userId: named.userId, sessionId: named.sid }
    const { ip } = clientOf(request)
    log.info({ requestId: request.id, reason, ...who, ...(groups && { groups }), ip }, 'access check refused')
  }
}
