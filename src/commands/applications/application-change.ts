import { lookup } from 'node:dns/promises'
import { isOnOwnHost, ownHostWarning } from '../../applications/application-rules.js'
import type { Application } from '../../applications/applications.js'
import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/timing.js'
import { type CommandContext, type CommandRooms, command, print } from '../command.js'
import { printableText, quoteCommand } from '../terminal/printing.js'
import {
  changeOptions,
  newApplicationOptions,
  readChange,
  readNewApplication,
  requireApplication,
  throwIfRefused,
} from './application-options.js'
import { readIcon } from './icon-file.js'
import { generalSettings, type ProgramName, programs } from './program-settings.js'
import { type ProxyName, proxySettings } from './proxy-lines.js'

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

/** The help of the options of `add` and `change`. */
const optionsHelp = `  --redirect URL       to which users come back after they have signed in here. Several are possible. It is compared byte for
                       byte, without wildcards. https only; outside production also http to this machine
  --everyone           every user may use the application
  --group GROUP        only members of this group, or of one of several (--group a --group b)
  --home URL           to which pages lead users back, also after an expired sign-in; else the origin of the first --redirect
  --after-logout URL   to which the application may lead back when it signs a user out here. Several are possible
  --backchannel-logout URL
                       gets a logout notice for every session that ends, however it ends. An address in a private network gets
                       none without BACKCHANNEL_ALLOW_PRIVATE=true
  --consent ask        asks each user once before the application gets name, email and groups (none: does not ask)
  --factors 2          lets users in only with two factors (1: with any sign-in)
  --max-age 10m        lets users in only if, within this time, they have signed in (by whatever way) or have proven again who
                       they are (none: at any time). A sign-in by mail counts too, although it lets no user make a sensitive change
  --proxy URL          the site of an application behind a proxy that asks Latchkey: scheme, host and port
                       (https://wiki.example.com). Outside production http is possible (none: no such site any more)
  --open PATH          anybody may GET this path there, or all that begins with it if it ends in a slash: --open /manifest.json
                       --open /public/ --open POST:/hooks/. Nobody is named there (none: no path is open)
  --open-preflight     lets the preflights of other sites pass (CORS), on every path (--no-open-preflight: not any more)
  --icon FILE          the picture on the account pages of users who may open it: a PNG of at most 32 KB and 512 pixels (none:
                       its first letter)
  --no-pkce            for programs that send no PKCE challenge, as some older ones with a secret do
  --algorithm ES256    signs ID tokens with ES256 instead of RS256
  --device             for a native program: devices without a browser may sign in with a code (RFC 8628; --no-device: they
                       may not, which is the default)
  --no-tokens          behind a proxy: programs cannot enter with personal tokens of users (--tokens: they can, the default)`

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

${optionsHelp}
  --public             a page in the browser that has no server to keep a secret
  --native             a program on the user's machine, which always asks the user. --redirect is http://127.0.0.1/callback
                       or http://localhost/callback (any port), a claimed https link, or com.example.app:/callback
  --for PROGRAM        grafana, gitea (also Forgejo) or nextcloud: Latchkey knows its settings, and its addresses below --home
  --for PROXY          caddy, nginx, traefik or haproxy: prints the lines for the proxy in front of the site of --proxy`,
  json: '{"id": …, "secret": … or null, "issuer": …}',
  printsOnce: true,
  args: ['NAME'],
  options: newApplicationOptions,
  read: ({ args: [name], values }) => readNewApplication(name, values),
  run: async (rooms, { application, program, proxy, icon: iconPath, context, operator }) => {
    const { applicationChanges, issuer } = rooms
    const icon = await readIcon(iconPath)
    const { application: added, secret } = throwIfRefused(
      await applicationChanges.add(application, operator),
      application.name,
    )
    if (icon) throwIfRefused(await applicationChanges.setIcon(added.id, icon, operator), added.name)
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

  --name NAME          another name
${optionsHelp}
  --pkce               requires a PKCE challenge again`,
  args: ['APPLICATION'],
  options: changeOptions,
  read: ({ values }) => readChange(values),
  run: async (rooms, { args: [named], change, icon: iconPath, context, operator }) => {
    const { applicationChanges } = rooms
    const { id, name: formerName } = await requireApplication(rooms, named)
    const icon = await readIcon(iconPath)
    const changed = throwIfRefused(await applicationChanges.change(id, change, operator), formerName)
    const { application } = changed
    const iconChange =
      icon === undefined ? undefined : throwIfRefused(await applicationChanges.setIcon(id, icon, operator), formerName)
    const summary = [changed.summary, iconChange?.summary].filter(Boolean).join(', ')
    await warnOfPrivateBackchannel(context, change.backchannelLogout, rooms)
    const name = printableText(application.name)
    return {
      json: { ...application, changed: summary !== '' },
      text: summary === '' ? `${name} is like this already.` : `Changed ${name}: ${summary.replaceAll('_', ' ')}.`,
    }
  },
})
