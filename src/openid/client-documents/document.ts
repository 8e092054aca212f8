import { isDocumentRedirect } from '../../applications/application-rules.js'
import type { DocumentHost } from '../../settings/document-hosts.js'
import { displayName } from '../../users/names.js'

const longestId = 500
const longestName = 60
/** A server may read these as the dots and slashes of a path, and then the beginning of the path says nothing. */
const encodedPathSigns = /%(?:2e|2f|5c)/i
/** A path that every server reads alike, where its beginning decides. */
const isPlainBelow = (pathname: string) => /^[\w.~/-]+$/.test(pathname) && !/\/\.\.|\/\//.test(pathname)

/** Whether a `client_id` means a document. */
export const isDocumentId = (clientId: string) => clientId.startsWith('https://')

/** Whether the document may be fetched: its address is well-formed, and its host is on the list. */
export const isAllowedDocument = (clientId: string, hosts: readonly DocumentHost[]) => {
  if (clientId.length > longestId || !isDocumentId(clientId) || !URL.canParse(clientId)) return false
  const { href, host, pathname, username, password } = new URL(clientId)
  if (href !== clientId || pathname === '/' || username !== '' || password !== '') return false
  if (/[?#]/.test(clientId) || encodedPathSigns.test(pathname)) return false
  return hosts.some(
    (each) => each.host === host && (each.path === '/' || (pathname.startsWith(each.path) && isPlainBelow(pathname))),
  )
}

/** What counts of a document. Nothing else of it is shown or fetched. */
export type ClientDocument = { name: string; redirectAddresses: string[] }

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What looks like a host, also in the dots of other scripts: beside it, ours would not be the only one. */
const hostLike = /[\p{L}\p{N}][.\u3002\uff61]\p{L}/u
const brackets = /[\p{Ps}\p{Pe}\p{Pi}\p{Pf}<>]/gu
/** More marks on one letter than languages need draw over the lines above and below. */
const surplusMarks = /(?<=\p{M}{2})\p{M}+/gu

/** The name that a program has chosen, without what makes it look like more than a name. */
const chosenName = (name: unknown) => {
  if (typeof name !== 'string') return null
  const plain = name.normalize('NFC').replaceAll(brackets, '').replaceAll(surplusMarks, '')
  const shown = displayName(plain, longestName)
  return shown === null || hostLike.test(shown.normalize('NFKD').replaceAll(/\p{M}/gu, '')) ? null : shown
}

const isList = (value: unknown): value is unknown[] => Array.isArray(value)

/** A program of a document has no secret, so it cannot prove itself by any other method. */
const hasNoMethod = (method: unknown = 'none', supported: unknown = []) =>
  method === 'none' || (isList(supported) && supported.includes('none'))

/** Reads a document, or says what is wrong with it. The host stands beside every name, because anybody can write a name. */
export const readDocument = (id: string, text: string): ClientDocument | { fault: string } => {
  const document = parsed(text)
  if (!isObject(document)) return { fault: 'it is no JSON object' }
  if (document.client_id !== id) return { fault: 'its client_id is not its address' }
  if ('client_secret' in document || 'client_secret_expires_at' in document) return { fault: 'it has a client_secret' }
  if (!hasNoMethod(document.token_endpoint_auth_method, document.token_endpoint_auth_methods_supported))
    return { fault: 'its token_endpoint_auth_method is not none' }
  const { redirect_uris: given } = document
  const texts = isList(given) ? given.filter((each) => typeof each === 'string') : []
  const redirectAddresses = [...new Set(texts.filter(isDocumentRedirect))]
  if (redirectAddresses.length === 0) return { fault: 'it has no redirect address with https or on this machine' }
  const { host } = new URL(id)
  const name = chosenName(document.client_name)
  return { name: name === null ? host : `${name} (${host})`, redirectAddresses }
}

const jsonType = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i
export const isJsonType = (contentType: string | null) => jsonType.test(contentType ?? '')

const shortest = 300
const longest = 86_400

const directive = (cacheControl: string, name: string) => {
  const [, seconds] = new RegExp(`(?:^|[\\s,])${name}=(\\d{1,9})`, 'i').exec(cacheControl) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}

/** For how many seconds a copy is fresh, by the headers of its answer: between five minutes and a day (RFC 9111, 4.2.1). */
export const freshFor = (headers: Headers) => {
  const cacheControl = headers.get('cache-control') ?? ''
  const date = Date.parse(headers.get('date') ?? '')
  const expires = Date.parse(headers.get('expires') ?? '')
  const untilExpiry = Number.isNaN(date) || Number.isNaN(expires) ? shortest : (expires - date) / 1000
  const stated = /no-store|no-cache/i.test(cacheControl) ? 0 : (directive(cacheControl, 'max-age') ?? untilExpiry)
  const age = Number(headers.get('age') ?? 0)
  return Math.min(longest, Math.max(shortest, Math.floor(stated - (age > 0 ? age : 0))))
}
