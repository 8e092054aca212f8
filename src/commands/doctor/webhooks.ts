import { systemClock as clock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'
import { countText } from '../../lib/text.js'
import { createWebhooks } from '../../messages/webhooks.js'
import type { Database } from '../../platform/database/database.js'
import { commandLog } from '../../platform/log.js'
import { OutboundFailed } from '../../platform/outbound/outbound.js'

import { openWebhookReceiver } from '../../service/open-platform.js'
import type { Config } from '../../settings/config.js'
import { sendingStoppedText } from '../operations/webhooks.js'
import { type Finding, failure, ok, warning, worstOf } from './check.js'

type Receiver = NonNullable<ReturnType<typeof openWebhookReceiver>>

/** Accepts every answer, because a receiver may refuse a request that is no webhook. */
const checkReceiver = async ({ url, outbound }: Receiver): Promise<Finding> => {
  const { host } = new URL(url)
  try {
    await outbound.withDeadline()(url, { method: 'HEAD', headers: { 'user-agent': 'latchkey' } })
    return ok('')
  } catch (error) {
    if (!(error instanceof OutboundFailed)) throw error
    if (error.code === 'private_address')
      return failure(`${host} has no public address: set WEBHOOK_ALLOW_PRIVATE=true if that is meant`)
    return error.code === 'forbidden'
      ? failure(`${host} has no private address, and plain http is for a private network only: use https`)
      : failure(`${host} cannot be reached: ${error.code}`)
  }
}

/** Checks the webhooks that wait or were given up. */
const checkBacklog = async (database: Database | undefined): Promise<Finding[]> => {
  if (!database) return []
  const webhooks = createWebhooks({ database, clock, log: commandLog() })
  const { givenUp, waiting } = await webhooks.count()
  const stoppedSince = await webhooks.stoppedSince()
  return [
    stoppedSince ? warning(sendingStoppedText(stoppedSince)) : ok(''),
    givenUp > 0
      ? warning(`${countText(givenUp, 'webhook was', 'webhooks were')} given up: \`latchkey webhooks list\` says why`)
      : ok(''),
    waiting > 100 ? warning(`${waiting} webhooks wait for the receiver: \`latchkey webhooks list\` says why`) : ok(''),
  ]
}

export const checkWebhooks = async (config: Config, database?: Database): Promise<Finding> => {
  const receiver = openWebhookReceiver(config, { totalTimeout: 6 * seconds })
  if (!receiver) return ok('off: WEBHOOK_URL is not set')
  const findings = [await checkReceiver(receiver), ...(await checkBacklog(database))]
  return worstOf(`${new URL(receiver.url).host} answers`, findings)
}
