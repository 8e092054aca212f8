import type { WebhookBody } from '#contract/webhooks.js'
import { ServiceError } from './service-error.js'

/** The headers of a `Request`, or of `node:http`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/** In seconds, before and after now. An older webhook may be a copy that an attacker sends again. */
const tolerance = 300

const headerOf = (headers: WebhookHeaders, name: string) => {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  return typeof value === 'string' ? value : ''
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
  if (raw.length === 0) throw new TypeError('The secret must be whsec_ and base64, as WEBHOOK_SECRET has it')
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
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const isRecent = /^\d+$/.test(timestamp) && Math.abs(Date.now() / 1000 - Number(timestamp)) <= tolerance
  const signedBytes = joinBytes(`${id}.${timestamp}.`, rawBody)
  const isGenuine = id !== '' && (await hasSignature(headerOf(headers, 'webhook-signature'), signedBytes, secret))
  if (!isGenuine || !isRecent)
    throw new ServiceError('invalid_webhook', { message: isGenuine ? 'The webhook is too old' : 'Wrong signature' })
  return JSON.parse(typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody))
}
