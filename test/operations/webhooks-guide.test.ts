import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { webhookTypes } from '#contract/webhooks.js'
import { startLatchkey } from '../support/latchkey.js'
import { read } from '../support/project.js'
import { freePort } from '../support/servers/server.js'
import { newWebhookSecret } from '../support/webhook-receiver.js'

it('names every type of the contract, and no other', async () => {
  const guide = await read('docs/programs.md')
  const named = [...guide.matchAll(/^\| `(\w+\.\w+)` \|/gm)].map(([, type]) => type)
  expect(named).toEqual(Object.keys(webhookTypes))
})

it('has a receiver that works as it is written', async () => {
  const [port, secret] = [await freePort(), newWebhookSecret()]
  const child = spawn(process.execPath, ['docs/samples/webhook-receiver.mjs'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, PORT: String(port), WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk))
  const settings = {
    WEBHOOK_URL: `http://localhost:${port}/`,
    WEBHOOK_SECRET: secret,
    WEBHOOK_ALLOW_PRIVATE: 'true',
  }
  const latchkey = await startLatchkey({ settings })
  try {
    await latchkey.signedUp('ada')
    await expect.poll(() => said, { timeout: 60_000 }).toMatch(/user\.created|user\.signed_in/)
    await expect.poll(() => said.trim().split('\n').length, { timeout: 60_000 }).toBe(2)
  } finally {
    await latchkey.stop()
    child.kill()
    await once(child, 'exit')
  }
})
