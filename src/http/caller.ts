import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../contract/outcome.js'
import type { LoadedKeys } from '../domain/signing-keys/loaded-keys.js'
import type { RefreshToken, Tokens } from '../domain/tokens/tokens.js'
import { clientOf } from './client.js'
import type { Cookies } from './cookies/cookies.js'
import { sendRefusal } from './errors.js'

/** `generation` is the number of the token in its session: after a change of the password the earlier ones may do less. */
export type Caller = { userId: string; username: string; sessionId: string; generation: number; expiresAt: Date }

export type Callers = ReturnType<typeof createCallers>

type Dependencies = { cookies: Cookies; tokens: Tokens; loadedKeys: Pick<LoadedKeys, 'learn'> }

/** The refresh token of a request. */
const createRefreshTokens = ({ cookies, tokens }: Pick<Dependencies, 'cookies' | 'tokens'>) => {
  const refreshTokens = new WeakMap<FastifyRequest, RefreshToken>()

  /** Expired ones too. The limiter and the handler ask for the same token: its signature is checked once. */
  const refreshTokenOf = (request: FastifyRequest): RefreshToken | undefined => {
    const cached = refreshTokens.get(request)
    if (cached) return cached
    const text = cookies.read(request, 'refresh_token')
    const token = text === undefined ? undefined : tokens.readRefresh(text)
    if (token) refreshTokens.set(request, token)
    return token
  }

  /** The session of the refresh token, which may be old or expired. */
  const refreshedSessionOf = (request: FastifyRequest) => {
    const claims = refreshTokenOf(request)?.claims
    return claims && { userId: claims.userId, sessionId: claims.sid }
  }

  /** One that has not expired. Whether it was used before, only its session's row knows. */
  const refreshableTokenOf = (request: FastifyRequest) => {
    const token = refreshTokenOf(request)
    return token && !tokens.hasExpired(token.claims) ? token : undefined
  }

  return { refreshTokenOf, refreshedSessionOf, refreshableTokenOf }
}

type RefreshTokens = ReturnType<typeof createRefreshTokens>

/** Finds the holder of a session for what lasts as long as the session: an access token alone, which lasts for minutes, is not enough. */
const createHolderOf =
  (
    findCaller: (request: FastifyRequest) => Caller | undefined,
    refreshableTokenOf: RefreshTokens['refreshableTokenOf'],
  ) =>
  (request: FastifyRequest) => {
    const caller = findCaller(request)
    const refreshToken = refreshableTokenOf(request)
    return caller && caller.sessionId === refreshToken?.claims.sid ? { ...caller, refreshToken } : undefined
  }

/**
 * The access check: who is calling, from the signed cookie and the list of ended sessions in memory. It asks no store, so no
 * store can delay it; only a token of an unknown key waits (`learnKey`).
 */
export const createCallers = ({ cookies, tokens, loadedKeys }: Dependencies) => {
  const callersByRequest = new WeakMap<FastifyRequest, Caller>()

  const claimsOf = (request: FastifyRequest) => {
    const token = cookies.read(request, 'access_token')
    return token === undefined ? undefined : tokens.readAccess(token)
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

  const { refreshTokenOf, refreshedSessionOf, refreshableTokenOf } = createRefreshTokens({ cookies, tokens })

  /** A hook before all that ask who is calling: only a token of a key that this instance does not know yet makes it wait. */
  const learnKey = (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
    const token = cookies.read(request, 'access_token')
    const learning = token === undefined ? undefined : loadedKeys.learn(token)
    if (learning) void learning.then(done)
    else done()
  }

  /** For handlers behind `required`. */
  const of = (request: FastifyRequest) => {
    const caller = find(request)
    if (!caller) throw new Error('A handler asked for its caller without requiring one')
    return caller
  }

  return {
    learnKey,
    find,
    /** All that a valid access token says. */
    claimsOf,
    refreshTokenOf,
    refreshedSessionOf,
    /** The session by either of its cookies: the access cookie expires first, and the session is still valid. */
    sessionOf: (request: FastifyRequest) => find(request)?.sessionId ?? refreshTokenOf(request)?.claims.sid,
    /** The same, but only by a token that has not expired. A refresh is about the session of its refresh token. */
    currentSessionOf: (request: FastifyRequest) => refreshableTokenOf(request)?.claims.sid ?? find(request)?.sessionId,
    refreshableTokenOf,
    /** The caller with the refresh token of the same session. */
    holderOf: createHolderOf(find, refreshableTokenOf),
    required: async (request: FastifyRequest, reply: FastifyReply) =>
      find(request) ? undefined : sendRefusal(reply, refuse('not_authenticated')),
    of,
    /** The same, with what events and mails need to know of the request. */
    contextOf: (request: FastifyRequest) => ({ caller: of(request), client: clientOf(request) }),
  }
}
