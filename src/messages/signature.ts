import { createHmac } from 'node:crypto'

/** The key of a secret, which is configured as `whsec_` and the key in base64. */
export const keyOf = (secret: string) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64')

/**
 * The headers of Standard Webhooks. With several secrets there are several signatures, so that a receiver that knows one of the secrets
 * accepts the webhook while a secret is being replaced.
 */
export const signedHeaders = (message: { id: string; body: string; now: Date }, keys: readonly Buffer[]) => {
  const timestamp = String(Math.floor(message.now.getTime() / 1000))
  const signedText = `${message.id}.${timestamp}.${message.body}`
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(signedText).digest('base64')}`)
  return { 'webhook-id': message.id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
