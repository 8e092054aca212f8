import { lookup } from 'node:dns/promises'
import { isOnOwnHost, ownHostWarning } from '../../applications/application-rules.js'
import type { Application } from '../../applications/applications.js'
import { readIcon } from '../../applications/icon-file.js'
import { generalSettings, type ProgramName, programs } from '../../applications/program-settings.js'
import { type ProxyName, proxySettings } from '../../applications/proxy-lines.js'
import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/timing.js'
import { type CommandContext, type CommandRooms, command, print } from '../command.js'
import { printableText, quoteCommand } from '../terminal/printing.js'
import {
  changeOptions,
  newApplicationOptions,
  optionsHelp,
  readChange,
  readNewApplication,
  requireApplication,
  throwIfRefused,
} from './application-options.js'

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
export const backchannelReach = async (address: string, mayReach: CommandRooms['backchannelMayReach']) => {
  const addresses = await resolveHost(new URL(address).hostname)
  if (addresses.length === 0) return 'unknown'
  return addresses.some(mayReach) ? 'reachable' : 'private'
}

export const privateBackchannel = (address: string) =>
  `${new URL(address).hostname} of --backchannel-logout has no public address, so no logout notice is sent there: set BACKCHANNEL_ALLOW_PRIVATE=true if that is meant`

/** Says at once what would otherwise show only when the first session ends. The service may know a host that this machine does not. */
const warnOfPrivateBackchannel = async (
  { stderr }: CommandContext,
  address: string | undefined,
  { backchannelMayReach }: CommandRooms,
) => {
  if (address === undefined || (await backchannelReach(address, backchannelMayReach)) !== 'private') return
  await print(stderr, `${privateBackchannel(address)}.`)
}

type Pasted = {
  secret: string | undefined
  issuer: string
  program: ProgramName | undefined
  proxy: ProxyName | undefined
}

/** What goes into the settings of the application, and into those of the proxy in front of it. */
const settingsToPaste = (application: Application, { secret, issuer, program, proxy }: Pasted) => {
  const { id, name, home, redirectAddresses, proxyOrigin } = application
  const check = quoteCommand('application check', name)
  return [
    ...(redirectAddresses.length > 0 ? [generalSettings(id, secret, issuer)] : []),
    ...(program ? [programs[program].settings({ id, secret: secret ?? '', issuer, name, home })] : []),
    ...(proxyOrigin !== undefined && proxy ? [proxySettings(proxy, proxyOrigin, issuer, check)] : []),
    ...(proxyOrigin !== undefined && !proxy
      ? [`The proxy of ${proxyOrigin} asks Latchkey: docs/forward-auth.md has its line. Then: ${check}`]
      : []),
  ]
}

export const applicationAdd = command({
  summary: 'Let an application sign its users in here (OpenID Connect)',
  help: `latchkey application add NAME --redirect URL... (--everyone | --group GROUP...) [--public | --native] [options] [--json]
latchkey application add NAME --for PROGRAM --home URL (--everyone | --group GROUP...) [options] [--json]
latchkey application add NAME --proxy URL [--for PROXY] (--everyone | --group GROUP...) [options] [--json]

Prints the id of the application, its secret and the lines to paste. The secret is not kept here and cannot be printed again.
Users see NAME when they sign in. A running service knows the application within a second. docs/applications.md explains more.
With --proxy, the proxy in front of the application asks Latchkey about each request, and no secret is needed: docs/forward-auth.md.

${optionsHelp('add')}`,
  json: '{"id": …, "secret": … or null, "issuer": …}',
  printsOnce: true,
  args: ['NAME'],
  options: newApplicationOptions,
  read: ({ args: [name], values }) => readNewApplication(name, values),
  run: async (rooms, { application, id, program, proxy, icon: iconPath, context, operator }) => {
    const { applicationChanges, issuer } = rooms
    const icon = await readIcon(iconPath)
    const { application: added, secret } = throwIfRefused(
      await applicationChanges.add(application, operator, { id }, icon),
      application.name,
    )
    for (const address of added.redirectAddresses.filter((each) => isOnOwnHost(each, issuer)))
      await print(context.stderr, `${address} ${ownHostWarning}.`)
    await warnOfPrivateBackchannel(context, application.backchannelLogout, rooms)
    const secretNotice = secret === undefined ? '' : ' The secret is shown only now.'
    const parts = [
      `Added ${printableText(added.name)}.${secretNotice}`,
      ...settingsToPaste(added, { secret, issuer, program, proxy }),
    ]
    return { json: { id: added.id, secret: secret ?? null, issuer }, text: parts.join('\n\n') }
  },
})

export const applicationChange = command({
  summary: 'Change an application',
  help: `latchkey application change APPLICATION [options] [--json]

APPLICATION is a name or an id. What is not named stays as it is. Addresses and groups that are given replace all earlier ones
of their kind; \`--after-logout none\` and \`--backchannel-logout none\` remove them. Users who may no longer use the application
lose access at once. The kind of an application cannot be changed: delete it and add it anew.

${optionsHelp('change')}`,
  json: 'the application, and "changed": true or false',
  args: ['APPLICATION'],
  options: changeOptions,
  read: ({ values }) => readChange(values),
  run: async (rooms, { args: [named], change, icon: iconPath, context, operator }) => {
    const { applicationChanges } = rooms
    const { id, name: formerName } = await requireApplication(rooms, named)
    const icon = await readIcon(iconPath)
    const changed = await applicationChanges.change(id, change, operator, { icon })
    const { application, summary } = throwIfRefused(changed, formerName)
    await warnOfPrivateBackchannel(context, change.backchannelLogout, rooms)
    const name = printableText(application.name)
    return {
      json: { ...application, changed: summary !== '' },
      text: summary === '' ? `${name} is like this already.` : `Changed ${name}: ${summary.replaceAll('_', ' ')}.`,
    }
  },
})
