import type { ServerResponse } from 'node:http'
import type { AccessClaims } from '../contract/access-claims.js'
import { readGroupList } from '../contract/groups.js'
import { accessCheckHeaders, securityHeaders } from '../http/headers.js'
import type { FastLane } from '../http/limited-server.js'
import { type AllowedOrigins, noOtherOrigins } from '../http/origins.js'
import type { CountedRequest } from '../platform/metrics/metrics.js'
import type { BoundSessions } from '../sessions/bound-sessions.js'
import type { Tokens } from '../sessions/tokens.js'
import { isMember } from './conditions.js'
import { createForwardLane, type ForwardLaneParts, forwardPath, undefinedIfThrown } from './forward-lane.js'
import { identityHeaders, rememberedIdentityOf } from './identity-headers.js'

/*
 * Applications ask for the access check with every request, and the framework takes most of the time (bench/README.md). So
 * the usual case is answered here, in front of the framework: no hooks, no promise, no logger.
 *
 * The lane answers only requests that are certainly accepted. It declines all others, also those that will be refused, and then
 * the framework's routes next to this file answer. Both give the same answers, byte for byte:
 * `test/http/fast-lane.test.ts` compares them. What happens to a request on its way to those routes, and here:
 *
 *   security headers          the same lists, made once; an access check has no HSTS
 *   request id                a success has none; refusals, which have one, are declined
 *   no Host header            declined
 *   another Host, in development   `http/server` does not ask the lane then
 *   request of another site   declined; `http/origins` refuses a GET only if `Sec-Fetch-Site` is `cross-site`
 *   allowed origins           declined if the request comes from one; if there are none, the framework does not look at `Origin`
 *   method, query, body       anything but a GET of exactly one of these addresses without a body is declined; the address may name
 *                             groups, and a token of a user who is in none of them is declined
 *   offer to bind the session   after a sign-in at a provider; `/api/auth/me` is declined then
 *   renewal                   a token that is accepted needs none
 *   what a proxy says         read by the same functions as in the framework's route; anything that is odd, an open path, an unknown
 *                             application, a personal token and a visitor who may not enter are declined; so is the first check of a
 *                             token for an application, because the first use by a session is an event
 *   host with its own cookie  the session must be in memory; of the values for several ports, only the first is looked at
 *   refused checks            declined, so the framework's route counts and logs all of them
 *   access check              the cookie must be there once; `tokens.readAccess` decides, as in the framework's route. A token of
 *                             a key that this instance has yet to learn is declined like any other that is not accepted, and so is
 *                             every token until the list of ended sessions is read
 *   metrics                   `onAnswer`
 *   debug log, proxy watch, shutdown   `http/server` does not ask the lane then
 */

const cookieName = 'access_token'

/**
 * The value of the access cookie, without splitting the header. Undefined if the name occurs twice, even as a part of another name or
 * value: then the framework's route finds out whether the cookie was planted.
 */
const accessTokenIn = (header: string) => {
  const start = header.indexOf(cookieName)
  if (start === -1 || header.indexOf(cookieName, start + cookieName.length) !== -1) return undefined
  const isWholeName = (start === 0 || header.startsWith('; ', start - 2)) && header[start + cookieName.length] === '='
  if (!isWholeName) return undefined
  const end = header.indexOf(';', start)
  return header.slice(start + cookieName.length + 1, end === -1 ? undefined : end)
}

/** The lengths of the names that are compared below. `content-length` is as long as `sec-fetch-site`. Most headers have other lengths. */
const relevantLengths = new Set(
  ['host', 'cookie', 'origin', 'sec-fetch-site', 'transfer-encoding'].map(({ length }) => length),
)

/**
 * The headers that matter, from the list as it came: Node's object of all headers takes longer than the rest of the check. Undefined
 * for a request of another site, with a body, or with a repeated header.
 */
const readHeaders = (rawHeaders: readonly string[]) => {
  const found: { host?: string; cookie?: string; origin?: string } = {}
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (!relevantLengths.has(name.length)) continue
    const lowerName = name.toLowerCase()
    if (lowerName === 'content-length' || lowerName === 'transfer-encoding') return undefined
    if (lowerName === 'sec-fetch-site' && rawHeaders[index + 1] === 'cross-site') return undefined
    if (lowerName !== 'host' && lowerName !== 'cookie' && lowerName !== 'origin') continue
    if (found[lowerName] !== undefined) return undefined
    found[lowerName] = rawHeaders[index + 1] ?? ''
  }
  return found.host === undefined ? undefined : found
}

type Route = { status: number; send: (response: ServerResponse, claims: AccessClaims) => void }
type Address = { path: string; route: Route; groups?: readonly string[] }

/*
 * The headers are a list of names and values in turn, which Node writes as they are. Node has read the list when `writeHead` returns, so
 * each route has one list, and only the values of the caller are replaced: a list for each answer took 5 µs of 80.
 */

const verifyRoute = (security: readonly string[]): Route => {
  const headers = [...security, ...identityHeaders.flatMap((name) => [name, ''])]
  const firstValueIndex = security.length + 1
  return {
    status: 204,
    send: (response, claims) => {
      const identity = rememberedIdentityOf(claims)
      for (let index = 0; index < identity.length; index += 1)
        headers[firstValueIndex + 2 * index] = identity[index] ?? ''
      response.writeHead(204, headers).end()
    },
  }
}

const meRoute = (security: readonly string[]): Route => {
  const headers = [...security, 'content-type', 'application/json; charset=utf-8', 'content-length', '']
  const lengthIndex = headers.length - 1
  /** The body is made once and kept with the remembered claims, which saves 12 µs of 97. */
  const bodies = new WeakMap<AccessClaims, string>()
  const bodyFor = (claims: AccessClaims) => {
    const cached = bodies.get(claims)
    if (cached !== undefined) return cached
    const { userId, username, sid: sessionId, exp } = claims
    const expiresAt = new Date(exp * 1000).toISOString()
    const body = JSON.stringify({ user: { id: userId, username }, sessionId, expiresAt })
    bodies.set(claims, body)
    return body
  }
  return {
    status: 200,
    send: (response, claims) => {
      const body = bodyFor(claims)
      headers[lengthIndex] = String(Buffer.byteLength(body))
      response.writeHead(200, headers).end(body)
    },
  }
}

/** An application asks with a few addresses. A client that makes up others must not fill the memory. */
const maxAddresses = 256

/** `group` alone or with `renew=1`, in either order. A value that needs decoding does not match, so the request is declined. */
const groupQuery = /^\?(?:renew=1&)?group=([a-z\d._,-]+)(?:&renew=1)?$/

/** The addresses that the lane answers. Those that name groups are read once. */
const addressesOf = (forChecks: readonly string[], security: readonly string[]) => {
  const verifyAddress: Address = { path: '/api/auth/verify', route: verifyRoute(forChecks) }
  const fixedAddresses = new Map<string, Address>([
    [verifyAddress.path, verifyAddress],
    [`${verifyAddress.path}?renew=1`, verifyAddress],
    ['/api/auth/me', { path: '/api/auth/me', route: meRoute(security) }],
  ])
  const groupAddresses = new Map<string, Address | undefined>()

  const readAddress = (url: string): Address | undefined => {
    const query = url.slice(verifyAddress.path.length)
    const groups = readGroupList(groupQuery.exec(query)?.[1] ?? '')
    // The framework refuses a repeated `renew=1`.
    return groups && query.indexOf('renew') === query.lastIndexOf('renew') ? { ...verifyAddress, groups } : undefined
  }

  const cachedAddress = (url: string) => {
    if (groupAddresses.has(url)) return groupAddresses.get(url)
    if (groupAddresses.size >= maxAddresses) groupAddresses.clear()
    const address = readAddress(url)
    groupAddresses.set(url, address)
    return address
  }

  return (url: string) =>
    fixedAddresses.get(url) ?? (url.startsWith(`${verifyAddress.path}?`) ? cachedAddress(url) : undefined)
}

type Lane = {
  /** What the check of proxies needs (`forward`). */
  forward: Omit<ForwardLaneParts, 'production' | 'security'>
  tokens: Tokens
  production: boolean
  allowedOrigins?: AllowedOrigins
  boundSessions: Pick<BoundSessions, 'offerAfterProvider'>
  /** Called after each answer. */
  onAnswer?: ((seen: CountedRequest) => void) | undefined
}

export const createFastLane = (lane: Lane): FastLane => {
  const { tokens, production, forward, allowedOrigins = noOtherOrigins, boundSessions, onAnswer } = lane
  const vary = allowedOrigins.isEmpty ? [] : ['vary', 'Origin']
  const listOf = (headers: Readonly<Record<string, string>>) => [...Object.entries(headers).flat(), ...vary]
  const forChecks = listOf(accessCheckHeaders(production))
  const addressOf = addressesOf(forChecks, listOf(securityHeaders(production)))
  const answerProxy = createForwardLane({ ...forward, production, security: forChecks })

  const report = (response: ServerResponse, route: string, status: number, start: number) => {
    response.once('finish', () => onAnswer?.({ route, method: 'GET', status, milliseconds: performance.now() - start }))
  }

  const readAccess = (cookie: string) => {
    const token = accessTokenIn(cookie)
    return token === undefined ? undefined : tokens.readAccess(token)
  }

  return (request, response) => {
    const { method, url = '', rawHeaders } = request
    // The check of a token that comes for the first time takes longer than all that follows.
    const start = performance.now()
    const isForward = url.startsWith(forwardPath) && [undefined, '?'].includes(url[forwardPath.length])
    const address = method === 'GET' && !isForward ? addressOf(url) : undefined
    if (method !== 'GET' || !(address || isForward)) return false
    const headers = readHeaders(rawHeaders)
    if (!headers || allowedOrigins.has(headers.origin)) return false
    if (!address) {
      if (!answerProxy(request, response, headers, readAccess)) return false
      if (onAnswer) report(response, forwardPath, 200, start)
      return true
    }
    const claims = undefinedIfThrown(() => readAccess(headers.cookie ?? ''))
    if (!claims) return false
    const { path, route, groups } = address
    if (path === '/api/auth/me' && boundSessions.offerAfterProvider(claims) !== undefined) return false
    if (groups && !isMember(groups, claims)) return false
    if (onAnswer) report(response, path, route.status, start)
    route.send(response, claims)
    return true
  }
}
