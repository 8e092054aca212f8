import { countText } from '../../lib/text.js'
import type { WaitingWebhook } from '../../messages/webhooks.js'
import { command, limitFrom } from '../command.js'
import { asTable, listOf } from '../terminal/printing.js'

const maxAtOnce = 10_000

const asJson = (webhook: WaitingWebhook) => {
  const { id, type, userId, createdAt: time, attempts, nextAttemptAt: nextAttempt, failure } = webhook
  return { id, type, userId, time, attempts, nextAttempt, failure }
}

const webhookTable = (webhooks: readonly WaitingWebhook[]) =>
  asTable([
    ['ID', 'TYPE', 'TIME', 'ATTEMPTS', 'NEXT ATTEMPT', 'LAST FAILURE'],
    ...webhooks.map((webhook) => [
      webhook.id,
      webhook.type,
      webhook.createdAt.toISOString(),
      String(webhook.attempts),
      webhook.nextAttemptAt?.toISOString() ?? 'given up',
      webhook.failure ?? '',
    ]),
  ])

export const sendingStoppedText = (since: Date) =>
  `Nothing is sent since ${since.toISOString()}: the receiver answered 410. \`latchkey webhooks retry\` starts sending again.`

export const webhooksList = command({
  summary: 'Show webhooks that wait for the receiver or were given up',
  help: `latchkey webhooks list [--limit N] [--json]

Shows webhooks that are not delivered yet, oldest first: how often they were tried, when they are tried next, and why the
last attempt failed. Those that were given up are kept for 30 days. If the receiver answered 410, nothing is sent: then a line
on the standard error says since when.

  --limit N    how many, 1 to ${maxAtOnce} (default 100)`,
  json: 'one JSON object on each line: {"id", "type", "userId", "time", "attempts", "nextAttempt", "failure"}',
  options: { limit: { type: 'string', default: '100' } },
  read: ({ values }) => ({ limit: limitFrom(values.limit, maxAtOnce) }),
  run: async ({ webhooks }, { limit }) => {
    const found = await webhooks.oldest(limit + 1)
    const stoppedSince = await webhooks.stoppedSince()
    return {
      ...listOf(found.slice(0, limit), { asJson, asTable: webhookTable, none: 'No webhook waits.' }),
      notes: [
        ...(stoppedSince ? [sendingStoppedText(stoppedSince)] : []),
        ...(found.length > limit ? ['Newer ones are not shown: use --limit.'] : []),
      ],
    }
  },
})

export const webhooksRetry = command({
  summary: 'Try webhooks again now, also those that were given up',
  help: `latchkey webhooks retry [--json]

Every webhook that waits or was given up becomes due now, with the same id and as many attempts as a new one. A running
service sends them within seconds, also if it had stopped sending because the receiver answered 410. Use this when a
receiver that was away is back.`,
  json: '{"due"}',
  run: async ({ webhooks, events }, { operator }) => {
    const due = await webhooks.retryAll()
    await events.record({ kind: 'webhooks_retried', reason: `${due} due` }, operator)
    return { json: { due }, text: `${countText(due, 'webhook is', 'webhooks are')} due now.` }
  },
})
