import type { ConfigurationChange, ConfigurationOption } from '../../contract/configuration.js'
import { countText } from '../../lib/text.js'
import { type CommandContext, CommandFailure, command, print } from '../command.js'
import { ask } from '../terminal/ask.js'
import { printableText } from '../terminal/printing.js'
import { givenFile } from './given-file.js'

/** The exit code of a plan that has changes. */
const wouldChange = 3

const textOf = (value: unknown) =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : JSON.stringify(value)

const marks: Record<ConfigurationChange['action'], string> = { add: '+', change: '~', remove: '-', release: '>' }

/** The lines of one property. The same value on both sides has none. */
const propertyLines = (name: string, before: unknown, after: unknown) => {
  const [old, current] = [before, after].map((each) => (each === undefined ? undefined : textOf(each)))
  if (old === current) return []
  return [
    ...(old === undefined ? [] : [`    - ${name}: ${old}`]),
    ...(current === undefined ? [] : [`    + ${name}: ${current}`]),
  ]
}

const remarkOf = ({ action, takenFrom }: ConfigurationChange, file: string) => {
  if (action === 'release')
    return ', which the file does not name any more: pages and commands may change it from now on'
  if (takenFrom === undefined) return ''
  return takenFrom === null ? `: set by ${file} from now on` : `, which was set by ${takenFrom}`
}

const secretsRemark = (ownsSecrets: boolean, file: string) =>
  ownsSecrets ? `set by ${file} from now on` : 'pages and commands may change them from now on'

/** A change as a diff, for people. */
const linesOf = (change: ConfigurationChange, file: string) => {
  const { action, kind, name, secrets, ownsSecrets, icon } = change
  const before: Readonly<Record<string, unknown>> = action === 'release' ? {} : { ...change.before }
  const after: Readonly<Record<string, unknown>> = { ...change.after }
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return [
    `${marks[action]} ${kind} ${name}${remarkOf(change, file)}`,
    ...(action === 'remove' ? [] : names.flatMap((each) => propertyLines(each, before[each], after[each]))),
    ...(secrets ? [`    secrets: ${secrets.added} added, ${secrets.removed} removed`] : []),
    ...(ownsSecrets === undefined ? [] : [`    secrets: ${secretsRemark(ownsSecrets, file)}`]),
    ...(icon ? [`    icon: ${icon}`] : []),
  ].map(printableText)
}

const planText = (changes: readonly ConfigurationChange[], file: string) =>
  changes.length === 0 ? 'Everything is like this already.' : changes.flatMap((each) => linesOf(each, file)).join('\n')

/** Whether most of what the file owned would go, as when another file has its name, or half of it is missing. */
const pruneWarning = (changes: readonly ConfigurationChange[], { owned, name }: { owned: number; name: string }) => {
  const removed = changes.filter(({ action }) => action === 'remove').length
  if (removed * 2 <= owned) return []
  const share = removed === owned ? 'everything' : `${removed} of the ${owned} things`
  return [`Careful: this removes ${share} that ${name} has set. Is this the whole file, and the right one?`]
}

/** Asks on a terminal. Elsewhere --yes says that it is meant. Returns why nothing shall be changed. */
const whyNot = async (context: CommandContext, plan: string) => {
  if (!context.stdin.isTTY) return 'Nothing was changed. Add --yes to apply this, or --plan to see it only.'
  await print(context.stderr, plan)
  const answer = await ask(context, 'Apply this? Type yes: ')
  return answer?.trim() === 'yes' ? undefined : 'Nothing was changed.'
}

const options = {
  plan: { type: 'boolean' },
  prune: { type: 'boolean' },
  yes: { type: 'boolean' },
  as: { type: 'string' },
} as const

const optionHelp: readonly ConfigurationOption[] = [
  { name: 'plan', help: 'shows what would change, and ends with 3 if anything would' },
  { name: 'prune', help: 'removes what the file owned and does not name any more, instead of handing it back' },
  { name: 'yes', help: 'does not ask; without a terminal it must be there' },
  { name: 'as', value: 'NAME', help: 'the name that owns what the file names, for a pipe or another name of the file' },
]

const secretsText = (secrets: Readonly<Record<string, string>>) => {
  const lines = Object.entries(secrets).map(([name, secret]) => `${printableText(name)}: ${secret}`)
  return lines.length > 0 ? [`Secrets, shown only now:\n${lines.join('\n')}`] : []
}

export const apply = command({
  summary: 'Apply a configuration file: groups, applications and settings',
  help: `latchkey apply FILE [--plan] [--prune] [--yes] [--as NAME] [--json]

FILE is YAML or JSON: docs/configuration-files.md describes it, docs/configuration.schema.json helps editors. All of it is
written, or nothing. What the file names belongs to it from then on: pages and commands show that, and refuse to change it. What
it does not name any more is handed back to them. A secret that is made for a new application is printed once. FILE may be a
pipe, or - for standard input.

${optionHelp.map(({ name, value, help }) => `  ${`--${name}${value === undefined ? '' : ` ${value}`}`.padEnd(11)}${help}`).join('\n')}`,
  json: '{"changes": [{"kind", "name", "action": "add", "change", "remove" or "release", "before"?, "after"?, "takenFrom"?, "secrets"?, "ownsSecrets"?, "icon"?}], "secrets": {NAME: …}, "applied": true or false}',
  printsOnce: true,
  args: ['FILE'],
  options,
  read: async ({ args: [path], values, context }) => ({ given: await givenFile(path, values.as, context) }),
  run: async ({ configurationFiles, liveSettings }, { given, values, context, operator }) => {
    // Not loaded for every command.
    const { readConfiguration } = await import('../../configuration/read-configuration.js')
    const { environment } = context
    const configuration = await readConfiguration(given, { environment, liveSettings })
    const { name } = configuration.file
    const wish = { prune: values.prune ?? false, makesSecrets: true }
    const { changes, owned } = await configurationFiles.plan(configuration, operator, wish)
    const warnings = pruneWarning(changes, { owned, name: printableText(name) })
    const plan = [planText(changes, name), ...warnings].join('\n\n')
    const json = { changes, secrets: {}, applied: false }
    if (values.plan) return { json, text: plan, code: changes.length > 0 ? wouldChange : 0 }
    if (changes.length === 0) return { json, text: plan }
    const refusal = values.yes ? undefined : await whyNot(context, plan)
    if (refusal !== undefined) {
      if (values.json) return { json, text: undefined, notes: [refusal], code: 1 }
      throw new CommandFailure(context.stdin.isTTY ? refusal : `${plan}\n\n${refusal}`)
    }
    const confirmed = values.yes ? undefined : changes
    const { changes: written, secrets } = await configurationFiles.apply(configuration, operator, {
      ...wish,
      confirmed,
    })
    const text = [
      `Applied ${printableText(name)}: ${countText(written.length, 'change')}.`,
      ...(values.yes ? [planText(written, name), ...warnings] : []),
      ...secretsText(secrets),
    ].join('\n\n')
    return { json: { changes: written, secrets, applied: true }, text }
  },
})
