import { isRefused } from '../../contract/outcome.js'
import { keyAlgorithms } from '../../keys/key-pair.js'
import {
  type NewResource,
  type Resource,
  type ResourceChange,
  type ResourceScope,
  resourceRefusalSentence,
  scopeFromText,
  scopeNames,
} from '../../openid/resources/resource.js'
import type { ResourceChanges } from '../../openid/resources/resources.js'
import { accessFrom, accessText, oneOf } from '../applications/application-options.js'
import { CommandFailure, type CommandRooms, command, UsageFault } from '../command.js'
import { asTable, listOf, printableText, quoteCommand } from '../terminal/printing.js'

type Outcome = Awaited<ReturnType<ResourceChanges['add' | 'change' | 'delete']>>
type Refusal = Extract<Outcome, { refused: string }>

const sentences: { [Code in Refusal['refused']]: (refusal: Extract<Refusal, { refused: Code }>) => string } = {
  bad_resource: resourceRefusalSentence,
  bad_name: resourceRefusalSentence,
  bad_scope: resourceRefusalSentence,
  too_many_scopes: resourceRefusalSentence,
  no_group: ({ group }) => `There is no group ${group}. Make it with: latchkey group add ${group}`,
  resource_taken: () => 'Another resource has this address or this name.',
  set_by_file: ({ file }) => `The resource is set by ${file}: change it there, then run latchkey apply.`,
  changed_meanwhile: () => 'The resource was changed in the meantime.',
  no_resource: () => 'The resource was deleted in the meantime.',
}

const throwIfRefused = <Value>(outcome: Value): Exclude<Value, { refused: string }> => {
  if (!isRefused(outcome)) return outcome as Exclude<Value, { refused: string }>
  const refusal = outcome as Refusal
  const sentence = sentences[refusal.refused] as (refusal: Refusal) => string
  throw new CommandFailure(`Nothing was changed. ${printableText(sentence(refusal))}`)
}

/** Finds a resource by its name (small and large letters are the same), its address or its id. */
const requireResource = async ({ resources }: CommandRooms, text: string) => {
  const found =
    (await resources.findByName(text)) ?? (await resources.findByAddress(text)) ?? (await resources.find(text))
  if (!found) throw new CommandFailure(`There is no resource ${text}. See: latchkey resource list`)
  return found
}

const shownOf = ({ setByFile, ...resource }: Resource) => ({
  ...resource,
  ...(setByFile && { setBy: { file: setByFile } }),
})

const resourceOptions = {
  name: { type: 'string' },
  scope: { type: 'string', multiple: true },
  everyone: { type: 'boolean' },
  group: { type: 'string', multiple: true },
  algorithm: { type: 'string' },
} as const

type Values = {
  name?: string | undefined
  scope?: string[] | undefined
  everyone?: boolean | undefined
  group?: string[] | undefined
  algorithm?: string | undefined
}

/** `write=Change pages`. A single `none` empties the list. */
const scopesFrom = (texts: readonly string[]): ResourceScope[] =>
  texts.join() === 'none' ? [] : texts.map(scopeFromText)

const changeFrom = (values: Values): ResourceChange => {
  const { name, scope } = values
  const algorithm = oneOf('algorithm', keyAlgorithms, values.algorithm)
  return {
    ...(name !== undefined && { name }),
    ...(scope && { scopes: scopesFrom(scope) }),
    ...accessFrom(values),
    ...(algorithm && { algorithm }),
  }
}

const optionsHelp = `  --scope NAME[=TEXT]  what a program can ask for, with what the user reads: --scope read --scope write="Change pages". Up to 20.
                       profile, email and groups put these claims into the token
  --everyone           every user may use the resource
  --group GROUP        only members of this group, or of one of several (--group a --group b)
  --algorithm RS256    signs its tokens with RS256 instead of ES256`

export const resourceAdd = command({
  summary: 'Let programs get tokens for an API or an MCP server of yours',
  help: `latchkey resource add ADDRESS --name NAME [--scope NAME[=TEXT]...] (--everyone | --group GROUP...) [--algorithm ALGORITHM] [--json]

ADDRESS is where programs reach it, such as https://mcp.example.com/mcp. It is the audience of its tokens and cannot be changed.
Users see NAME when a program asks for it. docs/agents.md explains more.

  --name NAME          the name that users see
${optionsHelp}`,
  json: '{"id": …, "resource": …, "scopes": […]}',
  args: ['ADDRESS'],
  options: resourceOptions,
  read: ({ args: [address], values }) => {
    const { name, access, groups = [], scopes = [], algorithm = 'ES256' } = changeFrom(values)
    if (name === undefined) throw new UsageFault('Say what users see: --name "Wiki tools".')
    if (access === undefined)
      throw new UsageFault('Say who may use it: --everyone, or --group GROUP for its members only.')
    const resource: NewResource = { address, name, scopes, access, groups, algorithm }
    return { resource }
  },
  run: async ({ resourceChanges, issuer }, { resource, operator }) => {
    const { resource: added } = throwIfRefused(await resourceChanges.add(resource, operator))
    const { id, address, name } = added
    const rows = asTable([
      ['issuer', issuer],
      ['resource', address],
      ['scopes', scopeNames(added).join(' ') || 'none'],
    ])
    return {
      json: { id, resource: address, scopes: scopeNames(added) },
      text: `Added ${printableText(name)}.\n\n${rows}`,
    }
  },
})

export const resourceList = command({
  summary: 'List the resources that programs get tokens for',
  help: 'latchkey resource list [--json]',
  json: 'one JSON object on each line, for programs',
  run: async ({ resources }) => {
    const none = 'There are no resources. Add one with: latchkey resource add'
    const table = (all: readonly Resource[]) =>
      asTable([
        ['NAME', 'FOR', 'SCOPES', 'ADDRESS'],
        ...all.map((each) => [each.name, accessText(each), scopeNames(each).join(' '), each.address]),
      ])
    return listOf(await resources.list(), { asTable: table, none })
  },
})

export const resourceShow = command({
  summary: 'Show a resource',
  help: `latchkey resource show RESOURCE [--json]

RESOURCE is a name, an address or an id.`,
  json: '{"id", "address", "name", "scopes", "access", "groups", "algorithm", "createdAt", "issuer"}',
  args: ['RESOURCE'],
  run: async (rooms, { args: [named] }) => {
    const resource = await requireResource(rooms, named)
    const { id, name, address, scopes, algorithm, createdAt } = resource
    const scopeRows = scopes.map((scope, index) => [
      index === 0 ? 'scopes' : '',
      scope.description === null ? scope.name : `${scope.name}: ${scope.description}`,
    ])
    const rows = [
      ['name', name],
      ['id', id],
      ['resource', address],
      ['issuer', rooms.issuer],
      ['for', accessText(resource)],
      ...(scopeRows.length > 0 ? scopeRows : [['scopes', 'none']]),
      ['algorithm', algorithm],
      ['created', createdAt.toISOString()],
      ...(resource.setByFile === null ? [] : [['set by', resource.setByFile]]),
    ]
    return { json: { ...shownOf(resource), issuer: rooms.issuer }, text: asTable(rows) }
  },
})

export const resourceChange = command({
  summary: 'Change a resource',
  help: `latchkey resource change RESOURCE [options] [--json]

RESOURCE is a name, an address or an id. What is not named stays as it is. Scopes and groups that are given replace all earlier
ones; \`--scope none\` removes them. Programs whose users may no longer use the resource lose access at once. The address cannot
be changed: it is in tokens and in the settings of programs.

  --name NAME          another name
${optionsHelp}`,
  json: '{"id", "address", "name", "scopes", "access", "groups", "algorithm", "createdAt", "changed"}',
  args: ['RESOURCE'],
  options: resourceOptions,
  read: ({ values }) => {
    const change = changeFrom(values)
    if (Object.keys(change).length === 0) throw new UsageFault('Say what to change, for example --scope read.')
    return { change }
  },
  run: async (rooms, { args: [named], change, operator }) => {
    const { id } = await requireResource(rooms, named)
    const { resource, summary } = throwIfRefused(await rooms.resourceChanges.change(id, change, operator))
    const name = printableText(resource.name)
    return {
      json: { ...shownOf(resource), changed: summary !== '' },
      text: summary === '' ? `${name} is like this already.` : `Changed ${name}: ${summary}.`,
    }
  },
})

export const resourceDelete = command({
  summary: 'Delete a resource: programs get no tokens for it any more',
  help: `latchkey resource delete RESOURCE [--yes] [--json]

The sessions of programs for it end with it. RESOURCE is a name, an address or an id.

  --yes     needed: without it, changes nothing`,
  json: '{"id", "name", "deleted"}',
  args: ['RESOURCE'],
  options: { yes: { type: 'boolean' } },
  run: async (rooms, { args: [named], values, operator }) => {
    const { id, name } = await requireResource(rooms, named)
    if (!values.yes)
      throw new CommandFailure(
        `Programs would lose ${printableText(name)}. To delete it: ${quoteCommand('resource delete', name)} --yes`,
      )
    throwIfRefused(await rooms.resourceChanges.delete(id, operator))
    return { json: { id, name, deleted: true }, text: `Deleted ${printableText(name)}.` }
  },
})
