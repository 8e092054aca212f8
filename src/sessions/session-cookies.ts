import { isIP } from 'node:net'
import type { FastifyReply } from 'fastify'
import { sessionCookies } from '../http/cookie-table.js'
import { cookieLine } from '../http/cookies.js'

import type { NewSession } from '../sign-in/new-sessions.js'
import type { IssuedTokens } from './sessions.js'

const maxDomains = 4

/** The host and the domains above it, for which another host could have set a cookie. No browser accepts one for `com`. */
const domainsOf = (host: string) => {
  const labels = isIP(host) ? [] : host.split('.')
  return labels
    .slice(0, -1)
    .map((_, start) => labels.slice(start).join('.'))
    .slice(-maxDomains)
}

type Options = {
  secure: boolean
  host: string
  domain: string | undefined
  setKnownDevices: (reply: FastifyReply, values: readonly string[]) => unknown
}

/** The two cookies of a session, which may have a Domain: another host could have planted one beside ours. */
export const createSessionCookies = ({ secure, host, domain, setKnownDevices }: Options) => {
  /** The other places where a session cookie could be: for this host only, and for each domain above it. */
  const otherDomains = [undefined, ...domainsOf(host)].filter((otherDomain) => otherDomain !== domain)

  const write = (reply: FastifyReply, line: string) => reply.header('Set-Cookie', line)

  const clearAt = (reply: FastifyReply, otherDomain: string | undefined) => {
    for (const name of sessionCookies) write(reply, cookieLine(name, '', { secure, domain: otherDomain, maxAge: 0 }))
  }

  /** Clears what a sibling host has set for a parent domain, and what was set before COOKIE_DOMAIN was changed. */
  const clearElsewhere = (reply: FastifyReply) => {
    for (const otherDomain of otherDomains) clearAt(reply, otherDomain)
  }

  const setSession = (reply: FastifyReply, issued: IssuedTokens) => {
    const { accessToken, accessTokenMaxAge, refreshToken, refreshTokenMaxAge } = issued
    write(reply, cookieLine('access_token', accessToken, { secure, domain, maxAge: accessTokenMaxAge }))
    write(reply, cookieLine('refresh_token', refreshToken, { secure, domain, maxAge: refreshTokenMaxAge }))
  }

  return {
    clearSession: (reply: FastifyReply) => {
      clearAt(reply, domain)
      clearElsewhere(reply)
    },
    /** New tokens of a session that continues. */
    renewSession: (reply: FastifyReply, issued: IssuedTokens) => {
      clearElsewhere(reply)
      setSession(reply, issued)
    },
    /**
     * New tokens through a proxy that passes the cookies on. The new cookies come before those that are cleared, because nginx takes
     * the first line with a name.
     */
    renewThroughProxy: (reply: FastifyReply, issued: IssuedTokens) => {
      setSession(reply, issued)
      clearElsewhere(reply)
    },
    /**
     * Also clears cookies at other domains: one that was planted before would break the new session. We may not see it, because Strict
     * cookies are not always sent.
     */
    setNewSession: (reply: FastifyReply, session: NewSession) => {
      clearElsewhere(reply)
      setSession(reply, session)
      if (session.knownDevices) setKnownDevices(reply, session.knownDevices)
    },
  }
}
