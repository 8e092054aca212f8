import { codeOfLimit } from '../src/contract/limits.js'
import type { PasswordFindings } from '../src/contract/password-rules.js'
import type { RefusalCode } from '../src/contract/refusals.js'

/** A request that was refused or failed. Status 0: there was no answer. */
export type Refusal = {
  status: number
  /** Missing when the answer came from a proxy. A newer server may send a code that this page does not know. */
  code: RefusalCode | undefined
  /** What is wrong with a password that was rejected. */
  findings: PasswordFindings | undefined
  retryAfter: number | undefined
}
export type Answer<Value> = { ok: true; value: Value } | { ok: false; refusal: Refusal }
export type Method = 'GET' | 'POST' | 'DELETE'

const timeout = 20_000

/** One request to our own origin. It never throws: a failure is a value too. */
export const send = async <Value>(
  method: Method,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer<Value>> => {
  try {
    const response = await fetch(path, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(timeout),
    })
    const answer = readJson(await response.text())
    if (!response.ok) return { ok: false, refusal: readRefusal(response, answer) }
    // A page in place of our answer, such as the sign-in page of a hotel network.
    if (answer instanceof SyntaxError) return { ok: false, refusal: noAnswer }
    return { ok: true, value: answer as Value }
  } catch {
    return { ok: false, refusal: noAnswer }
  }
}

const noAnswer: Refusal = { status: 0, code: undefined, findings: undefined, retryAfter: undefined }

const readJson = (text: string): unknown => {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch (error) {
    return error
  }
}

const readRefusal = (response: Response, answer: unknown): Refusal => {
  const { error, code, ids } = (answer ?? {}) as { error?: unknown; code?: unknown; ids?: PasswordFindings }
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return {
    status: response.status,
    code: response.status === 429 ? codeOfLimit(error) : typeof code === 'string' ? (code as RefusalCode) : undefined,
    findings: code === 'password_rejected' ? ids : undefined,
    retryAfter: seconds > 0 ? Math.ceil(seconds) : undefined,
  }
}

let csrfToken: string | undefined

/** A request that changes something for a signed-in user carries a token that only our own pages can read. */
export const sendWithCsrfToken = async <Value>(
  method: Method,
  path: string,
  body?: unknown,
): Promise<Answer<Value>> => {
  const first = await sendWithKnownToken<Value>(method, path, body)
  if (first.ok || first.refusal.code !== 'invalid_csrf_token') return first
  // The secret of the token has changed, perhaps in another tab. Get a new token and try once more.
  csrfToken = undefined
  return sendWithKnownToken<Value>(method, path, body)
}

const sendWithKnownToken = async <Value>(method: Method, path: string, body: unknown): Promise<Answer<Value>> => {
  if (csrfToken === undefined) {
    const issued = await send<{ csrfToken: string }>('GET', '/api/auth/csrf-token')
    if (!issued.ok) return issued
    csrfToken = issued.value.csrfToken
  }
  return send<Value>(method, path, body, { 'x-csrf-token': csrfToken })
}

/** How long to wait before the next attempt: what the server asks for, else longer each time. Tabs spread out. */
export const retryDelay = (attempt: number, { retryAfter }: Refusal) => {
  const grown = Math.min(30_000, 1_000 * 2 ** attempt)
  const asked = Math.min(60, retryAfter ?? 0) * 1_000
  return Math.max(asked, grown) * (1 + Math.random() / 4)
}

/** The service cannot answer at the moment. That says nothing about whether the user is signed in. */
export const isTemporary = ({ status }: Refusal) => status === 0 || status === 429 || status >= 500

export const isSignedOut = ({ code }: Refusal) => code === 'not_authenticated'
