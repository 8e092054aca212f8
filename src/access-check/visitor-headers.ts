import { cookieRowOf, hostPrefix, isSessionCookie } from '../http/cookie-table.js'
import { type AskedRequest, asSeenByApplications } from './asked-request.js'
import { identityHeaders } from './identity-headers.js'

/** The headers of the visitor, which a proxy passes on with its check. */
export type VisitorHeaders = Readonly<Record<string, string | string[] | undefined>>

/**
 * What an application learns of its visitor: the headers of `verify`, which token of the user it was, if it was one, and for a token for a
 * resource, which program has it and what it may do.
 */
export const forwardedIdentity = [...identityHeaders, 'x-auth-token-id', 'x-auth-client', 'x-auth-scope'] as const

/** Many programs believe these, and proxy files may fill them from ours. */
const namesElsewhere = ['remote-user', 'remote-groups', 'remote-name', 'remote-email']

const identityNames: ReadonlySet<string> = new Set([...forwardedIdentity, ...namesElsewhere])
export const isIdentityHeader = (name: string) => identityNames.has(name)

export const nobody: readonly string[] = forwardedIdentity.map(() => '')

const isSafe = ({ method }: AskedRequest) => method === 'GET' || method === 'HEAD'

/** Whether a person waits for a page. A frame does not count, because our pages refuse frames, and a prefetch has nobody who reads it. */
export const isNavigation = (asked: AskedRequest, headers: VisitorHeaders) => {
  if (!isSafe(asked)) return false
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': dest, 'sec-fetch-site': site, 'sec-fetch-user': user } = headers
  const isOlderBrowser = [mode, dest, site, user].every((value) => value === undefined)
  if (isOlderBrowser) return String(headers.accept ?? '').includes('text/html') && headers['sec-purpose'] === undefined
  return mode === 'navigate' && dest === 'document' && headers['sec-purpose'] === undefined
}

/** A part of a page of another site. Its cookies are Strict, so a browser sends none; an older one that does signs nobody in. */
export const isForeignPart = ({
  'sec-fetch-site': site,
  'sec-fetch-dest': dest,
  'sec-purpose': purpose,
}: VisitorHeaders) => site === 'cross-site' && (dest !== 'document' || purpose !== undefined)

/** Some applications serve the path, or take the method, that one of these names, instead of what was asked for. */
const overrides = new Set([
  ...['x-rewrite-url', 'x-original-uri', 'x-original-url', 'x-original-path'],
  ...['x-http-method-override', 'x-http-method', 'x-method-override'],
])

/** Whether the visitor may have asked for something else than it seems. nginx itself says `X-Original-URL` to us. */
export const asksForOther = ({ isByNginx }: AskedRequest, headers: VisitorHeaders) =>
  Object.keys(headers).some(
    (name) => overrides.has(asSeenByApplications(name)) && !(isByNginx && name === 'x-original-url'),
  )

/** A browser asks what another site may do (CORS), and never says who the user is. */
export const isPreflight = ({ method }: AskedRequest, headers: VisitorHeaders) =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined

/** In production our cookies have a prefix, so that those of an application may have any other name. */
const isOurs = (name: string, production: boolean) => {
  if (isSessionCookie(name)) return true
  if (name.startsWith(hostPrefix)) return cookieRowOf(name.slice(hostPrefix.length)) !== undefined
  return !production && cookieRowOf(name) !== undefined
}

/** In the place of a header of which nothing is left: some proxies keep what the visitor has sent if ours is empty. */
const nothingLeft = 'latchkey_none=1'

/** What the visitor has sent to the application: without our cookies, with which it could act as the user here. */
export const cookiesForApplication = (header: string, production: boolean) => {
  if (header === '') return ''
  const pairs = header.split(';').map((pair) => pair.trim())
  const theirs = pairs.filter((pair) => pair !== '' && !isOurs(pair.split('=', 1)[0]?.trim() ?? '', production))
  return theirs.join('; ') || nothingLeft
}
