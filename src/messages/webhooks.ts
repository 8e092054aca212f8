import { createHmac } from 'node:crypto'
import type { FieldValues } from '../contract/profile-fields.js'
import type { WebhookData, WebhookType } from '../contract/webhooks.js'
import { reasonOf } from '../lib/caught.js'
import type { Clock } from '../lib/clock.js'
import { days, hours, minutes, seconds } from '../lib/durations.js'
import type { Database, Sql } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'
import { type Outbound, OutboundFailed } from '../platform/outbound/outbound.js'
import { createDeliveryRounds, lease, recordDelivery, scatterPause } from '../platform/rounds.js'
import * as store from './webhooks.store.js'

/** The key of a secret, which is configured as `whsec_` and the key in base64. */
const keyOf = (secret: string) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64')

/**
 * The headers of Standard Webhooks. With several secrets there are several signatures, so that a receiver that knows one of the secrets
 * accepts the webhook while a secret is being replaced.
 */
const signedHeaders = (message: { id: string; body: string; now: Date }, keys: readonly Buffer[]) => {
  const timestamp = String(Math.floor(message.now.getTime() / 1000))
  const signedText = `${message.id}.${timestamp}.${message.body}`
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(signedText).digest('base64')}`)
  return { 'webhook-id': message.id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

/**
 * The pauses before the second attempt, the third, and so on. After the last attempt, about three days after the first, a webhook is given
 * up.
 */
export const pauses = [
  5 * seconds,
  30 * seconds,
  2 * minutes,
  10 * minutes,
  30 * minutes,
  1 * hours,
  2 * hours,
  4 * hours,
  8 * hours,
  12 * hours,
  16 * hours,
  24 * hours,
]

export type Receiver = { url: string; secrets: readonly string[]; outbound: Outbound }
export type WebhookOutcome = 'delivered' | 'failed' | 'given_up'

const failureOf = (error: unknown) => (error instanceof OutboundFailed ? error.code : reasonOf(error))

/** Leaves out profile fields that the file no longer has. The triggers write all stored fields, but no program is told of these. */
const withKnownFields = (
  { user, ...data }: store.DueWebhook['data'],
  knownFields: (stored: FieldValues) => FieldValues,
) => ({
  user: user.fields === undefined ? user : { ...user, fields: knownFields(user.fields) },
  ...data,
})

/** Sends waiting webhooks to the receiver. The timeout of a request is 15 seconds, which is shorter than the lease. */
const createWebhookSender = (options: {
  database: Database
  clock: Clock
  receiver: Receiver
  knownFields: (stored: FieldValues) => FieldValues
  onOutcome: (outcome: WebhookOutcome) => void
  log: Pick<Log, 'warn' | 'error'>
}) => {
  const { database, clock, receiver, knownFields, onOutcome, log } = options
  const { host } = new URL(receiver.url)

  const keys = receiver.secrets.map(keyOf)

  /** Posts a webhook and returns the status of the answer. Redirects are not followed. */
  const post = async ({ id, type, data, created_at }: store.DueWebhook) => {
    const body = JSON.stringify({ type, timestamp: created_at.toISOString(), data: withKnownFields(data, knownFields) })
    // The receiver compares the timestamp with its own clock, so it is the real time.
    const headers = {
      ...signedHeaders({ id, body, now: new Date() }, keys),
      'content-type': 'application/json',
      'user-agent': 'latchkey',
    }
    const { status } = await receiver.outbound.withDeadline()(receiver.url, { method: 'POST', headers, body })
    return status
  }

  const fail = async (webhook: store.DueWebhook, failure: string) => {
    const base = pauses[webhook.attempts - 1]
    const pause = base === undefined ? undefined : scatterPause(base, Math.random())
    await store.markFailed(database, webhook, { failure, pause, offset: clock.offset() })
    onOutcome(pause === undefined ? 'given_up' : 'failed')
    const { id, type, attempts } = webhook
    const details = { webhook: id, type, attempts, host, reason: failure }
    if (pause === undefined) log.error(details, 'webhook given up')
    else log.warn(details, 'webhook could not be delivered yet')
  }

  /** Stops sending at all instances, because the receiver wants no webhooks any more. New webhooks wait in the table. */
  const stopSending = async () => {
    const [stoppedRow] = await store.stopSending(database)
    if (stoppedRow)
      log.error(
        { host },
        'the webhook receiver answered 410: nothing is sent until `latchkey webhooks retry` or a restart',
      )
  }

  const deliver = async (webhook: store.DueWebhook) => {
    const result = await post(webhook).then(
      (status) => ({ status, failure: `answered ${status}` }),
      (error: unknown) => ({ status: 0, failure: failureOf(error) }),
    )
    const { status, failure } = result
    if (status >= 200 && status < 300) {
      await recordDelivery(() => store.deleteDelivered(database, webhook.id))
      onOutcome('delivered')
      return true
    }
    await fail(webhook, failure)
    if (status === 410) await stopSending()
    // With such a status the receiver refuses this webhook, but may accept the next one. Otherwise it is down or overloaded.
    return status >= 400 && status < 500 && status !== 410 && status !== 429
  }

  const claim = async () => {
    const [webhook] = await store.claim(database, lease, clock.offset())
    return webhook
  }

  const onFailure = (reason: string) => log.warn({ reason }, 'outgoing webhooks wait for the database')
  return createDeliveryRounds({ claim, deliver, onFailure })
}

/** How long webhooks are written without a running service that has WEBHOOK_URL: as long as sending them would be retried. */
const subscriptionLifetime = 3 * days

export type WaitingWebhook = {
  id: string
  type: string
  userId: string
  createdAt: Date
  attempts: number
  /** Null after the webhook was given up. */
  nextAttemptAt: Date | null
  failure: string | null
}

const fromRow = (row: store.WaitingRow): WaitingWebhook => ({
  id: row.id,
  type: row.type,
  userId: row.user_id,
  createdAt: row.created_at,
  attempts: row.attempts,
  nextAttemptAt: row.next_attempt_at,
  failure: row.failure,
})

export type Webhooks = ReturnType<typeof createWebhooks>

/** Without a receiver nothing is sent. Commands have no receiver: a running service sends the webhooks that they cause. */
export const createWebhooks = (options: {
  database: Database
  clock: Clock
  receiver?: Receiver | undefined
  /** Leaves only the profile fields that the file has now, and that a webhook may contain. */
  knownFields?: (stored: FieldValues) => FieldValues
  onOutcome?: ((outcome: WebhookOutcome) => void) | undefined
  log: Pick<Log, 'warn' | 'error'>
}) => {
  const { database, clock, receiver, knownFields = () => ({}), onOutcome = () => undefined, log } = options
  const sender = receiver && createWebhookSender({ database, clock, receiver, knownFields, onOutcome, log })

  const count = async () => {
    const [row] = await store.count(database)
    return { waiting: row?.waiting ?? 0, givenUp: row?.given_up ?? 0 }
  }

  return {
    /**
     * Writes a webhook inside the caller's transaction. Triggers write those about users and sign-ins. An event is recorded afterwards, and
     * `wake` then looks for the webhook.
     */
    queue: async <Type extends WebhookType>(sql: Sql, type: Type, data: WebhookData<Type>) => {
      await store.insert(sql, { type, userId: data.user.id, data })
    },
    /** From this call on webhooks are written, at other instances too, and sent, even if the receiver wanted none before. */
    subscribe: async (sql: Sql = database) => {
      if (!receiver) return
      await store.renewSubscription(sql, subscriptionLifetime)
      await store.resumeSending(sql)
    },
    wake: () => sender?.wake(),
    start: () => sender?.start(),
    stop: async () => sender?.stop(),
    count,
    countWaiting: async () => (await count()).waiting,
    oldestWaitSeconds: async () => (await store.oldestWaitSeconds(database, clock.offset()))[0]?.seconds ?? 0,
    oldest: async (limit: number) => (await store.selectOldest(database, limit)).map(fromRow),
    /** The time since which nothing is sent, because the receiver has answered 410. */
    stoppedSince: async () => (await store.selectStopped(database))[0]?.stopped_at,
    /** Makes everything due at once, even what was given up, and sends it, even after a 410. Returns how many webhooks. */
    retryAll: async () => (await store.retryAll(database, clock.offset(), lease)).length,
    /**
     * Renews the subscription in its own job. If it did not run, no webhook would be written after some days, so no other failure may stop
     * it.
     */
    renewSubscription: async (sql: Sql) => {
      if (receiver) await store.renewSubscription(sql, subscriptionLifetime)
      return 0
    },
  }
}
