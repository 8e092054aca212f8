import type { FastifyReply, FastifyRequest } from 'fastify'
import { everyValueOf } from '../contract/cookie-header.js'
import { refuse } from '../contract/outcome.js'
import type { Cookies } from '../http/cookies.js'
import { sendRefusal } from '../http/errors.js'
import { clientOf } from '../http/request-origin.js'
import { guardHook } from '../http/route.js'
import type { Metrics } from '../platform/metrics/metrics.js'
import type { RefreshToken, Tokens } from './tokens.js'

/** `generation` is the number of the token in its session: after a change of the password, earlier tokens may do less. */
export type Caller = { userId: string; username: string; sessionId: string; generation: number; expiresAt: Date }

/** The refresh token of a request. */
const createRefreshTokens = (cookies: Cookies, tokens: Tokens) => {
  const refreshTokens = new WeakMap<FastifyRequest, RefreshToken>()

  /** Finds expired tokens, too. The limiter and the handler ask for the same token, so its signature is checked once. */
  const refreshTokenOf = (request: FastifyRequest): RefreshToken | undefined => {
    const cached = refreshTokens.get(request)
    if (cached) return cached
    const text = cookies.read(request, 'refresh_token')
    const token = text === undefined ? undefined : tokens.readRefresh(text)
    if (token) refreshTokens.set(request, token)
    return token
  }

  /** The session of the refresh token, which may be old or expired. */
  const sessionOfRefreshToken = (request: FastifyRequest) => {
    const claims = refreshTokenOf(request)?.claims
    return claims && { userId: claims.userId, sessionId: claims.sid }
  }

  /** A refresh token that has not expired. Only the row of its session tells whether it was used before. */
  const refreshableTokenOf = (request: FastifyRequest) => {
    const token = refreshTokenOf(request)
    return token && !tokens.hasExpired(token.claims) ? token : undefined
  }

  return { refreshTokenOf, sessionOfRefreshToken, refreshableTokenOf }
}

export type Callers = ReturnType<typeof createCallers>

/** `learn` waits for the key of a token, if another instance may have made it a moment ago. */
type Given = { cookies: Cookies; tokens: Tokens; loadedKeys: { learn(token: string): Promise<void> | undefined } }

/**
 * Finds out who is calling, from the signed cookie and the list of ended sessions in memory. No store is asked, so none can delay the
 * answer; only a request with a token of an unknown key waits (`learnKey`).
 */
export const createCallers = ({ cookies, tokens, loadedKeys }: Given) => {
  const callersByRequest = new WeakMap<FastifyRequest, Caller>()

  const claimsOf = (request: FastifyRequest) => {
    const token = cookies.read(request, 'access_token')
    return token === undefined ? undefined : tokens.readAccess(token)
  }

  /** All claims of the access token, or why it is not accepted. Undefined without a token. */
  const judge = (request: FastifyRequest) => {
    const token = cookies.read(request, 'access_token')
    return token === undefined ? undefined : tokens.judgeAccess(token)
  }

  const find = (request: FastifyRequest): Caller | undefined => {
    const cached = callersByRequest.get(request)
    if (cached) return cached
    const claims = claimsOf(request)
    if (!claims) return undefined
    const { userId, username, sid: sessionId, gen: generation, exp } = claims
    const caller = { userId, username, sessionId, generation, expiresAt: new Date(exp * 1000) }
    callersByRequest.set(request, caller)
    return caller
  }

  const { refreshTokenOf, sessionOfRefreshToken, refreshableTokenOf } = createRefreshTokens(cookies, tokens)

  /** A hook that runs before all hooks that ask who is calling. It waits only for a token whose key this instance does not know yet. */
  const learnKey = (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
    const token = cookies.read(request, 'access_token')
    const learning = token === undefined ? undefined : loadedKeys.learn(token)
    if (learning) void learning.then(done)
    else done()
  }

  /** The caller, for handlers behind `required`. */
  const of = (request: FastifyRequest) => {
    const caller = find(request)
    if (!caller) throw new Error('A handler asked for its caller without requiring one')
    return caller
  }

  return {
    learnKey,
    find,
    judge,
    /** All claims of a valid access token. */
    claimsOf,
    refreshTokenOf,
    sessionOfRefreshToken,
    /** The session that either cookie names: the access cookie expires while the session is still valid. */
    sessionOf: (request: FastifyRequest) => find(request)?.sessionId ?? refreshTokenOf(request)?.claims.sid,
    /** The session of a token that has not expired. The refresh token comes first, because a refresh is about its session. */
    currentSessionOf: (request: FastifyRequest) => refreshableTokenOf(request)?.claims.sid ?? find(request)?.sessionId,
    refreshableTokenOf,
    /**
     * The caller of a request that gives away more than an access token can, such as a code for an application. It needs the refresh token
     * of the same session, too: a copied access token, which lasts for minutes, is not enough alone.
     */
    holderOf: (request: FastifyRequest) => {
      const caller = find(request)
      const refreshToken = refreshableTokenOf(request)
      return caller && caller.sessionId === refreshToken?.claims.sid ? { ...caller, refreshToken } : undefined
    },
    required: guardHook({ byAccessToken: true }, ['not_authenticated'], async (request, reply) =>
      find(request) ? undefined : sendRefusal(reply, refuse('not_authenticated')),
    ),
    /** Refuses a request without a refresh token, whatever it is. */
    refreshTokenRequired: guardHook({}, ['not_authenticated', 'cross_site'], async (request, reply) =>
      cookies.read(request, 'refresh_token') === undefined
        ? sendRefusal(reply, refuse('not_authenticated'))
        : undefined,
    ),
    of,
    /** The caller, with the client that events and mails need. */
    contextOf: (request: FastifyRequest) => ({ caller: of(request), client: clientOf(request) }),
  }
}

const skipReasons = ['unreachable', 'server_error', 'quota_exceeded'] as const

/**
 * Whether a request without new tokens of its bound session has to come again: the browser says why it could not get them, and names the
 * session if there are several. After `quota_exceeded` it asks for none for minutes, and a new sign-in helps at once.
 */
export const mustComeAgain = (
  { headers }: FastifyRequest,
  sessionId: string,
  metrics: Pick<Metrics, 'countBoundSession'> | undefined,
) => {
  const skipped = headers['secure-session-skipped']
  const entries = typeof skipped === 'string' ? skipped.split(',') : []
  const own = entries.find((entry) => entry.includes(sessionId) || !entry.includes('session_identifier'))
  const reason = skipReasons.find((each) => each === own?.trim().split(';')[0])
  if (reason) metrics?.countBoundSession(`skipped_${reason}`)
  return reason === 'unreachable' || reason === 'server_error'
}

/** `username` comes from an access token; a refresh token does not have it. */
export type BrowserSession = { userId: string; sessionId: string; username?: string }

/** Bounds the work for planted cookies. Browsers send cookies with a longer path first; ours have `Path=/`, so the last values are read. */
const maxValuesPerName = 8
const tokenShape = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * The sessions of all tokens in the cookies of a request, also of a cookie that came twice: one of the two was planted, and we cannot
 * know which. Use it for sign-outs only, which may end both.
 */
export const browserSessionsOf = (
  { tokens }: { tokens: Tokens },
  { headers: { cookie = '' } }: FastifyRequest,
): readonly BrowserSession[] => {
  const valuesOf = (name: string) =>
    everyValueOf(cookie, name)
      .filter((value) => tokenShape.test(value))
      .slice(-maxValuesPerName)
  const access = valuesOf('access_token').flatMap((text) => tokens.readAccess(text) ?? [])
  const refresh = valuesOf('refresh_token').flatMap((text) => tokens.readRefresh(text)?.claims ?? [])
  const sessions = new Map<string, BrowserSession>()
  for (const { userId, sid, username } of access) sessions.set(sid, { userId, sessionId: sid, username })
  for (const { userId, sid } of refresh) if (!sessions.has(sid)) sessions.set(sid, { userId, sessionId: sid })
  return [...sessions.values()]
}
