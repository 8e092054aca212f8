import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CookieValues, readCookieHeader } from '../contract/cookie-header.js'
import { isLanguage, type Language } from '../contract/languages.js'
import {
  type CookieName,
  cookieRowOf,
  hostPrefix,
  isSessionCookie,
  type LimitedCookie,
  maxAgeOf,
  sessionCookies,
} from './cookie-table.js'

/** Everything that we put into a cookie is made of these characters, so nothing ever needs escaping. */
const plainValue = /^[\w.~-]*$/

/**
 * In production a browser accepts a cookie whose name begins with `__Host-` from this host only: a sibling host cannot
 * plant it for the whole domain. It needs `Secure` and `Path=/`, so in development the plain names are used.
 */
const fullCookieName = (name: string, secure: boolean) => (secure && !isSessionCookie(name) ? hostPrefix + name : name)

/** `maxAge` is in seconds, and 0 to clear a cookie. Only a cookie that the table just limits may have another than that of the table. */
type LineOptions = { secure: boolean; domain?: string | undefined; maxAge: number | 'as in the table' }

const tableRowOf = (name: CookieName) => {
  const row = cookieRowOf(name)
  if (!row) throw new Error(`The table of cookies has no ${name}`)
  return row
}

/** The attributes of a cookie but its age. A browser with a bound session is told the same, or it would ask for tokens without end. */
const attributesOf = (name: CookieName, { secure, domain }: Omit<LineOptions, 'maxAge'>) => {
  const domainAndPath = `${domain === undefined ? '' : `Domain=${domain}; `}Path=/`
  return `${domainAndPath}; HttpOnly; SameSite=${tableRowOf(name).sameSite}${secure ? '; Secure' : ''}`
}

const lineWith = (fullName: string, value: string, maxAge: number, attributes: string) => {
  if (!plainValue.test(value)) throw new Error(`The value for the cookie ${fullName} has characters that need escaping`)
  return `${fullName}=${value}; Max-Age=${maxAge}; ${attributes}`
}

/** A `Set-Cookie` line as the table says. */
export const cookieLine = (name: CookieName, value: string, { secure, domain, maxAge }: LineOptions) => {
  const age = maxAge === 'as in the table' ? maxAgeOf(tableRowOf(name)) : maxAge
  return lineWith(fullCookieName(name, secure), value, age, attributesOf(name, { secure, domain }))
}

const maxDomains = 4

/** The host and the domains above it, for which another host could have set a cookie. No browser accepts one for `com`. */
const domainsOf = (host: string) => {
  const labels = isIP(host) ? [] : host.split('.')
  return labels
    .slice(0, -1)
    .map((_, start) => labels.slice(start).join('.'))
    .slice(-maxDomains)
}

type SessionCookieOptions = {
  secure: boolean
  host: string
  domain: string | undefined
  setKnownDevices: (reply: FastifyReply, values: readonly string[]) => unknown
}

/** The tokens of a session, and for how many seconds the browser keeps each. */
type SessionTokens = {
  accessToken: string
  accessTokenMaxAge: number
  refreshToken: string
  refreshTokenMaxAge: number
}

/** The two cookies of a session, which may have a Domain: another host could have planted one beside ours. */
const createSessionCookies = ({ secure, host, domain, setKnownDevices }: SessionCookieOptions) => {
  /** The other places where a session cookie could be: for this host only, and for each domain above it. */
  const otherDomains = [undefined, ...domainsOf(host)].filter((otherDomain) => otherDomain !== domain)

  const write = (reply: FastifyReply, line: string) => reply.header('Set-Cookie', line)
  // Made once, because every refresh sets both cookies.
  const attributesOfAccess = attributesOf('access_token', { secure, domain })
  const attributesOfRefresh = attributesOf('refresh_token', { secure, domain })

  const clearAt = (
    reply: FastifyReply,
    otherDomain: string | undefined,
    names: readonly (typeof sessionCookies)[number][] = sessionCookies,
  ) => {
    for (const name of names) write(reply, cookieLine(name, '', { secure, domain: otherDomain, maxAge: 0 }))
  }

  /** Clears what a sibling host has set for a parent domain, and what was set before COOKIE_DOMAIN was changed. */
  const clearElsewhere = (reply: FastifyReply) => {
    for (const otherDomain of otherDomains) clearAt(reply, otherDomain)
  }

  const setSession = (reply: FastifyReply, issued: SessionTokens) => {
    const { accessToken, accessTokenMaxAge, refreshToken, refreshTokenMaxAge } = issued
    write(reply, lineWith('access_token', accessToken, accessTokenMaxAge, attributesOfAccess))
    write(reply, lineWith('refresh_token', refreshToken, refreshTokenMaxAge, attributesOfRefresh))
  }

  return {
    clearSession: (reply: FastifyReply) => {
      clearAt(reply, domain)
      clearElsewhere(reply)
    },
    /** The cookie without which a browser asks for new tokens of a bound session before its next request. */
    accessCookie: { name: 'access_token', attributes: attributesOfAccess },
    /** Takes the access cookie away, also one that was planted: a browser with a bound session then asks for a new one. */
    expireAccess: (reply: FastifyReply) => {
      for (const each of [domain, ...otherDomains]) clearAt(reply, each, ['access_token'])
    },
    /** New tokens of a session that continues. */
    renewSession: (reply: FastifyReply, issued: SessionTokens) => {
      clearElsewhere(reply)
      setSession(reply, issued)
    },
    /**
     * New tokens through a proxy that passes the cookies on. The new cookies come before those that are cleared, because nginx takes
     * the first line with a name.
     */
    renewThroughProxy: (reply: FastifyReply, issued: SessionTokens) => {
      setSession(reply, issued)
      clearElsewhere(reply)
    },
    /**
     * Also clears cookies at other domains: one that was planted before would break the new session. We may not see it, because Strict
     * cookies are not always sent.
     */
    setNewSession: (reply: FastifyReply, session: SessionTokens & { knownDevices?: readonly string[] | undefined }) => {
      clearElsewhere(reply)
      setSession(reply, session)
      if (session.knownDevices) setKnownDevices(reply, session.knownDevices)
    },
  }
}

/** The most that the cookies of a browser may need together, so that every proxy takes the header. */
const maxCookieHeader = 4_096

const pairLength = (name: string, value: string) => `; ${name}=${value}`.length

type Options = { secure: boolean; host: string; domain?: string | undefined }

export type Cookies = ReturnType<typeof createCookies>

/** Reads and sets cookies. Callers use plain names: the prefix is added and removed here. */
export const createCookies = ({ secure, host, domain }: Options) => {
  const jars = new WeakMap<FastifyRequest, CookieValues>()
  const prefix = secure ? hostPrefix : ''
  const nameOf = (name: string) => fullCookieName(name, secure)

  /** The header is read once for each request, however many cookies are asked for. */
  const jarOf = (request: FastifyRequest) => {
    const cached = jars.get(request)
    if (cached) return cached
    const jar = readCookieHeader(request.headers.cookie ?? '')
    jars.set(request, jar)
    return jar
  }

  const write = (reply: FastifyReply, name: CookieName, value: string, maxAge: LineOptions['maxAge']) =>
    reply.header('Set-Cookie', cookieLine(name, value, { secure, maxAge }))

  const set = (reply: FastifyReply, name: Exclude<CookieName, LimitedCookie>, value: string) =>
    write(reply, name, value, 'as in the table')

  const setKnownDevices = (reply: FastifyReply, values: readonly string[]) =>
    set(reply, 'known_device', values.join('.'))

  return {
    read: (request: FastifyRequest, name: string) => jarOf(request).values.get(nameOf(name)),
    /**
     * The plain names of the cookies that have our prefix. In production the two session cookies have none and are missing here. In
     * development no cookie has one, so cookies of other programs are here too.
     */
    ownNamesSent: (request: FastifyRequest) =>
      [...jarOf(request).values.keys()]
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length)),
    /** How many bytes are left in the Cookie header when this cookie is added. Below 0, others have to be cleared. */
    bytesLeftWith: (request: FastifyRequest, name: string, value: string) =>
      maxCookieHeader - (request.headers.cookie ?? '').length - pairLength(nameOf(name), value),
    /** How many bytes of the Cookie header become free when this cookie is cleared. */
    bytesFreedBy: (request: FastifyRequest, name: string) =>
      pairLength(nameOf(name), jarOf(request).values.get(nameOf(name)) ?? ''),
    set,
    /** For so many seconds. */
    setFor: (reply: FastifyReply, name: LimitedCookie, value: string, maxAge: number) =>
      write(reply, name, value, maxAge),
    clear: (reply: FastifyReply, name: CookieName) => write(reply, name, '', 0),
    ...createSessionCookies({ secure, host, domain, setKnownDevices }),
    /** Whether a session cookie is there twice: one of the two was planted. */
    hasDoubledSessionCookie: (request: FastifyRequest) =>
      sessionCookies.some((name) => jarOf(request).doubled.has(name)),
    /** Whether a cookie is there twice. */
    isDoubled: (request: FastifyRequest, name: CookieName) => jarOf(request).doubled.has(nameOf(name)),
    setKnownDevices,
  }
}

/** The language that the visitor chose on one of our pages. A value that is none of our languages counts as no choice. */
export const chosenLanguage = (cookies: Cookies, request: FastifyRequest): Language | undefined => {
  const value = cookies.read(request, 'latchkey_language') ?? null
  return isLanguage(value) ? value : undefined
}
