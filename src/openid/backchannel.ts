import { seconds } from '../lib/durations.js'
import { createOutbound } from '../platform/outbound/outbound.js'
import {
  isPublicAddress,
  isPublicOrLoopbackAddress,
  isPublicOrPrivateAddress,
} from '../platform/outbound/public-addresses.js'
import type { Config } from '../settings/config.js'

/** Returns a function that says whether logout notices may be sent to an IP address. */
export const backchannelMayReach = ({ backchannelAllowPrivate, production }: Config) => {
  if (backchannelAllowPrivate === 'true') return isPublicOrPrivateAddress
  return production ? isPublicAddress : isPublicOrLoopbackAddress
}

/** Opens the client that sends logout notices to applications. Of an answer only the status matters. */
export const openBackchannel = (config: Config) =>
  createOutbound({
    connectTimeout: 10 * seconds,
    totalTimeout: 15 * seconds,
    maximumBytes: 4096,
    cutBody: true,
    mayReach: backchannelMayReach(config),
    allowLoopbackHttp: !config.production,
  })
