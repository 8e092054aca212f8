import { type AnyRequest, cookieLine, headerOf, readCookie } from './cookies.js'
import { encodeBase64Url, utf8 } from './token-text.js'

/** The user as the ID token describes them. */
export type OpenidUser = {
  /** The claim `sub`: it never changes. */
  readonly id: string
  readonly username: string | undefined
  readonly name: string | undefined
  readonly email: string | undefined
  readonly emailVerified: boolean
  /** The groups at the time of the sign-in. */
  readonly groups: readonly string[]
  /** All claims of the ID token. */
  readonly claims: Readonly<Record<string, unknown>>
}

/** A session of your application. It is plain data, so a store can keep it as JSON. */
export type OpenidSession = {
  readonly user: OpenidUser
  /** The session at Latchkey. */
  readonly sid: string | undefined
  /** For the sign-out at Latchkey. */
  readonly idToken: string
  /** When the ID token was issued, in seconds since 1970. */
  readonly issuedAt: number
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

type Awaitable<Value> = Value | Promise<Value>

/**
 * Where sessions are kept. `id` is a hash of the value of the cookie, so who reads the store cannot sign in with it. The last two end
 * sessions after a logout notice: those whose `issuedAt` is not later than `issuedUntil`.
 */
export type OpenidSessions = {
  get(id: string): Awaitable<OpenidSession | undefined>
  set(id: string, session: OpenidSession): Awaitable<unknown>
  delete(id: string): Awaitable<unknown>
  deleteBySid(sid: string, issuedUntil: number): Awaitable<unknown>
  deleteBySub(sub: string, issuedUntil: number): Awaitable<unknown>
}

const purgePause = 60_000

/** Keeps the sessions of one process. They are gone when it ends. */
export const createMemorySessions = (now: () => number): OpenidSessions => {
  const sessions = new Map<string, OpenidSession>()
  let purgedAt = now()

  const deleteWhere = (isOver: (session: OpenidSession) => boolean) => {
    for (const [id, session] of sessions) if (isOver(session)) sessions.delete(id)
  }
  const purge = () => {
    if (now() - purgedAt < purgePause) return
    purgedAt = now()
    deleteWhere(({ expiresAt }) => expiresAt <= now())
  }

  return {
    get: (id) => sessions.get(id),
    set: (id, session) => {
      purge()
      sessions.set(id, session)
    },
    delete: (id) => sessions.delete(id),
    deleteBySid: (sid, issuedUntil) => deleteWhere((session) => session.sid === sid && session.issuedAt <= issuedUntil),
    deleteBySub: (sub, issuedUntil) => deleteWhere(({ user, issuedAt }) => user.id === sub && issuedAt <= issuedUntil),
  }
}

type CookieSettings = { sessions: OpenidSessions; sessionSeconds: number; isSecure: boolean; now: () => number }

/** Begins, finds and ends the sessions of browsers. The value of a cookie is known to its browser only. */
export const createBrowserSessions = ({ sessions, sessionSeconds, isSecure, now }: CookieSettings) => {
  const name = `${isSecure ? '__Host-' : ''}openid_session`
  const idOf = async (value: string) =>
    encodeBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(value))))
  const idIn = async (request: AnyRequest) => {
    const { value } = readCookie(headerOf(request, 'cookie'), name)
    return value === undefined ? undefined : idOf(value)
  }

  const find = async (request: AnyRequest) => {
    const id = await idIn(request)
    const session = id === undefined ? undefined : await sessions.get(id)
    return session && session.expiresAt > now() ? session : undefined
  }

  /** Ends the session of the browser, and returns the `Set-Cookie` lines that clear its cookie. */
  const end = async (request: AnyRequest) => {
    const id = await idIn(request)
    if (id !== undefined) await sessions.delete(id)
    return [cookieLine(name, '', { seconds: 0, isSecure })]
  }

  return {
    find,
    end,
    /** The session that the browser had before ends. Returns the id of the new one, and the `Set-Cookie` lines. */
    begin: async (request: AnyRequest, session: Omit<OpenidSession, 'expiresAt'>) => {
      await end(request)
      const value = encodeBase64Url(crypto.getRandomValues(new Uint8Array(32)))
      const id = await idOf(value)
      await sessions.set(id, { ...session, expiresAt: now() + sessionSeconds * 1_000 })
      return { id, setCookies: [cookieLine(name, value, { seconds: sessionSeconds, isSecure })] }
    },
  }
}

export type BrowserSessions = ReturnType<typeof createBrowserSessions>
