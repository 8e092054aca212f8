import type { Config } from '../config.js'
import { seconds } from '../lib/durations.js'
import { createOutbound, type OutboundOptions } from '../platform/outbound/outbound.js'
import { isPublicAddress, isPublicOrPrivateAddress } from '../platform/outbound/public-addresses.js'

/** Opens the client that sends webhooks. Of an answer only the status matters. Undefined if webhooks are off. */
export const openWebhookReceiver = (config: Config, options: OutboundOptions = {}) => {
  const { webhookUrl: url, webhookSecret: secrets, webhookAllowPrivate, production } = config
  if (url === undefined || secrets === undefined) return undefined
  const allowPrivate = webhookAllowPrivate === 'true'
  const outbound = createOutbound({
    connectTimeout: 10 * seconds,
    totalTimeout: 15 * seconds,
    maximumBytes: 4096,
    cutBody: true,
    mayReach: allowPrivate ? isPublicOrPrivateAddress : isPublicAddress,
    allowPlainHttp: allowPrivate || !production,
    ...options,
  })
  return { url, secrets, outbound }
}
