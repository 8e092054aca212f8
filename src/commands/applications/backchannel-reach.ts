import { lookup } from 'node:dns/promises'
import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/timing.js'
import { type CommandContext, type CommandNouns, print } from '../command.js'

const dnsTimeout = 5 * seconds

/** The IP addresses of a host; an empty list if this machine cannot resolve its name. */
export const resolveHost = (host: string) => {
  const addresses = lookup(host.replace(/^\[|\]$/g, ''), { all: true }).then(
    (all) => all.map(({ address }) => address),
    () => [],
  )
  return withTimeout(addresses, dnsTimeout, () => [])
}

/** Whether the service would send logout notices to the address. `unknown`: this machine cannot resolve the host. */
export const backchannelReach = async (address: string, mayReach: CommandNouns['backchannelMayReach']) => {
  const addresses = await resolveHost(new URL(address).hostname)
  if (addresses.length === 0) return 'unknown'
  return addresses.some(mayReach) ? 'reachable' : 'private'
}

export const privateBackchannel = (address: string) =>
  `${new URL(address).hostname} of --backchannel-logout has no public address, so no logout notice is sent there: set BACKCHANNEL_ALLOW_PRIVATE=true if that is meant`

/** Says at once what would otherwise show only when the first session ends. The service may know a host that this machine does not. */
export const warnOfPrivateBackchannel = async (
  { stderr }: Pick<CommandContext, 'stderr'>,
  address: string | undefined,
  { backchannelMayReach }: Pick<CommandNouns, 'backchannelMayReach'>,
) => {
  if (address === undefined || (await backchannelReach(address, backchannelMayReach)) !== 'private') return
  await print(stderr, `${privateBackchannel(address)}.`)
}
