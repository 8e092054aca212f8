import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ProtectedApplications } from '../applications/protected-applications.js'
import type { AccessClaims } from '../contract/access-claims.js'
import type { Clock } from '../lib/clock.js'
import { RecentMap } from '../lib/recent.js'
import type { ResourcesAtHosts } from '../openid/resources/resources-at-hosts.js'
import { tokenIn } from '../personal-tokens/token-text.js'
import { readAskedRequest } from './asked-request.js'
import { entryRefusal, isForOther, isOpen } from './entry.js'
import type { FirstUses } from './first-uses.js'
import { isOurPath, sessionCookie } from './host-addresses.js'
import type { HostSessions } from './host-sessions.js'
import { rememberedIdentityOf } from './identity-headers.js'
import { cookiesForApplication, forwardedIdentity, isIdentityHeader } from './visitor-headers.js'

export type ForwardLaneParts = {
  protectedApplications: Pick<ProtectedApplications, 'find'>
  resourcesAtHosts: Pick<ResourcesAtHosts, 'isAny'>
  isProxy: (address: string | undefined) => boolean
  firstUses: Pick<FirstUses, 'isKnown'>
  hostSessions: Pick<HostSessions, 'remembered'>
  clock: Clock
  production: boolean
  /** The headers of every answer, as a list of names and values in turn. */
  security: readonly string[]
}

/** Of visitors who were admitted, so others cannot fill the memory. A proxy accepts a few kilobytes of cookies. */
const maxCookieHeaders = 1_000

export const forwardPath = '/api/auth/forward'

/** The value of a header that is there at most once; undefined if there are several. */
const singleValue = (rawHeaders: readonly string[], wanted: string) => {
  let found: string | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length !== wanted.length || name.toLowerCase() !== wanted) continue
    if (found !== undefined) return undefined
    found = rawHeaders[at + 1] ?? ''
  }
  return found ?? ''
}

/**
 * An exception in the lane would end the process. So the request is declined, and the framework's route answers: 503 while the list of
 * ended sessions is missing.
 */
export const undefinedIfThrown = <Result>(read: () => Result) => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** The check of a proxy for a visitor who may certainly enter. It says whether it has answered. */
export const createForwardLane = ({
  protectedApplications,
  resourcesAtHosts,
  isProxy,
  firstUses,
  hostSessions,
  clock,
  production,
  security,
}: ForwardLaneParts) => {
  const headers = [...security, ...forwardedIdentity.flatMap((name) => [name, ''])]
  headers.push('cookie', '', 'authorization', '', 'content-length', '0')
  const firstValue = security.length + 1
  const cookieValue = security.length + 2 * forwardedIdentity.length + 1

  /** Browsers send the same cookies again and again, and reading them takes longer than finding them. */
  const cookiesRead = new RecentMap<string, { own: string | undefined; forApplication: string }>(maxCookieHeaders)
  const readCookies = (cookie: string) => ({
    own: sessionCookie.read(cookie),
    forApplication: cookiesForApplication(cookie, production),
  })

  /** A proxy keeps its connections, and reading an address takes longer than finding one. */
  const proxies = new WeakSet<Socket>()
  const isFromProxy = (socket: Socket) => {
    if (proxies.has(socket)) return true
    if (!isProxy(socket.remoteAddress)) return false
    proxies.add(socket)
    return true
  }

  return (
    request: IncomingMessage,
    response: ServerResponse,
    { host, cookie = '' }: { host?: string; cookie?: string },
    readAccess: (cookie: string) => AccessClaims | undefined,
  ) => {
    const { rawHeaders, socket, url = '' } = request
    if (!isFromProxy(socket)) return false
    const asked = readAskedRequest(rawHeaders, url.slice(forwardPath.length), isIdentityHeader)
    if ('fault' in asked) return false
    const application = protectedApplications.find(asked.origin)
    const authorization = singleValue(rawHeaders, 'authorization')
    if (!application || authorization === undefined || tokenIn(authorization)) return false
    // Where there is a resource, the framework's route judges every other credential.
    if (authorization !== '' && resourcesAtHosts.isAny(asked.origin)) return false
    if (isOurPath(asked.path) || isForOther(asked, host, protectedApplications)) return false
    // Nobody is named there. Few applications have open paths, so few requests read Node's object of all headers.
    const hasOpen = application.openPaths.length > 0 || application.openPreflight
    if (hasOpen && isOpen(application, asked, request.headers)) return false
    const known = cookiesRead.get(cookie)
    const cookies = known ?? readCookies(cookie)
    // A host with a cookie of its own knows no other.
    const claims = undefinedIfThrown(() =>
      application.hasOwnCookie ? hostSessions.remembered(cookies.own, application)?.claims : readAccess(cookie),
    )
    if (!claims || entryRefusal(application, claims, clock.now())) return false
    // The framework's route writes the event of the first use. A host with a cookie has it from when it got the cookie.
    if (!application.hasOwnCookie && !firstUses.isKnown(application, claims)) return false
    const identity = rememberedIdentityOf(claims)
    for (let index = 0; index < identity.length; index += 1) headers[firstValue + 2 * index] = identity[index] ?? ''
    if (!known) cookiesRead.set(cookie, cookies)
    headers[cookieValue] = cookies.forApplication
    headers[cookieValue + 2] = authorization
    response.writeHead(200, headers).end()
    return true
  }
}
