import type { WebhookBody } from '#contract/webhooks.js'
import { ServiceError } from './service-error.js'

/** The headers of a `Request`, or an object of them, as of `node:http`. Capital letters in names do not matter. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/** In seconds, before and after now. An older webhook may be a copy that an attacker sends again. */
const tolerance = 300

const invalid = (message: string) => new ServiceError('invalid_webhook', { message })

/** `node:http` writes names in small letters; some platforms for functions do not. */
const headerOf = (headers: WebhookHeaders, name: string) => {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers ?? {})
  const value = entries.find(([key]) => key.toLowerCase() === name)?.[1]
  if (!value) throw invalid(`The header ${name} is missing`)
  return String(value)
}

const bytesOf = (base64: string) => {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}

const joinBytes = (head: string, body: string | Uint8Array) => {
  const first = new TextEncoder().encode(head)
  const rest = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const all = new Uint8Array(first.length + rest.length)
  all.set(first)
  all.set(rest, first.length)
  return all
}

/**
 * Whether one of the signatures was made with this secret. The service sends two while its secret is replaced. WebCrypto compares in
 * constant time.
 */
const hasSignature = async (signatures: string, signedBytes: Uint8Array<ArrayBuffer>, secret: string) => {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const raw = bytesOf(secret.replace(/^whsec_/, ''))
  if (raw.length === 0)
    throw invalid('The secret must be one whsec_ with base64: of two in WEBHOOK_SECRET, the one that this program has')
  const key = await crypto.subtle.importKey('raw', raw, algorithm, false, ['verify'])
  for (const [, signature = ''] of signatures.matchAll(/(?:^| )v1,(\S+)/g)) {
    if (await crypto.subtle.verify('HMAC', key, bytesOf(signature), signedBytes)) return true
  }
  return false
}

/**
 * The body of a webhook, if it is from the service that has the secret. `rawBody` is the body as it arrived, before it was parsed. The
 * same webhook can come more than once, so remember the header `webhook-id`. Ignore types that you do not know.
 */
export const verifyWebhook = async (
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
): Promise<WebhookBody> => {
  if (typeof secret !== 'string' || secret === '') throw invalid('There is no secret: give the value of WEBHOOK_SECRET')
  if (typeof rawBody !== 'string' && !ArrayBuffer.isView(rawBody))
    throw invalid('The body must be the text or the bytes that arrived, not the parsed object')
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature')
  const signedBytes = joinBytes(`${id}.${timestamp}.`, rawBody)
  if (!(await hasSignature(signatures, signedBytes, secret))) throw invalid('Wrong signature')
  const isRecent = /^\d+$/.test(timestamp) && Math.abs(Date.now() / 1000 - Number(timestamp)) <= tolerance
  if (!isRecent) throw invalid('The webhook is too old')
  return JSON.parse(typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody))
}
