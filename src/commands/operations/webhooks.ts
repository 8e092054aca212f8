import { countText } from '../../lib/text.js'
import type { WaitingWebhook } from '../../messages/webhooks.js'
import { type Command, limitFrom, operator, print, readArguments, withNouns } from '../command.js'
import { asTable, printableJson, printList } from '../terminal/printing.js'

const maxAtOnce = 10_000

const asJson = (webhook: WaitingWebhook) => {
  const { id, type, userId, createdAt: time, attempts, nextAttemptAt: nextAttempt, failure } = webhook
  return printableJson({ id, type, userId, time, attempts, nextAttempt, failure })
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

export const webhooksList: Command = {
  summary: 'Show webhooks that wait for the receiver or were given up',
  help: `latchkey webhooks list [--limit N] [--json]

Shows webhooks that are not delivered yet, oldest first: how often they were tried, when they are tried next, and why the
last attempt failed. Those that were given up are kept for 30 days. If the receiver answered 410, nothing is sent: then a line
on the standard error says since when.

  --limit N    how many, 1 to ${maxAtOnce} (default 100)
  --json       one JSON object on each line, for programs`,

  run: async (args, context) => {
    const { values } = readArguments(args, { limit: { type: 'string', default: '100' }, json: { type: 'boolean' } }, [])
    const limit = limitFrom(values.limit, maxAtOnce)
    return withNouns(context, 'service role', async ({ webhooks }) => {
      const found = await webhooks.oldest(limit + 1)
      const shown = found.slice(0, limit)
      await printList(context, shown, { json: values.json, asJson, asTable: webhookTable, none: 'No webhook waits.' })
      const stoppedSince = await webhooks.stoppedSince()
      if (stoppedSince) await print(context.stderr, sendingStoppedText(stoppedSince))
      if (found.length > limit) await print(context.stderr, 'Newer ones are not shown: use --limit.')
      return 0
    })
  },
}

export const webhooksRetry: Command = {
  summary: 'Try webhooks again now, also those that were given up',
  help: `latchkey webhooks retry [--json]

Every webhook that waits or was given up becomes due now, with the same id and as many attempts as a new one. A running
service sends them within seconds, also if it had stopped sending because the receiver answered 410. Use this when a
receiver that was away is back.

  --json    one JSON object, for programs`,

  run: async (args, context) => {
    const { values } = readArguments(args, { json: { type: 'boolean' } }, [])
    return withNouns(context, 'service role', async ({ webhooks, events }) => {
      const due = await webhooks.retryAll()
      await events.record({ kind: 'webhooks_retried', reason: `${due} due` }, operator(context))
      await print(
        context.stdout,
        values.json ? printableJson({ due }) : `${countText(due, 'webhook is', 'webhooks are')} due now.`,
      )
      return 0
    })
  },
}
