type Options = { headers?: Record<string, string>; csrf?: boolean; address?: string }

export type Answer = {
  status: number
  headers: Headers
  setCookies: string[]
  text: string
  body: Record<string, unknown>
}

/** Keeps cookies as a browser does, as far as one origin goes, and sends what our own pages send. */
export const createBrowser = (origin: string) => {
  const jar = new Map<string, string>()

  const keep = (setCookie: string) => {
    const [pair = '', ...attributes] = setCookie.split('; ')
    const [name = '', ...value] = pair.split('=')
    if (attributes.includes('Max-Age=0')) jar.delete(name)
    else jar.set(name, value.join('='))
  }

  const send = async (method: string, path: string, body?: unknown, options: Options = {}): Promise<Answer> => {
    const csrf: Record<string, string> = options.csrf ? { 'x-csrf-token': await csrfToken() } : {}
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(new URL(path, origin), {
      method,
      redirect: 'manual',
      headers: {
        ...(method === 'GET' ? {} : { origin, 'sec-fetch-site': 'same-origin' }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(cookie ? { cookie } : {}),
        ...(options.address ? { 'x-forwarded-for': options.address } : {}),
        ...csrf,
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const setCookies = response.headers.getSetCookie()
    for (const each of setCookies) keep(each)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
    return {
      status: response.status,
      headers: response.headers,
      setCookies,
      text,
      body: isJson ? JSON.parse(text) : {},
    }
  }

  const csrfToken = async () => {
    const { body } = await send('GET', '/api/auth/csrf-token')
    return String(body.csrfToken)
  }

  return {
    jar,
    send,
    csrfToken,
    get: (path: string, options?: Options) => send('GET', path, undefined, options),
    post: (path: string, body?: unknown, options?: Options) => send('POST', path, body, options),
    /** With the CSRF token that a page would send. */
    act: (path: string, body?: unknown) => send('POST', path, body, { csrf: true }),
    remove: (path: string) => send('DELETE', path, undefined, { csrf: true }),
    /** Another browser with the same cookies, as they are now: another tab, or a thief. */
    copy: () => {
      const other = createBrowser(origin)
      for (const [name, value] of jar) other.jar.set(name, value)
      return other
    },
  }
}

export type Browser = ReturnType<typeof createBrowser>
