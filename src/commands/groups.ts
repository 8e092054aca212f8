import { isRefused, type Refused } from '../contract/outcome.js'
import type { Group } from '../groups/groups.js'
import { countText } from '../lib/text.js'
import { type Command, CommandFailure, operator, print, readArguments, withNouns } from './command.js'
import { groupNameFrom } from './group-name.js'
import { printList } from './terminal/print-list.js'
import { printableJson, printableText } from './terminal/printable-json.js'
import { quoteCommand } from './terminal/quote-command.js'
import { asTable } from './terminal/table.js'
import { listOptions, listUsers } from './users/user-list.js'

const jsonOption = { json: { type: 'boolean' } } as const

export const groupAdd: Command = {
  summary: 'Make a group',
  help: `latchkey group add NAME [--json]

A group is a name and its members. Who may open what is written in the proxy (\`/api/auth/verify?group=NAME\`) or in the
application (claim \`groups\`, header X-Auth-Groups). NAME has 1 to 32 characters: small letters, digits, dots, underscores and
hyphens, with a letter or a digit first. Members join with \`latchkey user groups USER --add NAME\`.

  --json    one JSON object, for programs`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, jsonOption, ['NAME'])
    const name = groupNameFrom(positionals[0] ?? '')
    return withNouns(context, 'service role', async ({ groups }) => {
      const added = await groups.add(name, operator(context))
      const members = (await groups.list()).find((each) => each.name === name)?.members ?? 0
      const message = added
        ? `Made the group ${name}.`
        : `The group ${name} is there already, with ${countText(members, 'member')}.`
      await print(context.stdout, values.json ? printableJson({ name, added, members }) : message)
      return 0
    })
  },
}

const groupTable = (groups: readonly Group[]) =>
  asTable([
    ['NAME', 'MEMBERS', 'CREATED'],
    ...groups.map(({ name, members, createdAt }) => [name, String(members), createdAt.toISOString().slice(0, 10)]),
  ])

export const groupList: Command = {
  summary: 'List the groups and how many members each has',
  help: `latchkey group list [--json]

  --json    one JSON object on each line, for programs`,

  run: async (args, context) => {
    const { values } = readArguments(args, jsonOption, [])
    return withNouns(context, 'service role', async ({ groups }) => {
      const all = await groups.list()
      await printList(context, all, { json: values.json, asTable: groupTable, none: 'There are no groups.' })
      return 0
    })
  },
}

export const groupMembers: Command = {
  summary: 'List the members of a group, a page at a time',
  help: `latchkey group members NAME [--limit N] [--after ID] [--json]

The same as \`latchkey user list --group NAME\`, with the same options.`,

  run: async (args, context) => {
    const { group: _, ...options } = listOptions
    const { positionals, values } = readArguments(args, options, ['NAME'])
    return listUsers({ ...values, group: positionals[0] ?? '' }, context)
  },
}

type DeletionRefusal =
  | Refused<'no_group'>
  | Refused<'group_has_members'>
  | (Refused<'group_in_use'> & { applications: string[] })

const whyNotDeleted = (refusal: DeletionRefusal, name: string) => {
  if (refusal.refused === 'no_group') return `There is no group ${name}.`
  if (refusal.refused === 'group_has_members')
    return `The group ${name} has members, who would lose it. Add --yes to delete it.`
  const [application, ...others] = refusal.applications
  // The group is in use, but not by an application.
  if (application === undefined)
    return `ADMIN_GROUP or SUPPORT_GROUP names the group ${name}: change the setting first. Or the setup has made it for administrators, and it stays.`
  if (others.length > 0)
    return `The applications ${refusal.applications.map(printableText).join(', ')} let the group ${name} in. Change each of them first: latchkey application change APPLICATION --group ANOTHER`
  return `The application ${printableText(application)} lets the group ${name} in. Change that first: ${quoteCommand('application change', application)} --group ANOTHER`
}

export const groupDelete: Command = {
  summary: 'Delete a group, and take it away from its members',
  help: `latchkey group delete NAME [--yes] [--json]

A group that an application lets in (latchkey application list) is not deleted. A group with members is deleted only with --yes.
They lose it within two seconds, and stay signed in. If the command is interrupted, some members have lost it; run it again.

  --yes     delete it although it has members
  --json    one JSON object, for programs`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { yes: { type: 'boolean' }, ...jsonOption }, ['NAME'])
    const name = groupNameFrom(positionals[0] ?? '')
    return withNouns(context, 'service role', async ({ groupChanges }) => {
      const alsoWithMembers = values.yes ?? false
      const deleted = await groupChanges.deleteGroup(operator(context), name, { alsoWithMembers })
      if (isRefused(deleted)) throw new CommandFailure(whyNotDeleted(deleted, name))
      const { members } = deleted
      const message = `Deleted the group ${name}; it had ${countText(members, 'member')}.`
      await print(context.stdout, values.json ? printableJson({ name, deleted: true, members }) : message)
      return 0
    })
  },
}
