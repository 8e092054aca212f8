import type { BaseLogger } from 'pino'
import type { FieldValues } from '../contract/profile-fields.js'
import type { Clock } from '../lib/clock.js'
import { hours, minutes, seconds } from '../lib/durations.js'
import type { Database } from '../platform/database/database.js'
import { type Outbound, OutboundFailed } from '../platform/outbound/outbound.js'
import { createDeliveryRounds, lease, reasonOf, recordDelivery, scatterPause } from '../platform/rounds.js'

import { keyOf, signedHeaders } from './signature.js'
import * as store from './webhooks.store.js'

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

/** Posts a webhook and returns the status of the answer. Redirects are not followed. */
const createPost = ({ url, secrets, outbound }: Receiver, knownFields: (stored: FieldValues) => FieldValues) => {
  const keys = secrets.map(keyOf)
  return async ({ id, type, data, created_at }: store.DueWebhook) => {
    const body = JSON.stringify({ type, timestamp: created_at.toISOString(), data: withKnownFields(data, knownFields) })
    // The receiver compares the timestamp with its own clock, so it is the real time.
    const headers = {
      ...signedHeaders({ id, body, now: new Date() }, keys),
      'content-type': 'application/json',
      'user-agent': 'latchkey',
    }
    const { status } = await outbound.withDeadline()(url, { method: 'POST', headers, body })
    return status
  }
}

/** Sends waiting webhooks to the receiver. The timeout of a request is 15 seconds, which is shorter than the lease. */
export const createWebhookSender = (options: {
  database: Database
  clock: Clock
  receiver: Receiver
  knownFields: (stored: FieldValues) => FieldValues
  onOutcome: (outcome: WebhookOutcome) => void
  log: Pick<BaseLogger, 'warn' | 'error'>
}) => {
  const { database, clock, receiver, knownFields, onOutcome, log } = options
  const { host } = new URL(receiver.url)

  const post = createPost(receiver, knownFields)

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
