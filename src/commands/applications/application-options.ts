import { type ApplicationChanges, applicationRefusalSentence } from '../../applications/application-changes.js'
import {
  type ApplicationChange,
  defaultHome,
  type NewApplication,
  siteOf,
} from '../../applications/application-rules.js'
import { type Access, type Application, maxSecrets } from '../../applications/applications.js'
import { isRefused } from '../../contract/outcome.js'
import { days, readDuration, seconds } from '../../lib/durations.js'
import { countText } from '../../lib/text.js'
import { CommandFailure, type CommandRooms, groupNameFrom, UsageFault } from '../command.js'
import { printableText, quoteCommand } from '../terminal/printing.js'
import { type ProgramName, programNames, programs } from './program-settings.js'
import { proxyNames } from './proxy-lines.js'

/** The options that `add` and `change` share. */
const applicationOptions = {
  redirect: { type: 'string', multiple: true },
  everyone: { type: 'boolean' },
  group: { type: 'string', multiple: true },
  home: { type: 'string' },
  'after-logout': { type: 'string', multiple: true },
  'backchannel-logout': { type: 'string' },
  consent: { type: 'string' },
  factors: { type: 'string' },
  'max-age': { type: 'string' },
  'no-pkce': { type: 'boolean' },
  algorithm: { type: 'string' },
  device: { type: 'boolean' },
  'no-device': { type: 'boolean' },
  proxy: { type: 'string' },
  open: { type: 'string', multiple: true },
  'open-preflight': { type: 'boolean' },
  'no-open-preflight': { type: 'boolean' },
  icon: { type: 'string' },
  tokens: { type: 'boolean' },
  'no-tokens': { type: 'boolean' },
} as const

export const newApplicationOptions = {
  ...applicationOptions,
  public: { type: 'boolean' },
  native: { type: 'boolean' },
  for: { type: 'string' },
} as const

export const changeOptions = {
  ...applicationOptions,
  name: { type: 'string' },
  pkce: { type: 'boolean' },
} as const

type OptionValues<Options> = {
  [Name in keyof Options]?:
    | (Options[Name] extends { multiple: true }
        ? string[]
        : Options[Name] extends { type: 'boolean' }
          ? boolean
          : string)
    | undefined
}

type ChangeValues = OptionValues<typeof changeOptions>

export const oneOf = <const Choice extends string>(
  option: string,
  choices: readonly Choice[],
  text: string | undefined,
) => {
  if (text === undefined) return undefined
  const choice = choices.find((each) => each === text)
  if (choice === undefined) throw new UsageFault(`--${option} takes ${choices.join(' or ')}.`)
  return choice
}

const maxAgeFrom = (text: string | undefined) => {
  if (text === undefined) return undefined
  if (text === 'none') return null
  const age = readDuration(text)
  if (age === undefined || age % seconds !== 0 || age > 365 * days)
    throw new UsageFault('--max-age takes a time in whole seconds such as 10m or 8h, or none.')
  return age
}

/** The single value `none` empties the list. */
const listFrom = (addresses: readonly string[]) => (addresses.join() === 'none' ? [] : [...new Set(addresses)])

export const accessText = ({ access, groups }: Access) =>
  access === 'everyone' ? 'everyone' : `members of ${groups.join(', ')}`

export const accessFrom = ({ everyone, group }: Pick<ChangeValues, 'everyone' | 'group'>): Access | undefined => {
  if (everyone && group) throw new UsageFault('Give --everyone or --group, and not both.')
  if (everyone) return { access: 'everyone', groups: [] }
  if (!group) return undefined
  const groups = [...new Set(group.flatMap((text) => text.split(',')).map(groupNameFrom))].sort()
  return { access: 'groups', groups }
}

/** The answer of two options such as --device and --no-device. */
const switchFrom = (name: string, on: boolean | undefined, off: boolean | undefined) => {
  if (on && off) throw new UsageFault(`Give --${name} or --no-${name}, and not both.`)
  return on || off ? (on ?? false) : undefined
}

/** The value of a field; null where the field shall be empty, undefined where no option names it. */
type Named<Value> = undefined extends Value ? Exclude<Value, undefined> | null | undefined : Value | undefined

/** How the options name each field that can be changed. The options of `add` are the same but for its name and its kind. */
const readers: {
  [Field in keyof ApplicationChange]-?: (values: ChangeValues) => Named<NewApplication[Field]>
} = {
  access: (values) => accessFrom(values)?.access,
  groups: (values) => accessFrom(values)?.groups,
  redirectAddresses: ({ redirect }) => redirect && [...new Set(redirect)],
  home: ({ home }) => home,
  logoutAddresses: ({ 'after-logout': addresses }) => addresses && listFrom(addresses),
  backchannelLogout: ({ 'backchannel-logout': address }) => (address === 'none' ? null : address),
  consent: ({ consent }) => oneOf('consent', ['ask', 'none'], consent),
  factors: ({ factors }) => {
    const count = oneOf('factors', ['1', '2'], factors)
    return count && (count === '2' ? 2 : 1)
  },
  maxAge: ({ 'max-age': age }) => maxAgeFrom(age),
  pkce: ({ pkce, 'no-pkce': noPkce }) => switchFrom('pkce', pkce, noPkce),
  algorithm: ({ algorithm }) => oneOf('algorithm', ['RS256', 'ES256'], algorithm),
  deviceFlow: ({ device, 'no-device': noDevice }) => switchFrom('device', device, noDevice),
  proxyOrigin: ({ proxy }) => (proxy === 'none' ? null : proxy && siteOf(proxy)),
  openPaths: ({ open }) => open && listFrom(open),
  openPreflight: (values) => switchFrom('open-preflight', values['open-preflight'], values['no-open-preflight']),
  tokens: ({ tokens, 'no-tokens': noTokens }) => switchFrom('tokens', tokens, noTokens),
  name: ({ name }) => name,
}

/** The fields that the options name. */
const changeFrom = (values: ChangeValues): ApplicationChange =>
  Object.fromEntries(
    Object.entries(readers).flatMap(([field, read]) => {
      const value = read(values)
      return value === undefined ? [] : [[field, value ?? undefined]]
    }),
  )

const kindFrom = (values: OptionValues<typeof newApplicationOptions>): Application['kind'] => {
  if (values.public && values.native) throw new UsageFault('Give --public or --native, and not both.')
  if (values.native) return 'native'
  return values.public ? 'browser' : 'web'
}

/** The addresses of the program that --for names, and the options that it needs. */
const defaultsOfProgram = (
  name: ProgramName | undefined,
  values: OptionValues<typeof newApplicationOptions>,
): ApplicationChange => {
  if (name === undefined) return {}
  if (values.public || values.native) throw new UsageFault(`${name} keeps a secret: leave out --public and --native.`)
  if (values.home === undefined)
    throw new UsageFault(`--for ${name} needs the address at which users open it: --home https://${name}.example.com`)
  const home = values.home.replace(/\/+$/, '')
  const { redirectPath, backchannelPath, logoutPath, requiredOptions } = programs[name]
  return {
    home,
    redirectAddresses: [home + redirectPath],
    ...(logoutPath !== undefined && { logoutAddresses: [home + logoutPath] }),
    ...(backchannelPath !== undefined && { backchannelLogout: home + backchannelPath }),
    ...requiredOptions,
  }
}

/** What --for names: a program whose settings are known, or the proxy in front of the application. */
const readFor = (text: string | undefined) => {
  const named = oneOf('for', [...programNames, ...proxyNames], text)
  return { program: programNames.find((each) => each === named), proxy: proxyNames.find((each) => each === named) }
}

/** `program` and `proxy`: which of them --for names. */
export const readNewApplication = (name: string, values: OptionValues<typeof newApplicationOptions>) => {
  const { program, proxy } = readFor(values.for)
  const kind = kindFrom(values)
  if ((values.device || values['no-device']) && kind !== 'native')
    throw new UsageFault('--device and --no-device are for --native: others have no device flow.')
  const programDefaults = defaultsOfProgram(program, values)
  const { home, ...options } = changeFrom(values)
  const { proxyOrigin } = options
  if (proxy !== undefined && proxyOrigin === undefined)
    throw new UsageFault(`--for ${proxy} needs the address of the site behind it: --proxy https://wiki.example.com`)
  const redirectAddresses = options.redirectAddresses ?? programDefaults.redirectAddresses ?? []
  if (redirectAddresses.length === 0 && proxyOrigin === undefined)
    throw new UsageFault(
      'Give --redirect, the address to which users come back, or --proxy, the address of a site behind a proxy.',
    )
  if (options.access === undefined)
    throw new UsageFault('Say who may use it: --everyone, or --group GROUP for its members only.')
  const application: NewApplication = {
    logoutAddresses: [],
    backchannelLogout: undefined,
    access: options.access,
    groups: [],
    factors: 1,
    maxAge: undefined,
    consent: kind === 'native' ? 'ask' : 'none',
    pkce: true,
    algorithm: 'RS256',
    deviceFlow: false,
    proxyOrigin,
    openPaths: [],
    openPreflight: false,
    tokens: true,
    ...programDefaults,
    ...options,
    name,
    kind,
    redirectAddresses,
    home: programDefaults.home ?? home ?? defaultHome(redirectAddresses, proxyOrigin),
  }
  return { application, program, proxy, icon: values.icon }
}

export const readChange = (values: ChangeValues) => {
  const change = changeFrom(values)
  const { icon } = values
  if (Object.keys(change).length === 0 && icon === undefined)
    throw new UsageFault('Say what to change, for example --redirect URL.')
  return { change, icon }
}

type Outcome = Awaited<ReturnType<ApplicationChanges[keyof ApplicationChanges]>>
type Refusal = Extract<Outcome, { refused: string }>

/** `name` is the name of the application. It stands in a command that the operator can copy. */
const sentences: {
  [Code in Refusal['refused']]: (refusal: Extract<Refusal, { refused: Code }>, name: string) => string
} = {
  bad_name: applicationRefusalSentence,
  no_redirect_address: applicationRefusalSentence,
  proxy_needs_web: applicationRefusalSentence,
  proxy_missing: applicationRefusalSentence,
  bad_proxy_address: applicationRefusalSentence,
  bad_open_path: applicationRefusalSentence,
  origin_taken: ({ origin }) => `Another application has the address ${origin}.`,
  bad_address: applicationRefusalSentence,
  pkce_needed: applicationRefusalSentence,
  consent_needed: applicationRefusalSentence,
  device_flow_needs_native: applicationRefusalSentence,
  no_group: ({ group }) => `There is no group ${group}. Make it with: latchkey group add ${group}`,
  name_taken: () => 'Another application has this name.',
  is_document: (_, name) =>
    `${printableText(name)} says itself what it is, with its document. Who may use it, the rules of the resources say.`,
  no_application: () => 'The application was deleted in the meantime.',
  has_no_secret: () => 'Only an application of the kind web has secrets.',
  too_many_secrets: (_, name) =>
    `${printableText(name)} has ${maxSecrets} secrets already. Remove the older one first: ${quoteCommand('application secret remove', name)}`,
  no_secret: (_, name) => `${printableText(name)} has no such secret. See: ${quoteCommand('application show', name)}`,
  last_secret: (_, name) =>
    `This is the only secret of ${printableText(name)}. Add another one first: ${quoteCommand('application secret add', name)}`,
  application_in_use: ({ users }, name) =>
    `${countText(users, 'user')} would lose ${printableText(name)}. Add --yes to delete it.`,
}

/**
 * Returns the outcome, or throws the sentence of its refusal. Nothing is written after the sentence, because it may end in a command that
 * the operator copies.
 */
export const throwIfRefused = <Value>(outcome: Value, name: string): Exclude<Value, { refused: string }> => {
  if (!isRefused(outcome)) return outcome as Exclude<Value, { refused: string }>
  const refusal = outcome as Refusal
  const sentence = sentences[refusal.refused] as (refusal: Refusal, name: string) => string
  throw new CommandFailure(`Nothing was changed. ${printableText(sentence(refusal, name))}`)
}

/** Finds an application by its name (small and large letters are the same) or by its id. */
export const requireApplication = async ({ applications }: CommandRooms, text: string) => {
  const found = (await applications.findByName(text)) ?? (await applications.find(text))
  if (!found) throw new CommandFailure(`There is no application ${text}. See: latchkey application list`)
  return found
}
