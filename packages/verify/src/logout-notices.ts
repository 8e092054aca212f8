import type { Answer } from './answers.js'
import { type Fetch, reasonOf } from './bounded-fetch.js'
import { createIssuerKeys, hasSignature } from './issuer-keys.js'
import type { OpenidSession, OpenidSessions } from './openid-sessions.js'
import { isObject, readObject, splitToken } from './token-text.js'

/** In milliseconds, and longer than a notice is accepted after it was made. */
const memory = 900_000

/** The notices of the last minutes: each counts once. */
const createMemory = (now: () => number) => {
  const seen = new Map<string, LogoutNotice & { seenAt: number; number: number }>()
  let count = 0
  return {
    count: () => count,
    /** False if the notice has come before. */
    add: (notice: LogoutNotice) => {
      for (const [jti, { seenAt }] of seen) if (now() - seenAt > memory) seen.delete(jti)
      if (seen.has(notice.jti)) return false
      count += 1
      seen.set(notice.jti, { ...notice, seenAt: now(), number: count })
      return true
    },
    remove: ({ jti }: LogoutNotice) => seen.delete(jti),
    /** The notices after the first `before` ones. */
    since: (before: number) => [...seen.values()].filter(({ number }) => number > before),
  }
}

type Options = LogoutTokenOptions & { sessions: OpenidSessions; onProblem: (message: string) => void }

const emptyAnswer = (status: number): Answer => ({
  status,
  headers: { 'cache-control': 'no-store' },
  setCookies: [],
  body: '',
})

/** Receives the notices of the issuer about sessions that have ended (OpenID Connect Back-Channel Logout 1.0). */
export const createLogoutNotices = ({ sessions, onProblem, ...options }: Options) => {
  const checkToken = createLogoutTokenCheck(options)
  const notices = createMemory(options.now)

  const endSessions = async (notice: LogoutNotice) => {
    const { sid, sub = '', iat } = notice
    try {
      await (sid === undefined ? sessions.deleteBySub(sub, iat) : sessions.deleteBySid(sid, iat))
    } catch (error) {
      notices.remove(notice)
      throw error
    }
  }

  const refuse = (fault: string): Answer => {
    onProblem(`a logout notice was refused: ${fault}`)
    const headers = { 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' }
    const body = JSON.stringify({ error: 'invalid_request', error_description: fault })
    return { status: 400, headers, setCookies: [], body }
  }

  return {
    /** 400 is final. After a 503, because the issuer or the store is away, the issuer sends another notice. */
    receive: async (readForm: () => Promise<URLSearchParams>): Promise<Answer> => {
      try {
        const notice = await checkToken((await readForm()).get('logout_token') ?? '')
        if (typeof notice === 'string') return refuse(notice)
        if (!notices.add(notice)) return refuse('it has come before')
        await endSessions(notice)
        return emptyAnswer(200)
      } catch (error) {
        onProblem(`a logout notice could not be read: ${reasonOf(error)}`)
        return emptyAnswer(503)
      }
    },

    /**
     * Call it before the code of a sign-in is redeemed, and the returned function when the session is stored. It says whether a notice
     * that has come in between has ended the session, which was not there to be ended.
     */
    watch: () => {
      const before = notices.count()
      return ({ user, sid }: Pick<OpenidSession, 'user' | 'sid'>) =>
        notices.since(before).some((notice) => (notice.sid === undefined ? notice.sub === user.id : notice.sid === sid))
    },
  }
}

export type LogoutNotices = ReturnType<typeof createLogoutNotices>

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
/** In seconds: how far the clocks of both machines may be apart, and how old a notice may be. */
const tolerance = 60
const oldest = 600

type Issuer = { readonly issuer: string; readonly keysUrl: string }

/** At least one of `sid` and `sub` is there. */
export type LogoutNotice = {
  readonly sid: string | undefined
  readonly sub: string | undefined
  readonly jti: string
  /** In seconds. */
  readonly iat: number
  readonly exp: number
}

const isClaim = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 255

/** OpenID Connect Back-Channel Logout 1.0, 2.6. The fault of the claims, or the notice. */
const readClaims = (
  { iss, aud, iat, exp, jti, sid, sub, events, ...more }: Readonly<Record<string, unknown>>,
  expected: { issuer: string; clientId: string; seconds: number },
): LogoutNotice | string => {
  const { issuer, clientId, seconds } = expected
  if (iss !== issuer) return 'iss is another issuer'
  if (aud !== clientId && !(Array.isArray(aud) && aud.includes(clientId))) return 'aud is another application'
  if (typeof iat !== 'number' || typeof exp !== 'number') return 'iat or exp is missing'
  if (iat > seconds + tolerance || iat < seconds - oldest || exp < seconds - tolerance) return 'it has expired'
  if (!isClaim(jti)) return 'jti is missing'
  if (!isObject(events) || !isObject(events[logoutEvent])) return 'it is no logout token'
  // Otherwise an ID token could pass for a logout token.
  if ('nonce' in more) return 'it has a nonce'
  if (sid !== undefined && !isClaim(sid)) return 'sid is no text'
  if (sub !== undefined && !isClaim(sub)) return 'sub is no text'
  if (sid === undefined && sub === undefined) return 'sid and sub are missing'
  return { sid, sub, jti, iat, exp }
}

export type LogoutTokenOptions = { clientId: string; getIssuer: () => Promise<Issuer>; fetch: Fetch; now: () => number }

/** Checks logout tokens by the keys of the issuer. A fault is a text. It throws if the issuer cannot be asked. */
const createLogoutTokenCheck = ({ clientId, getIssuer, fetch, now }: LogoutTokenOptions) => {
  const findKey = createIssuerKeys(fetch, now)
  return async (token: string): Promise<LogoutNotice | string> => {
    const parts = splitToken(token)
    const { alg, typ, kid, crit } = (parts && readObject(parts.header)) ?? {}
    if (!parts || typ !== 'logout+jwt' || crit !== undefined || !isClaim(kid)) return 'it is no logout token'
    const { issuer, keysUrl } = await getIssuer()
    const found = await findKey(keysUrl, kid)
    if (!found || found.alg !== alg) return 'no key of the issuer has signed it'
    if (!(await hasSignature(found, parts))) return 'the signature is wrong'
    const claims = readObject(parts.payload)
    return claims ? readClaims(claims, { issuer, clientId, seconds: now() / 1_000 }) : 'it has no claims'
  }
}
