export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** A cookie for Playwright's `context.addCookies`. */
export type TestCookie = {
  readonly name: string
  readonly value: string
  readonly domain: string
  readonly path: string
  readonly httpOnly: boolean
  readonly secure: boolean
  readonly sameSite: 'Strict' | 'Lax' | 'None'
}

const sameSites = { strict: 'Strict', lax: 'Lax', none: 'None' } as const
const sameSiteOf = (text: string | undefined) =>
  Object.entries(sameSites).find(([name]) => name === text?.toLowerCase())?.[1] ?? 'Lax'

const readCookie = (line: string, host: string): TestCookie & { isExpired: boolean } => {
  const [pair = '', ...rest] = line.split(/;\s*/)
  const attributes = new Map(
    rest.map((text) => {
      const [name = '', value = ''] = text.split('=')
      return [name.toLowerCase(), value] as const
    }),
  )
  const at = pair.indexOf('=')
  return {
    name: pair.slice(0, at),
    value: pair.slice(at + 1),
    domain: host,
    path: attributes.get('path') || '/',
    httpOnly: attributes.has('httponly'),
    secure: attributes.has('secure'),
    sameSite: sameSiteOf(attributes.get('samesite')),
    isExpired: attributes.get('max-age') === '0' || Date.parse(attributes.get('expires') ?? '') <= Date.now(),
  }
}

/** A `fetch` with a cookie jar of its own, like that of a browser. Redirects are not followed, so that a test sees them. */
export const createCookieFetch = (origin: string) => {
  const jar = new Map<string, TestCookie>()
  const host = new URL(origin).hostname
  const cookieHeader = () => [...jar.values()].map(({ name, value }) => `${name}=${value}`).join('; ')

  const send: Fetch = async (input, init = {}) => {
    const target = input instanceof Request ? input : new URL(input, origin)
    const headers = new Headers(init.headers ?? (target instanceof Request ? target.headers : undefined))
    if (jar.size > 0) headers.set('cookie', cookieHeader())
    if (!headers.has('origin')) headers.set('origin', origin)
    const response = await fetch(target, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const { isExpired, ...cookie } = readCookie(line, host)
      if (isExpired) jar.delete(cookie.name)
      else jar.set(cookie.name, cookie)
    }
    return response
  }
  return { fetch: send, cookieHeader, cookies: () => [...jar.values()] }
}
