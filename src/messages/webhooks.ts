import type { BaseLogger } from 'pino'
import type { FieldValues } from '../contract/profile-fields.js'
import type { WebhookData, WebhookType } from '../contract/webhooks.js'
import type { Clock } from '../lib/clock.js'
import { days } from '../lib/durations.js'
import type { Database, Sql } from '../platform/database/database.js'
import { lease } from '../platform/rounds.js'

import { createWebhookSender, type Receiver, type WebhookOutcome } from './webhook-sender.js'
import * as store from './webhooks.store.js'

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
  log: Pick<BaseLogger, 'warn' | 'error'>
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
