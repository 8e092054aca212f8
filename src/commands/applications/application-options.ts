import { Check } from 'typebox/schema'
import { type ApplicationChanges, applicationRefusalSentence } from '../../applications/application-changes.js'
import { type ApplicationPatch, changeFrom, newApplicationFrom } from '../../applications/application-shape.js'
import type { Access } from '../../applications/applications.js'
import { maxSecrets } from '../../applications/applications.js'
import { programNames } from '../../applications/program-settings.js'
import { proxyNames } from '../../applications/proxy-lines.js'
import {
  type ApplicationShape,
  applicationProperties,
  type ConfigurationOption,
  type OptionName,
  type PropertyName,
} from '../../contract/configuration.js'
import { isRefused } from '../../contract/outcome.js'
import { countText } from '../../lib/text.js'
import { CommandFailure, type CommandRooms, groupNameFrom, UsageFault } from '../command.js'
import { inColumn, printableText, quoteCommand } from '../terminal/printing.js'

type CommandName = 'add' | 'change'

/** The name is the key in a file, and so no property there. */
const nameOption: ConfigurationOption = { name: 'name', value: 'NAME', only: 'change', help: 'another name' }

const rowsOf = (command: CommandName) =>
  [
    nameOption,
    ...Object.values(applicationProperties).flatMap(({ options }): readonly ConfigurationOption[] => options),
  ].filter(({ only = command }) => only === command)

const parsed = ({ value, several }: ConfigurationOption) =>
  value === undefined ? ({ type: 'boolean' } as const) : ({ type: 'string', multiple: several ?? false } as const)

const optionsOf = (command: CommandName): Readonly<Record<string, ReturnType<typeof parsed>>> =>
  Object.fromEntries(rowsOf(command).map((option) => [option.name, parsed(option)]))

export const newApplicationOptions = optionsOf('add')
export const changeOptions = optionsOf('change')

const helpColumn = 23

/** The help of the options, from the table of properties. The second one of a pair (`--no-device`) is in the line of the first. */
export const optionsHelp = (command: CommandName) =>
  rowsOf(command)
    .filter(({ help }) => help !== '')
    .map(({ name, value, help }) => {
      const typed = `  --${name}${value === undefined ? '' : ` ${value}`}`
      const gap = typed.length >= helpColumn - 1 ? `\n${' '.repeat(helpColumn)}` : ' '.repeat(helpColumn - typed.length)
      return `${typed}${gap}${inColumn(help, helpColumn)}`
    })
    .join('\n')

/** What the operator has typed, by the names of the options. */
type Values = Readonly<Record<string, unknown>>

const isOn = (values: Values, name: OptionName) => values[name] === true
const textOf = (values: Values, name: OptionName | 'name') => {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}
const textsOf = (values: Values, name: OptionName) => {
  const value = values[name]
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : undefined
}
/** The text `none` takes the value away. */
const removableOf = (values: Values, name: OptionName) => {
  const text = textOf(values, name)
  return text === 'none' ? null : text
}

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

/** The single value `none` empties the list. */
const listFrom = (texts: string[] | undefined) => (texts?.join() === 'none' ? [] : texts)

export const accessText = ({ access, groups }: Access) =>
  access === 'everyone' ? 'everyone' : `members of ${groups.join(', ')}`

export const accessFrom = ({ everyone, group }: { everyone?: boolean | undefined; group?: string[] | undefined }) => {
  if (everyone && group) throw new UsageFault('Give --everyone or --group, and not both.')
  if (everyone) return { access: 'everyone', groups: [] } satisfies Access
  if (!group) return undefined
  const groups = [...new Set(group.flatMap((text) => text.split(',')).map(groupNameFrom))].sort()
  return { access: 'groups', groups } satisfies Access
}

const allowFrom = (values: Values): ApplicationShape['allow'] | undefined => {
  const everyone = isOn(values, 'everyone')
  const group = textsOf(values, 'group')
  if (everyone && group) throw new UsageFault('Give --everyone or --group, and not both.')
  if (everyone) return 'everyone'
  return group && [...new Set(group.flatMap((text) => text.split(',')).map(groupNameFrom))]
}

/** The answer of two options such as --device and --no-device. */
const switchFrom = (values: Values, name: OptionName, opposite: OptionName) => {
  const [on, off] = [isOn(values, name), isOn(values, opposite)]
  if (on && off) throw new UsageFault(`Give --${name} or --${opposite}, and not both.`)
  return on || off ? on : undefined
}

const kindFrom = (values: Values): ApplicationShape['kind'] => {
  const [isPublic, isNative] = [isOn(values, 'public'), isOn(values, 'native')]
  if (isPublic && isNative) throw new UsageFault('Give --public or --native, and not both.')
  if (isNative) return 'native'
  return isPublic ? 'browser' : undefined
}

type Read<Name extends PropertyName> = (values: Values) => ApplicationShape[Name] | null | undefined

/** How the options name each property. */
const readers: { readonly [Name in Exclude<PropertyName, 'secret' | 'icon' | 'for' | 'noDevice'>]: Read<Name> } = {
  id: (values) => textOf(values, 'id'),
  kind: kindFrom,
  redirect: (values) => textsOf(values, 'redirect'),
  allow: allowFrom,
  home: (values) => textOf(values, 'home'),
  afterLogout: (values) => listFrom(textsOf(values, 'after-logout')),
  backchannelLogout: (values) => removableOf(values, 'backchannel-logout'),
  consent: (values) => oneOf('consent', ['ask', 'none'], textOf(values, 'consent')),
  factors: (values) => {
    const count = oneOf('factors', ['1', '2'], textOf(values, 'factors'))
    return count && (count === '2' ? 2 : 1)
  },
  maxAge: (values) => removableOf(values, 'max-age'),
  proxy: (values) => removableOf(values, 'proxy'),
  open: (values) => listFrom(textsOf(values, 'open')),
  openPreflight: (values) => switchFrom(values, 'open-preflight', 'no-open-preflight'),
  noPkce: (values) => switchFrom(values, 'no-pkce', 'pkce'),
  algorithm: (values) => oneOf('algorithm', ['RS256', 'ES256'], textOf(values, 'algorithm')),
  device: (values) => switchFrom(values, 'device', 'no-device'),
  noTokens: (values) => switchFrom(values, 'no-tokens', 'tokens'),
}

/** The schema is the same for files, requests and options. */
const checked = (name: string, value: unknown) => {
  const { schema, must, options }: (typeof applicationProperties)[PropertyName] =
    applicationProperties[name as PropertyName]
  const [option] = options
  if (value === null || Check(schema, value)) return value
  throw new UsageFault(`--${option?.name ?? name} takes ${must}.`)
}

/** The properties that the options name. */
const shapeFrom = (values: Values) =>
  Object.fromEntries(
    Object.entries(readers).flatMap(([name, read]) => {
      const value = read(values)
      return value === undefined ? [] : [[name, checked(name, value)]]
    }),
  ) as Partial<ApplicationShape>

/** What --for names: a program whose settings are known, or the proxy in front of the application. */
const readFor = (text: string | undefined) => {
  const named = oneOf('for', [...programNames, ...proxyNames], text)
  return { program: programNames.find((each) => each === named), proxy: proxyNames.find((each) => each === named) }
}

/** `program` and `proxy`: which of them --for names. */
export const readNewApplication = (name: string, values: Values) => {
  const { program, proxy } = readFor(textOf(values, 'for'))
  const { allow, id, ...given } = Object.fromEntries(
    Object.entries(shapeFrom(values)).filter(([, value]) => value !== null),
  ) as Partial<ApplicationShape>
  if (given.device !== undefined && given.kind !== 'native')
    throw new UsageFault('--device and --no-device are for --native: others have no device flow.')
  if (program !== undefined && given.kind !== undefined)
    throw new UsageFault(`${program} keeps a secret: leave out --public and --native.`)
  if (program !== undefined && given.home === undefined)
    throw new UsageFault(
      `--for ${program} needs the address at which users open it: --home https://${program}.example.com`,
    )
  if (proxy !== undefined && given.proxy === undefined)
    throw new UsageFault(`--for ${proxy} needs the address of the site behind it: --proxy https://wiki.example.com`)
  if (program === undefined && given.redirect === undefined && given.proxy === undefined)
    throw new UsageFault(
      'Give --redirect, the address to which users come back, or --proxy, the address of a site behind a proxy.',
    )
  if (allow === undefined)
    throw new UsageFault('Say who may use it: --everyone, or --group GROUP for its members only.')
  const application = newApplicationFrom(name, { ...given, allow, for: program })
  return { application, id, program, proxy, icon: textOf(values, 'icon') }
}

export const readChange = (values: Values) => {
  const name = textOf(values, 'name')
  const patch = { ...shapeFrom(values), name } as ApplicationPatch
  const change = changeFrom(patch)
  const icon = textOf(values, 'icon')
  if (Object.keys(change).length === 0 && icon === undefined)
    throw new UsageFault('Say what to change, for example --redirect URL.')
  return { change, icon }
}

type Outcome = Awaited<ReturnType<ApplicationChanges[Exclude<keyof ApplicationChanges, 'forFiles' | 'versionOf'>]>>
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
  id_taken: ({ id }) => `Another application has the id ${id}.`,
  set_by_file: ({ file }, name) =>
    `${printableText(name)} is set by ${file}: change it there, then run latchkey apply.`,
  changed_meanwhile: () => 'The application was changed in the meantime.',
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

/** Several programs of documents may have one name, so no name is good enough to find one. */
const documentsNamed = async ({ applications }: CommandRooms, name: string) =>
  (await applications.list()).flatMap((each) =>
    each.document !== undefined && each.name === name ? [each.document] : [],
  )

/** Finds an application by its name (small and large letters are the same), its id, or the address of its document. */
export const requireApplication = async (rooms: CommandRooms, text: string) => {
  const { applications } = rooms
  const found = (await applications.findByName(text)) ?? (await applications.find(text))
  const documents = found ? [] : await documentsNamed(rooms, text)
  if (documents.length > 0)
    throw new CommandFailure(
      `${printableText(text)} is the name of a program that nobody registered. Name the address of its document: ${documents.map(printableText).join(', ')}`,
    )
  if (!found) throw new CommandFailure(`There is no application ${text}. See: latchkey application list`)
  return found
}
