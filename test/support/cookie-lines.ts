import { cookieRowOf, hostPrefix, isSessionCookie, maxAgeOf } from '../../src/http/cookie-table.js'

/** Cookies of the applications in the tests, which pass our proxies and guards. */
const applicationCookies = new Set(['theme'])

const attributesOf = (texts: readonly string[]) =>
  new Map(texts.map((text): [string, string] => [text.split('=', 1)[0] ?? '', text.slice(text.indexOf('=') + 1)]))

const faultOfPlace = (name: string, isPrefixed: boolean, attributes: ReadonlyMap<string, string>) => {
  const isSecure = attributes.has('Secure')
  if (isSessionCookie(name)) return isPrefixed ? 'has a prefix' : undefined
  if (attributes.has('Domain')) return 'has a Domain'
  return isPrefixed === isSecure ? undefined : 'must have both Secure and the prefix, or neither'
}

const knownAttributes = new Set(['Max-Age', 'Domain', 'Path', 'HttpOnly', 'SameSite', 'Secure'])

/** The fault of a `Set-Cookie` line, by the table of all cookies; undefined if there is none. */
export const faultOfCookieLine = (line: string): string | undefined => {
  const [pair = '', ...rest] = line.split('; ')
  const [fullName = ''] = pair.split('=', 1)
  const value = pair.slice(fullName.length + 1)
  if (applicationCookies.has(fullName)) return undefined
  const isPrefixed = fullName.startsWith(hostPrefix)
  const name = isPrefixed ? fullName.slice(hostPrefix.length) : fullName
  const row = cookieRowOf(name)
  if (!row) return 'is not in the table'
  const attributes = attributesOf(rest)
  if (attributes.size !== rest.length) return 'has an attribute twice'
  const strange = [...attributes.keys()].filter((each) => !knownAttributes.has(each))
  if (strange.length > 0) return `has ${strange.join()}`
  if (!attributes.has('HttpOnly') || attributes.get('Path') !== '/') return 'lacks HttpOnly or Path=/'
  if (attributes.get('SameSite') !== row.sameSite) return `is not SameSite=${row.sameSite}`
  const fault = faultOfPlace(name, isPrefixed, attributes)
  if (fault) return fault
  const maxAge = Number(attributes.get('Max-Age') ?? Number.NaN)
  if (maxAge === 0) return value === '' ? undefined : 'is cleared with a value'
  const mayBeShorter = typeof row.lifetime !== 'number'
  const isRightAge = mayBeShorter ? maxAge > 0 && maxAge <= maxAgeOf(row) : maxAge === maxAgeOf(row)
  if (!isRightAge) return 'has another Max-Age than the table'
  return row.value.test(value) ? undefined : 'has a value of another shape'
}

/** Every `Set-Cookie` line that the clients of the tests receive goes through here. */
export const expectCookieLines = (lines: readonly string[], { isSecure }: { isSecure?: boolean } = {}) => {
  const ours = lines.filter((line) => !applicationCookies.has(line.split('=', 1)[0] ?? ''))
  for (const line of ours) {
    const fault = faultOfCookieLine(line)
    if (fault) throw new Error(`A Set-Cookie line ${fault}: ${line.replace(/=[^;]{50,}/, '=…')}`)
  }
  const secure = ours.filter((line) => line.split('; ').includes('Secure')).length
  if (secure !== 0 && secure !== ours.length) throw new Error(`Only some cookies are Secure: ${ours.join('\n')}`)
  if (isSecure && secure !== ours.length) throw new Error(`A cookie over https is not Secure: ${ours.join('\n')}`)
}
