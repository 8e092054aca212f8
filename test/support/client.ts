import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { documentedOperations } from './api-document.js'
import { createCookieJar } from './cookie-jar.js'

/** `byBrowser`: the browser itself sends it, and no page, so the headers that name a page are missing. */
type Options = { headers?: Record<string, string>; csrf?: boolean; address?: string; byBrowser?: boolean }

export type Answer = {
  status: number
  headers: Headers
  setCookies: string[]
  text: string
  body: Record<string, unknown>
}

let cookieAnswers: Map<string, { pattern: RegExp; sets: Set<string> }[]> | undefined

/** By method: which answers of each operation set cookies, as docs/openapi.json says. */
const readCookieAnswers = () => {
  const document = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'))
  const byMethod = new Map<string, { pattern: RegExp; sets: Set<string> }[]>()
  for (const { method, path, answers } of documentedOperations(document)) {
    const setting = Object.entries(answers).filter(([, { headers = {} }]) => 'Set-Cookie' in headers)
    const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
    const known = byMethod.get(method.toUpperCase()) ?? []
    byMethod.set(method.toUpperCase(), [...known, { pattern, sets: new Set(setting.map(([status]) => status)) }])
  }
  return byMethod
}

/** Handlers set cookies, so the document cannot know of them by itself. Every request of a test compares the two. */
const expectDocumented = (method: string, path: string, status: number) => {
  cookieAnswers ??= readCookieAnswers()
  const { pathname } = new URL(path, 'http://localhost')
  const operations = cookieAnswers.get(method)?.filter(({ pattern }) => pattern.test(pathname)) ?? []
  if (operations.length > 0 && !operations.some(({ sets }) => sets.has(String(status))))
    throw new Error(`${method} ${pathname} sets a cookie with ${status}, and docs/openapi.json does not say so`)
}

/** As with `fetch`, a connection that is not used for four seconds closes. */
const agent = new Agent({ keepAlive: true, timeout: 4_000 })

/** The headers of `fetch`, which a test may replace. */
const usualHeaders = { accept: '*/*', 'accept-language': '*', 'sec-fetch-mode': 'cors', 'user-agent': 'node' }

type Sent = { method: string; headers: Record<string, string>; body: string | undefined }

/** Like `fetch` without redirects, for a third of the time: the tests send tens of thousands of requests. */
const exchange = (url: URL, { method, headers, body }: Sent) =>
  new Promise<{ status: number; headers: Headers; text: string }>((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const options = { method, agent, headers: { ...usualHeaders, ...length, ...headers } }
    const sent = request(url, options, (answer) => {
      const received: Buffer[] = []
      answer.on('data', (chunk: Buffer) => received.push(chunk))
      answer.once('error', reject)
      answer.once('end', () => {
        const answered = new Headers()
        for (let at = 0; at < answer.rawHeaders.length; at += 2)
          answered.append(answer.rawHeaders[at] ?? '', answer.rawHeaders[at + 1] ?? '')
        resolve({ status: answer.statusCode ?? 0, headers: answered, text: Buffer.concat(received).toString() })
      })
    })
    sent.once('error', reject)
    sent.end(body)
  })

/** Sends what our own pages send, with the cookies that a browser would have. `reached`: where a service listens that has another address. */
export const createBrowser = (origin: string, jar = createCookieJar(), reached = origin) => {
  const send = async (method: string, path: string, body?: unknown, options: Options = {}): Promise<Answer> => {
    const csrf: Record<string, string> = options.csrf ? { 'x-csrf-token': await keptCsrfToken() } : {}
    const cookie = jar.header()
    const { status, headers, text } = await exchange(new URL(path, reached), {
      method,
      headers: {
        ...(method === 'GET' || options.byBrowser ? {} : { origin, 'sec-fetch-site': 'same-origin' }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(cookie ? { cookie } : {}),
        ...(options.address ? { 'x-forwarded-for': options.address } : {}),
        ...csrf,
        ...options.headers,
      },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    })
    const setCookies = headers.getSetCookie()
    if (setCookies.length > 0) expectDocumented(method, path, status)
    jar.keep(setCookies)
    const isJson = headers.get('content-type')?.startsWith('application/json') ?? false
    return { status, headers, setCookies, text, body: isJson && text !== '' ? JSON.parse(text) : {} }
  }

  const csrfToken = async () => {
    const { body } = await send('GET', '/api/auth/csrf-token')
    return String(body.csrfToken)
  }

  /** As a page does, which keeps its token: it is good as long as the cookies stay the same. */
  let kept = { cookies: '', token: '' }
  const keptCsrfToken = async () => {
    if (kept.token === '' || kept.cookies !== jar.header()) {
      const token = await csrfToken()
      kept = { cookies: jar.header(), token }
    }
    return kept.token
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
    copy: () => createBrowser(origin, createCookieJar(jar), reached),
  }
}

/** `fetch` as a page of this site has it, with the cookies of the jar. Paths are those of the site. */
export const createPageFetch = (origin: string, jar = createCookieJar()) => {
  return async (input: string | URL | Request, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    headers.set('origin', origin)
    headers.set('sec-fetch-site', 'same-origin')
    headers.set('cookie', jar.header())
    const response = await fetch(new URL(input instanceof Request ? input.url : input, origin), { ...init, headers })
    jar.keep(response.headers.getSetCookie())
    return response
  }
}

export type Browser = ReturnType<typeof createBrowser>
