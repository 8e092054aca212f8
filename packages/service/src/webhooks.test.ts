import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { verifyWebhook } from './webhooks.js'

const [secret, former] = [7, 9].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`) as [string, string]
const text = JSON.stringify({
  type: 'user.deleted',
  timestamp: '2026-11-15T10:00:00.000Z',
  data: { user: { id: 'ü' } },
})

/** As the library of the standard signs it. */
const signed = (body = text, { at = new Date(), by = secret } = {}) => ({
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': new Webhook(by).sign('msg_1', at, body),
})

it('a genuine webhook is its body, as text or bytes, with headers of Node or of fetch, also while the secret is replaced', async () => {
  const headers = signed()
  expect(await verifyWebhook(text, headers, secret)).toEqual(JSON.parse(text))
  expect(await verifyWebhook(Buffer.from(text), new Headers(headers), secret)).toEqual(JSON.parse(text))
  const withCapitals = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
  expect(await verifyWebhook(text, withCapitals, secret)).toEqual(JSON.parse(text))
  const both = `${signed(text, { by: former })['webhook-signature']} ${headers['webhook-signature']}`
  const received = await verifyWebhook(text, { ...headers, 'webhook-signature': both }, secret)
  // The type says which data there is.
  expect(received.type === 'user.deleted' && received.data.user.id).toBe('ü')
})

it.each([
  ['another body', text.replace('ü', 'u'), signed()],
  ['another id', text, { ...signed(), 'webhook-id': 'msg_2' }],
  ['another secret', text, signed(text, { by: former })],
  ['an old time', text, signed(text, { at: new Date(Date.now() - 301_000) })],
  ['a time to come', text, signed(text, { at: new Date(Date.now() + 310_000) })],
  ['a signature that is none', text, { ...signed(), 'webhook-signature': 'v1,%%% v2,abc' }],
  ['no headers', text, {}],
])('one with %s is refused', async (_, body, headers) => {
  await expect(verifyWebhook(body, headers, secret)).rejects.toMatchObject({ code: 'invalid_webhook' })
})

it.each([
  ['a parsed body', JSON.parse(text), signed(), secret, 'not the parsed object'],
  ['a missing header', text, { ...signed(), 'webhook-signature': undefined }, secret, 'webhook-signature is missing'],
  ['no secret', text, signed(), undefined, 'There is no secret'],
  ['a secret that is none', text, signed(), 'whsec_', 'must be one whsec_ with base64'],
])('%s is a mistake of the receiver, and the error says so', async (_, body, headers, given, message) => {
  const refused = { name: 'ServiceError', code: 'invalid_webhook', message: expect.stringContaining(message) }
  await expect(verifyWebhook(body, headers, given as string)).rejects.toMatchObject(refused)
})
