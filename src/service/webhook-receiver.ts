import { seconds } from '../lib/durations.js'
import { createOutbound, type OutboundOptions } from '../platform/outbound/outbound.js'
import { isPrivateAddress, isPublicAddress, isPublicOrPrivateAddress } from '../platform/outbound/public-addresses.js'
import type { Config } from '../settings/config.js'

/** The bodies have names and addresses of users, so in production plain HTTP stays in a private network, whatever the name leads to. */
const networkOf = ({ webhookUrl = '', webhookAllowPrivate, production }: Config): OutboundOptions => {
  if (webhookAllowPrivate !== 'true') return { mayReach: isPublicAddress, allowPlainHttp: !production }
  const isPrivateOnly = production && webhookUrl.startsWith('http:')
  return isPrivateOnly
    ? { mayReach: isPrivateAddress, unreachableAs: 'forbidden', allowPlainHttp: true }
    : { mayReach: isPublicOrPrivateAddress, allowPlainHttp: true }
}

/** Opens the client that sends webhooks. Of an answer only the status matters. Undefined if webhooks are off. */
export const openWebhookReceiver = (config: Config, options: OutboundOptions = {}) => {
  const { webhookUrl: url, webhookSecret: secrets } = config
  if (url === undefined || secrets === undefined) return undefined
  const outbound = createOutbound({
    connectTimeout: 10 * seconds,
    totalTimeout: 15 * seconds,
    maximumBytes: 4096,
    cutBody: true,
    ...networkOf(config),
    ...options,
  })
  return { url, secrets, outbound }
}
