import type { InvalidFields } from '#contract/profile-fields.js'
import type { RefusalCode } from '#contract/refusals.js'
import { objectIn, refusalOf } from '../../answers.js'
import { ServiceError } from './service-error.js'

export type ServiceClientOptions = {
  /** The URL at which your program reaches the service, such as `http://10.0.0.5:3000`. Proxies do not pass these requests on. */
  readonly url: string
  /** The key that `latchkey service-key add NAME --scope SCOPES` prints. */
  readonly key: string
  /** In milliseconds. */
  readonly timeout?: number
  /** Used instead of the `fetch` of your runtime. */
  readonly fetch?: typeof fetch
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
export type Query = Readonly<Record<string, string | number | undefined>>
type Content = { query?: Query; body?: object }

/** In milliseconds: longer than the service waits for news of ended sessions. */
const usualTimeout = 30_000

type Refusal = { error?: unknown; code?: RefusalCode; message?: string; fields?: InvalidFields['fields'] }

const errorOf = (response: Response, body?: Refusal) => {
  const { refused, status, retryAfter, fields, message } = refusalOf(response, body)
  const details = { status, retryAfter, fields, message: message ?? `The request was answered with ${status}` }
  return new ServiceError(refused, details)
}

export type Requests = ReturnType<typeof createRequests>

export const createRequests = ({ url, key, timeout = usualTimeout, fetch: ownFetch }: ServiceClientOptions) => {
  const urlOf = (path: string, query: Query = {}) => {
    const target = new URL(`${url.replace(/\/$/, '')}/api/service/${path}`)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) target.searchParams.set(name, String(value))
    }
    return target
  }

  /** Redirects are refused, because they would take the key to another address. */
  const ask = async (method: Method, path: string, { query, body }: Content) => {
    const response = await (ownFetch ?? fetch)(urlOf(path, query), {
      method,
      redirect: 'error',
      signal: AbortSignal.timeout(timeout),
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { response, text: await response.text() }
  }

  const send = async <Value>(method: Method, path: string, content: Content = {}): Promise<Value> => {
    const { response, text } = await ask(method, path, content).catch((cause: unknown) => {
      throw new ServiceError('no_answer', { message: 'The service could not be reached', cause })
    })
    const body = objectIn(text)
    if (response.ok && (body || response.status === 204)) return body as Value
    throw errorOf(response, body)
  }

  /** Returns undefined, instead of an error, for what is not there. */
  const find = <Value>(method: 'GET' | 'POST', path: string, content?: Content) =>
    send<Value>(method, path, content).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'not_found') return undefined
      throw error
    })

  return { send, find }
}
