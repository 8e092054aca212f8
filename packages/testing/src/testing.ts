import type { NamesOf } from '../../option-names.js'
import { refuseUnknown } from './faults.js'

export type TestOptions = {
  /**
   * Settings of the service, such as `{ ALLOWED_ORIGINS: 'http://localhost:4000' }`. The service reads no others, and not your
   * environment.
   */
  readonly settings?: Readonly<Record<string, string>>
}

export type NewTestUser = {
  readonly username?: string
  /** Default: the username at example.com. The address counts as proven. */
  readonly email?: string
  readonly password?: string
  readonly name?: string
  /** Groups that do not exist are created. */
  readonly groups?: readonly string[]
  /** Whether the user has an authenticator app, whose codes `signIn` enters. */
  readonly twoStep?: boolean
}

export type TestUser = {
  readonly id: string
  readonly username: string
  readonly email: string
  readonly password: string
  /** The secret of the authenticator app, if there is one. */
  readonly totpSecret: string | undefined
}

export type TestSession = {
  /** The header of a request to your application: `access_token=…; refresh_token=…`. */
  readonly cookie: string
  /** For a browser: `context.addCookies(session.cookies)` in Playwright. */
  readonly cookies: readonly TestCookie[]
  /** Sends these cookies, and keeps those of the answers. It also works in `createClient({ baseUrl, fetch })`. */
  readonly fetch: Fetch
}

export type TestMail = {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** The first link in the text. */
  readonly link: string | undefined
}

/** The part of the program that this package uses. */
type Program = {
  startTestService(settings: Readonly<Record<string, string>>): Promise<{
    url: string
    serviceKey: string
    addUser(user: Required<Pick<NewTestUser, 'username' | 'email' | 'password'>> & NewTestUser): Promise<{ id: string }>
    mails(): readonly Omit<TestMail, 'link'>[]
    now(): Date
    advance(milliseconds: number): Promise<void>
    close(): Promise<void>
  }>
}

const loadProgram = async () => {
  // The type `string` keeps the compiler from resolving the program, which has no types.
  const name: string = 'latchkey/testing'
  try {
    return (await import(name)) as Program
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')
      throw new Error('@latchkey/testing starts the program itself: install latchkey beside it', { cause: error })
    throw error
  }
}

const startOptionNames: NamesOf<TestOptions> = { settings: true }
const userOptionNames: NamesOf<NewTestUser> = {
  username: true,
  email: true,
  password: true,
  name: true,
  groups: true,
  twoStep: true,
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const durationOf = (text: string) => {
  const [, amount, unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  if (amount === undefined) throw new TypeError(`${text}: must be a time such as 30s, 16m, 2h or 31d`)
  return Number(amount) * (units[unit] ?? 0)
}

const usualPassword = 'violet-Harbor-91-lantern'
const mailDeadline = 5_000
/** A code in a mail. */
const codePattern = /\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/

const withLink = (mail: Omit<TestMail, 'link'>): TestMail => ({
  to: mail.to,
  subject: mail.subject,
  text: mail.text,
  html: mail.html,
  link: /https?:\/\/[^\s<>"]+/.exec(mail.text)?.[0],
})

/** Requests of one browser, each of which has to succeed. */
const createBrowser = (url: string) => {
  const { fetch, cookieHeader, cookies } = createCookieFetch(url)
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${text}`)
    return JSON.parse(text)
  }
  /** For requests that change the account. */
  const postWithCsrfToken = async (path: string, body: object = {}) => {
    const { csrfToken } = await (await fetch('/api/auth/csrf-token')).json()
    return post(path, body, { 'x-csrf-token': csrfToken })
  }
  return {
    fetch,
    post,
    postWithCsrfToken,
    session: (): TestSession => ({ cookie: cookieHeader(), cookies: cookies(), fetch }),
  }
}

type Service = Awaited<ReturnType<Program['startTestService']>>
type Credentials = Pick<TestUser, 'username' | 'password'> & { totpSecret?: string | undefined }
type Browser = ReturnType<typeof createBrowser>

/** The newest mail to this address whose subject or text matches. Waits up to five seconds for it. */
const createMailTo =
  ({ mails }: Service) =>
  async (address: string, pattern?: RegExp): Promise<TestMail> => {
    const until = Date.now() + mailDeadline
    for (;;) {
      const found = mails().find(
        ({ to, subject, text }) => to === address && (pattern?.test(`${subject}\n${text}`) ?? true),
      )
      if (found) return withLink(found)
      if (Date.now() > until) throw new Error(`No mail to ${address}${pattern ? ` matches ${pattern}` : ''}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
type MailTo = ReturnType<typeof createMailTo>

/** Agrees to the terms of the operator (TERMS_VERSION), if the sign-in waits for that. Returns the step that it waits for then. */
const agreeToTerms = async ({ fetch, post }: Browser, next: string | undefined): Promise<string | undefined> => {
  if (next !== 'terms') return next
  const { terms } = await (await fetch('/api/auth/second-factor')).json()
  return (await post('/api/auth/second-factor', { terms: terms.version })).next
}

/** Signs in as a browser does, with the codes of an authenticator app where the account has one. */
const createSignIns = ({ url, now, advance }: Service, mailTo: MailTo) => {
  const usedSteps = new Map<string, number>()

  /** A code works once. If the current code was used, the clock moves on to the next one. */
  const nextCode = async (secret: string) => {
    const step = () => Math.floor(now().getTime() / 1000 / stepSeconds)
    while (step() <= (usedSteps.get(secret) ?? 0)) await advance(stepSeconds * 1000)
    usedSteps.set(secret, step())
    return codeAt(secret, step())
  }

  return {
    signIn: async ({ username, password, totpSecret }: Credentials): Promise<TestSession> => {
      const browser = createBrowser(url)
      const first = await browser.post('/api/auth/login', { username, password })
      const second =
        first.next === 'second_factor' && totpSecret !== undefined
          ? await browser.post('/api/auth/second-factor', { code: await nextCode(totpSecret) })
          : first
      const open = await agreeToTerms(browser, second.next)
      if (open === 'enrolment')
        throw new Error(`${username} needs a second factor (SECOND_FACTOR): add the user with twoStep: true`)
      if (open !== undefined) throw new Error(`${username} cannot sign in without another step: ${open}`)
      return browser.session()
    },
    /** Signs in, switches two-step sign-in on, and returns the secret of the app. */
    addApp: async ({ email, ...user }: Credentials & { email: string }) => {
      const browser = createBrowser(url)
      const { next } = await browser.post('/api/auth/login', user)
      if (next === 'enrolment') {
        await browser.post('/api/auth/second-factor/mail', {})
        const { text } = await mailTo(email, codePattern)
        await browser.post('/api/auth/second-factor', { mailedCode: codePattern.exec(text)?.[0] })
      } else await agreeToTerms(browser, next)
      const { secret } = await browser.postWithCsrfToken('/api/auth/totp')
      await browser.postWithCsrfToken('/api/auth/totp/confirm', { code: await nextCode(secret) })
      return String(secret)
    },
  }
}

export type TestLatchkey = Awaited<ReturnType<typeof startLatchkey>>

/** A real service on a free port, with a PostgreSQL of its own. Close it at the end of the tests. */
export const startLatchkey = async (options: TestOptions = {}) => {
  refuseUnknown(options, startOptionNames, 'startLatchkey')
  const { settings = {} } = options
  const service = await (await loadProgram()).startTestService(settings)
  const { url, serviceKey, now, mails, close } = service
  const mailTo = createMailTo(service)
  const { signIn, addApp } = createSignIns(service, mailTo)
  let userCount = 0

  return {
    /** The URL of the service, which is its `PUBLIC_URL` too. */
    url,
    /** Opens the whole service API: `createServiceClient({ url, key: serviceKey })`. */
    serviceKey,
    addUser: async (newUser: NewTestUser = {}): Promise<TestUser> => {
      refuseUnknown(newUser, userOptionNames, 'addUser')
      userCount += 1
      const username = newUser.username ?? `person-${userCount}`
      const { email = `${username}@example.com`, password = usualPassword, twoStep = false, ...rest } = newUser
      const account = { username, email, password }
      const { id } = await service.addUser({ ...rest, ...account })
      return { id, ...account, totpSecret: twoStep ? await addApp(account) : undefined }
    },
    signIn,
    /** All mails, newest first. */
    mails: () => mails().map(withLink),
    mailTo,
    /** The time of the service. */
    now,
    /** Moves the clock of the service on, such as `advance('16m')` until an access token has expired. Your own clock stays. */
    advance: async (time: string) => service.advance(durationOf(time)),
    close,
  }
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const stepSeconds = 30

const decodeBase32 = (text: string) => {
  const bits = [...text].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2))
}

/** The code of an authenticator app (RFC 6238) for a step of 30 seconds. */
const codeAt = async (secret: string, step: number) => {
  const counter = new DataView(new ArrayBuffer(8))
  counter.setBigUint64(0, BigInt(step))
  const algorithm = { name: 'HMAC', hash: 'SHA-1' }
  const key = await crypto.subtle.importKey('raw', decodeBase32(secret), algorithm, false, ['sign'])
  const mac = new DataView(await crypto.subtle.sign('HMAC', key, counter))
  const number = mac.getUint32(mac.getUint8(19) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

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
const createCookieFetch = (origin: string) => {
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
