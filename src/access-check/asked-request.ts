import { isPlainPath } from '../applications/application-rules.js'
import type { OpenPath } from '../applications/protected-applications.js'

/**
 * What a visitor has asked of a proxy, in the words of the proxy. All decisions about a visitor begin with this description, and nothing else
 * reads a forwarded header.
 */
export type AskedRequest = {
  method: string
  /** Scheme, host and port, as the address of a protected application is written. */
  origin: string
  path: string
  /** With its question mark; empty if there is none. */
  query: string
  /** True if a refusal must have a status that nginx knows. Then the page that helps is in `Location` all the same. */
  isByNginx: boolean
}

/** Why a description is not believed, as the end of a sentence that begins with the name of a header. */
const askedFaults = {
  missing: 'is missing',
  twice: 'is there twice',
  both: 'is there beside headers of the other kind, so one of them came from the visitor',
  malformed: 'is not well-formed',
  identity: 'came from the visitor: only this check may say who somebody is',
  body: 'announces a body, and a check has none',
  host: 'names another application than the host of the check itself, which the visitor has asked for',
  connection:
    'names headers that the proxy would take away again, so the application would not see what this check says',
  query: 'has a query that is not that of the visitor: conditions belong to the application here',
} as const

export type AskedFault = { fault: keyof typeof askedFaults; header: string; value?: string | undefined }

/** The visitor's `Connection`, from a proxy that removes what it names after the check. */
const connectionHeader = 'x-forwarded-connection'
const connectionOptions: ReadonlySet<string> = new Set(['', 'close', 'keep-alive', 'upgrade', 'te', 'http2-settings'])

const namesOtherHeaders = (connection: readonly string[]) =>
  connection.some((value) => value.split(',').some((name) => !connectionOptions.has(name.trim().toLowerCase())))

const longestHost = 253
const longestPath = 8 * 1024

const methodShape = /^[A-Z]+(?:-[A-Z]+)*$/
/** A WebSocket begins as a request like any other. */
const schemes = new Map([
  ['https', 'https'],
  ['wss', 'https'],
  ['http', 'http'],
  ['ws', 'http'],
])
const usualPorts: Record<string, string> = { https: '443', http: '80' }
const hostShape = /^((?:[\w-]+(?:\.[\w-]+)*\.?)|\[[\da-f:.]+\])(?::([1-9]\d{0,4}))?$/i
/** No space, no control character and no fragment. Bytes above 126 come as they are. */
const pathShape = /^\/[^\x00-\x20\x7f#]*$/
const addressShape = /^(\w+):\/\/([^/]*)(\/.*)$/s

const forwardedNames = ['x-forwarded-method', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-uri'] as const
const originalNames = ['x-original-method', 'x-original-url'] as const

type Values = ReadonlyMap<string, readonly string[]>

/** The header that is not there exactly once; undefined if all are. */
const countFault = (values: Values, names: readonly string[]): AskedFault | undefined => {
  for (const header of names) {
    const count = values.get(header)?.length ?? 0
    if (count !== 1) return { fault: count === 0 ? 'missing' : 'twice', header, value: values.get(header)?.join(', ') }
  }
  return undefined
}

/** The origin as it is registered: lower case, without the port that every browser leaves out. */
export const originOf = (scheme: string | undefined, host: string) => {
  const [, name = '', port] = hostShape.exec(host) ?? []
  if (scheme === undefined || name === '' || name.length > longestHost || Number(port ?? 1) > 65_535) return undefined
  const shownPort = port === undefined || port === usualPorts[scheme] ? '' : `:${port}`
  return `${scheme}://${name.toLowerCase()}${shownPort}`
}

type Named = {
  method: string
  scheme: string
  host: string
  uri: string
  headers: Record<'scheme' | 'host' | 'uri', string>
}

const namedByForwarded = (values: Values): Named | AskedFault => {
  const fault = countFault(values, forwardedNames)
  if (fault) return fault
  const [method = '', scheme = '', host = '', uri = ''] = forwardedNames.map((name) => values.get(name)?.[0] ?? '')
  const [, schemeHeader, hostHeader, uriHeader] = forwardedNames
  return { method, scheme, host, uri, headers: { scheme: schemeHeader, host: hostHeader, uri: uriHeader } }
}

const namedByOriginal = (values: Values): Named | AskedFault => {
  for (const header of ['x-forwarded-uri', 'x-forwarded-method'])
    if (values.has(header)) return { fault: 'both', header, value: values.get(header)?.[0] }
  const fault = countFault(values, originalNames)
  if (fault) return fault
  const [method = '', url = ''] = originalNames.map((name) => values.get(name)?.[0] ?? '')
  const [, scheme = '', host = '', uri = ''] = addressShape.exec(url) ?? []
  const [, header] = originalNames
  return { method, scheme, host, uri, headers: { scheme: header, host: header, uri: header } }
}

/**
 * The address of a request that a proxy has led here itself: host and scheme are those that it names, and the path is that of the request.
 * The headers must come from a proxy that is believed.
 */
export const readOrigin = (rawHeaders: readonly string[]) => {
  const names = ['x-forwarded-proto', 'x-forwarded-host']
  const [proto = [], host = []] = names.map((name) =>
    rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name),
  )
  if (proto.length !== 1 || host.length !== 1) return undefined
  return originOf(schemes.get(proto[0] ?? ''), host[0] ?? '')
}

const methodHeaderOf = (isByNginx: boolean) => (isByNginx ? originalNames[0] : forwardedNames[0])

const describe = (values: Values): AskedRequest | AskedFault => {
  const isByNginx = originalNames.some((name) => values.has(name))
  const named = isByNginx ? namedByOriginal(values) : namedByForwarded(values)
  if ('fault' in named) return named
  const { method, uri, headers } = named
  const malformed = (header: string): AskedFault => ({ fault: 'malformed', header, value: values.get(header)?.[0] })
  if (!methodShape.test(method)) return malformed(methodHeaderOf(isByNginx))
  const scheme = schemes.get(named.scheme)
  if (scheme === undefined) return malformed(headers.scheme)
  const origin = originOf(scheme, named.host)
  if (origin === undefined) return malformed(headers.host)
  if (uri.length > longestPath || !pathShape.test(uri)) return malformed(headers.uri)
  const end = uri.indexOf('?')
  const path = end === -1 ? uri : uri.slice(0, end)
  return { method, origin, path, query: end === -1 ? '' : uri.slice(end), isByNginx }
}

/** The headers of which a value matters here. */
const readNames: ReadonlySet<string> = new Set([...forwardedNames, ...originalNames, connectionHeader])

/** By their first letter (`x-…`, `content-length`, `transfer-encoding`, `remote-…`) most headers are passed over. */
const firstLetters = new Set(['x', 'c', 't', 'r'].map((letter) => letter.charCodeAt(0)))
const mayMatter = (name: string) => firstLetters.has(name.charCodeAt(0) | 0x20)

const unusual = /[^a-z\d-]/

/** Behind some applications `_`, `.` and other signs are the same as `-` in the name of a header. */
export const asSeenByApplications = (name: string) => (unusual.test(name) ? name.replaceAll(/[^a-z\d]/g, '-') : name)

/**
 * Reads what the visitor has asked from the headers that a proxy has sent, which must be one that is believed. `ownQuery` is the query of the
 * check itself. A visitor's header that says who somebody is makes the request odd, on open paths, too: proxies overwrite it only when all
 * goes well.
 */
export const readAskedRequest = (
  rawHeaders: readonly string[],
  ownQuery: string,
  isIdentityHeader: (name: string) => boolean,
): AskedRequest | AskedFault => {
  const values = new Map<string, string[]>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (!mayMatter(name)) continue
    const header = name.toLowerCase()
    const value = rawHeaders[at + 1] ?? ''
    if (header === 'transfer-encoding' || (header === 'content-length' && value !== '0'))
      return { fault: 'body', header, value }
    if (isIdentityHeader(asSeenByApplications(header))) return { fault: 'identity', header, value }
    if (!readNames.has(header)) continue
    const earlier = values.get(header)
    if (earlier) earlier.push(value)
    else values.set(header, [value])
  }
  const asked = describe(values)
  if ('fault' in asked) return asked
  const connection = values.get(connectionHeader) ?? []
  if (namesOtherHeaders(connection)) return { fault: 'connection', header: 'Connection', value: connection.join(', ') }
  // Caddy puts the query of the visitor at the end of the address of the check.
  if (ownQuery.length > 1 && ownQuery !== asked.query) return { fault: 'query', header: 'the address', value: ownQuery }
  return asked
}

const notPrintable = /[^\x20-\x7e]/g
const longestValue = 200

/** For the log: which header, and why. */
export const sentenceOf = ({ fault, header, value }: AskedFault) => {
  const shown = value?.slice(0, longestValue).replaceAll(notPrintable, '?')
  return `${header} ${askedFaults[fault]}${shown === undefined ? '' : `: ${shown}`}`
}

export const isOpenPath = ({ method, path }: AskedRequest, openPaths: readonly OpenPath[]) =>
  openPaths.length > 0 &&
  isPlainPath(path) &&
  openPaths.some(
    (open) =>
      open.methods.includes(method) && (open.path.endsWith('/') ? path.startsWith(open.path) : path === open.path),
  )

const longestWayBack = 2_000

/** The address that the visitor has asked for, or the first page if that is too long to be carried along. */
export const wayBackTo = ({ origin, path, query }: AskedRequest) => {
  const address = `${origin}${path}${query}`.replaceAll(
    /[^\x21-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
  return address.length <= longestWayBack ? address : `${origin}/`
}
