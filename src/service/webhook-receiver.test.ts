import { expect, it } from 'vitest'
import { startWebhookReceiver } from '../../test/support/webhook-receiver.js'
import { OutboundFailed } from '../platform/outbound/outbound.js'
import type { Resolve } from '../platform/outbound/public-addresses.js'
import { loadConfig } from '../settings/config.js'
import { openWebhookReceiver } from './open-platform.js'

it('in production plain http reaches private addresses only, whatever a name leads to', async () => {
  const server = await startWebhookReceiver()
  const production = {
    NODE_ENV: 'production',
    PUBLIC_URL: 'https://app.example.com',
    TRUST_PROXY: 'none',
    DATABASE_URL: 'postgres://app:pw@127.0.0.1/latchkey',
    REDIS_URL: 'redis://127.0.0.1',
    JWT_SECRET: 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4',
    SMTP_URL: 'smtp://127.0.0.1',
    MAIL_FROM: 'no-reply@example.com',
  }
  const outcome = async (settings: Record<string, string>, ...addresses: string[]) => {
    const resolve: Resolve = (_hostname, _options, callback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: 4 })),
      )
    const url = `http://hooks.example:${server.port}/`
    const config = loadConfig({ WEBHOOK_URL: url, WEBHOOK_SECRET: server.secret, ...settings })
    return openWebhookReceiver(config, { resolve, connectTimeout: 500 })
      ?.outbound.withDeadline()(url, { method: 'HEAD' })
      .then(
        () => 'reached',
        (error: unknown) => (error instanceof OutboundFailed ? error.code : error),
      )
  }
  const allowed = { ...production, WEBHOOK_ALLOW_PRIVATE: 'true' }
  expect(await outcome(allowed, '127.0.0.1')).toBe('reached')
  expect(await outcome(allowed, '8.8.8.8')).toBe('forbidden')
  expect(await outcome(allowed, '8.8.8.8', '127.0.0.1')).toBe('reached')
  expect(await outcome(allowed, '169.254.169.254')).toBe('forbidden')
  // Elsewhere it is for trying out.
  expect(await outcome({}, '127.0.0.1')).toBe('private_address')
  expect(await outcome({ WEBHOOK_ALLOW_PRIVATE: 'true' }, '127.0.0.1')).toBe('reached')
  await server.stop()
})
