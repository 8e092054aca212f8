import {
  type AddressFault,
  addressFault,
  addressFaults,
  backchannelFault,
  isOnOwnHost,
  ownHostWarning,
} from '../../applications/application-rules.js'
import { type Application, createApplications } from '../../applications/applications.js'
import { systemClock } from '../../lib/clock.js'
import { minutes, seconds } from '../../lib/durations.js'
import { isThisMachine } from '../../lib/networks.js'
import { countText } from '../../lib/text.js'
import { backchannelMayReach } from '../../openid/backchannel.js'
import { createLogoutNotices, type LogoutNoticeState } from '../../openid/logout/logout-notices.js'
import type { Database } from '../../platform/database/database.js'
import type { Config } from '../../settings/config.js'
import { backchannelReach, privateBackchannel, resolveHost } from '../applications/application-change.js'
import { checkSite } from '../applications/site-check.js'
import { printableText } from '../terminal/printing.js'
import { type Finding, failure, ok, warning, worstOf } from './check.js'

const hostOf = (address: string) => {
  const { protocol, hostname } = new URL(address)
  return /^https?:$/.test(protocol) ? hostname : undefined
}

/** A registered address can have a fault if it was registered under an older rule, in development, or by plain SQL. */
const faultFinding = (name: string, address: string, fault: AddressFault) =>
  failure(`${name}: ${address} ${addressFaults[fault]}`)

const checkAddress = async ({ name, kind }: Application, address: string, { production }: Config): Promise<Finding> => {
  const fault = addressFault(address, { kind, production })
  if (fault) return faultFinding(name, address, fault)
  const host = hostOf(address)
  if (host === undefined || isThisMachine(host) || (await resolveHost(host)).length > 0) return ok('')
  // This is only a warning, because the machines of users may know the name.
  return warning(`${name}: the host ${host} is not known on this machine`)
}

const checkBackchannel = async (
  { name, backchannelLogout: address }: Application,
  config: Config,
): Promise<Finding> => {
  if (address === undefined) return ok('')
  const fault = backchannelFault(address, config.production)
  if (fault) return faultFinding(name, address, fault)
  const reach = await backchannelReach(address, backchannelMayReach(config))
  if (reach === 'unknown')
    return failure(`${name}: the host ${new URL(address).hostname} of --backchannel-logout cannot be found`)
  return reach === 'reachable' ? ok('') : failure(`${name}: ${privateBackchannel(address)}`)
}

const warnOfOwnHost = ({ name, redirectAddresses }: Application, { publicUrl }: Config) =>
  redirectAddresses
    .filter((address) => isOnOwnHost(address, publicUrl))
    .map((address) => warning(`${name}: ${address} ${ownHostWarning}`))

/**
 * What the proxy in front of an application does can be seen only by asking it. From here it may be out of reach although visitors reach
 * it, which is a warning.
 */
const checkProtectedSite = async (application: Application, { publicUrl }: Config): Promise<Finding[]> => {
  const { name, proxyOrigin } = application
  if (proxyOrigin === undefined) return []
  const findings = await checkSite(application, proxyOrigin, new URL(publicUrl).origin)
  return findings
    .filter(({ level }) => level !== 'ok')
    .map(({ level, says }) => (level === 'error' ? failure : warning)(`${printableText(name)}: ${says}`))
}

const checkApplication = async (application: Application, config: Config) => {
  const { home, redirectAddresses, logoutAddresses, proxyOrigin } = application
  const homes = proxyOrigin === undefined ? [home] : []
  const addresses = [...new Set([...redirectAddresses, ...logoutAddresses, ...homes])]
  const addressFindings = await Promise.all([
    ...addresses.map((address) => checkAddress(application, address, config)),
    checkBackchannel(application, config),
  ])
  return [...addressFindings, ...(await checkProtectedSite(application, config)), ...warnOfOwnHost(application, config)]
}

/** Checks the addresses that users are redirected to, and those that logout notices are sent to. */
export const checkApplications = async (database: Database, config: Config): Promise<Finding> => {
  const applications = await createApplications({ database }).list()
  if (applications.length === 0) return ok('there are none')
  const findings = await Promise.all(applications.map((application) => checkApplication(application, config)))
  const findingsByText = new Map(findings.flat().map((finding) => [finding.says, finding]))
  return worstOf(`${countText(applications.length, 'application')}, whose addresses can be used`, [
    ...findingsByText.values(),
  ])
}

/** These limits are not reached while one application restarts. */
const manyWaiting = 100
const longWait = 5 * minutes

const inMinutes = (age: number) => countText(Math.floor((age * seconds) / minutes), 'minute')

const troubleOf = ({ name, waiting, oldest, givenUp, refused, refusedWith }: LogoutNoticeState) => {
  const waits = `${countText(waiting, 'logout notice waits', 'logout notices wait')}, the oldest for ${inMinutes(oldest)}`
  const troubles = [
    ...(waiting > manyWaiting || oldest * seconds > longWait ? [waits] : []),
    ...(givenUp > 0 ? [`${countText(givenUp, 'logout notice was', 'logout notices were')} given up`] : []),
    // A notice that is refused stays so until somebody changes the application.
    ...(refusedWith === undefined ? [] : [`notices are refused with ${refusedWith}`]),
    ...(refused ? ['logout notices were refused in the last day'] : []),
  ]
  return troubles.length > 0 ? [`${printableText(name)}: ${troubles.join(', ')}`] : []
}

export const judgeLogoutNotices = (states: readonly LogoutNoticeState[]): Finding => {
  const troubles = states.flatMap(troubleOf)
  if (troubles.length > 0) return warning(`${troubles.join('; ')}. \`latchkey application show NAME\` says why`)
  const waiting = states.reduce((sum, state) => sum + state.waiting, 0)
  const waits =
    waiting === 0 ? 'no logout notice waits' : countText(waiting, 'logout notice waits', 'logout notices wait')
  return ok(`${waits} for an application`)
}

/** Ended sessions that applications could not be told of. */
export const checkLogoutNotices = async (database: Database): Promise<Finding> =>
  judgeLogoutNotices(await createLogoutNotices({ database, clock: systemClock }).states())
