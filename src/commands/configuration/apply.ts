import type { ConfigurationChange, ConfigurationOption } from '../../contract/configuration.js'
import { countText } from '../../lib/text.js'
import { type CommandContext, CommandFailure, command, print } from '../command.js'
import { ask } from '../terminal/ask.js'
import { printableText } from '../terminal/printing.js'

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

/** Asks on a terminal. Elsewhere --yes says that it is meant. */
const confirm = async (context: CommandContext, plan: string) => {
  if (!context.stdin.isTTY)
    throw new CommandFailure(`${plan}\n\nNothing was changed. Add --yes to apply this, or --plan to see it only.`)
  await print(context.stderr, plan)
  const answer = await ask(context, 'Apply this? Type yes: ')
  if (answer?.trim() !== 'yes') throw new CommandFailure('Nothing was changed.')
}

const options = {
  plan: { type: 'boolean' },
  prune: { type: 'boolean' },
  yes: { type: 'boolean' },
} as const

const optionHelp: readonly ConfigurationOption[] = [
  { name: 'plan', help: 'shows what would change, and ends with 3 if anything would' },
  { name: 'prune', help: 'removes what the file owned and does not name any more, instead of handing it back' },
  { name: 'yes', help: 'does not ask; without a terminal it must be there' },
]

export const apply = command({
  summary: 'Apply a configuration file: groups, applications and settings',
  help: `latchkey apply FILE [--plan] [--prune] [--yes] [--json]

FILE is YAML or JSON: docs/configuration-files.md describes it, docs/configuration.schema.json helps editors. All of it is
written, or nothing. What the file names belongs to it from then on: pages and commands show that, and refuse to change it. What
it does not name any more is handed back to them. A secret that is made for a new application is printed once.

${optionHelp.map(({ name, help }) => `  ${`--${name}`.padEnd(10)}${help}`).join('\n')}`,
  json: '{"changes": [{"kind", "name", "action": "add", "change", "remove" or "release", "before"?, "after"?}], "secrets"?: {NAME: …}}',
  printsOnce: true,
  args: ['FILE'],
  options,
  run: async ({ configurationFiles, liveSettings }, { args: [path], values, context, operator }) => {
    // Not loaded for every command.
    const { readConfiguration } = await import('../../configuration/read-configuration.js')
    const { environment } = context
    const configuration = await readConfiguration(path, { environment, liveSettings })
    const { file } = configuration
    const wish = { prune: values.prune ?? false, makesSecrets: true }
    const { changes } = await configurationFiles.plan(configuration, operator, wish)
    const plan = planText(changes, file.name)
    if (values.plan) return { json: { changes }, text: plan, code: changes.length > 0 ? wouldChange : 0 }
    if (changes.length === 0) return { json: { changes, secrets: {} }, text: plan }
    if (!values.yes) await confirm(context, plan)
    const confirmed = values.yes ? undefined : changes
    const applied = await configurationFiles.apply(configuration, operator, { ...wish, confirmed })
    const secretLines = Object.entries(applied.secrets).map(([name, secret]) => `${printableText(name)}: ${secret}`)
    const text = [
      `Applied ${printableText(file.name)}: ${countText(applied.changes.length, 'change')}.`,
      ...(values.yes ? [planText(applied.changes, file.name)] : []),
      ...(secretLines.length > 0 ? [`Secrets, shown only now:\n${secretLines.join('\n')}`] : []),
    ].join('\n\n')
    return { json: applied, text }
  },
})
