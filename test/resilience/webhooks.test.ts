import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { createWebhooks } from '../../src/messages/webhooks.js'
import { createOutbound } from '../../src/platform/outbound/outbound.js'
import { createMovableClock } from '../support/clock.js'
import { openPostgresStore } from '../support/stores.js'
import { until } from '../support/until.js'
import { startWebhookReceiver } from '../support/webhook-receiver.js'

const program = fileURLToPath(new URL('../support/webhook-sender.mjs', import.meta.url))
const events = 60
const kills = 2

it('every event arrives, with one id, although the sender is killed again and again', async () => {
  const store = await openPostgresStore()
  const receiver = await startWebhookReceiver()
  const { database, url } = store
  const log = { warn: () => undefined, error: () => undefined }
  try {
    await createWebhooks({
      database,
      clock: createMovableClock(),
      receiver: { url: receiver.url, secrets: [receiver.secret], outbound: createOutbound() },
      log,
    }).subscribe()
    await database.query(
      `insert into users (id, email, email_key, username, username_key, created_at)
       select gen_random_uuid(), n || '@example.com', n || '@example.com', 'user' || n, 'user' || n, now()
       from generate_series(1, $1) as n`,
      [events],
    )
    for (let round = 0; round <= kills; round += 1) {
      // Each round begins after the leases of the one that was killed.
      const task = { databaseUrl: url, url: receiver.url, secrets: [receiver.secret] }
      const argument = JSON.stringify({ ...task, moved: round * 2 * minutes })
      const before = receiver.received.length
      const killAfter = before + 1 + Math.floor(Math.random() * 10)
      const child = spawn(process.execPath, [program, argument], { stdio: ['ignore', 'ignore', 'inherit'] })
      const isLast = round === kills
      const left = () => database.query('select 1 from outgoing_webhooks')
      await until('the sender has delivered some', async () =>
        isLast ? (await left()).length === 0 : receiver.received.length >= killAfter,
      )
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    const users = receiver.received.map(({ id, body }) => `${body.data.user.id} ${id}`)
    expect(new Set(receiver.received.map(({ body }) => body.data.user.id)).size).toBe(events)
    expect(new Set(users).size).toBe(events)
    expect(receiver.rejected).toEqual([])
  } finally {
    await receiver.stop()
    await store.drop()
  }
})
