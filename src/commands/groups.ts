import { maxGroups } from '../contract/groups.js'
import { isRefused, type Refused } from '../contract/outcome.js'
import type { Group } from '../groups/groups.js'
import { countText } from '../lib/text.js'
import { longestAccessToken } from '../sessions/tokens.js'
import {
  type Command,
  CommandFailure,
  groupNameFrom,
  operator,
  print,
  readArguments,
  requireGroups,
  requireUser,
  throwIfDeleted,
  withNouns,
} from './command.js'
import { asTable, printableJson, printableText, printList, quoteCommand } from './terminal/printing.js'
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

const options = {
  add: { type: 'string', multiple: true },
  remove: { type: 'string', multiple: true },
  json: { type: 'boolean' },
} as const

const namesFrom = (given: readonly string[] = []) => given.flatMap((text) => text.split(',')).map(groupNameFrom)

const groupsText = (groups: readonly string[]) => (groups.length > 0 ? groups.join(', ') : 'no group')

export const userGroups: Command = {
  summary: 'Show the groups of a user, or change them',
  help: `latchkey user groups USER [--add GROUP]... [--remove GROUP]... [--json]

Without --add and --remove it changes nothing. A change counts within two seconds, for every instance, and signs no user out. A user
can be in ${maxGroups} groups at most, and in fewer if their names are long: an access token must stay under ${longestAccessToken} bytes. USER is a
username, an email or an id.

  --add GROUP       or several with commas; they must be there (latchkey group add)
  --remove GROUP    or several with commas
  --json            one JSON object, for programs`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, options, ['USER'])
    const add = namesFrom(values.add)
    const remove = namesFrom(values.remove)
    const groupInBoth = add.find((name) => remove.includes(name))
    if (groupInBoth !== undefined) throw new CommandFailure(`--add and --remove name the same group: ${groupInBoth}.`)
    return withNouns(context, 'service role', async (nouns) => {
      const user = await requireUser(nouns, positionals[0] ?? '')
      const { id, username } = user
      const printGroups = (groups: readonly string[], changed: boolean) =>
        print(
          context.stdout,
          values.json ? printableJson({ id, username, groups, changed }) : `${username} is in ${groupsText(groups)}.`,
        )
      if (add.length + remove.length === 0) {
        await printGroups(user.groups, false)
        return 0
      }
      await requireGroups(
        nouns,
        remove.filter((name) => !user.groups.includes(name)),
      )
      const outcome = await nouns.groupChanges.change({ userId: id, client: operator(context) }, { add, remove })
      const changed = throwIfDeleted(outcome, username)
      if (isRefused(changed)) throw new CommandFailure(whyRefused(changed, username))
      await printGroups(changed.user.groups, changed.result)
      return 0
    })
  },
}

const whyRefused = (
  refusal: { refused: 'no_group'; group: string } | { refused: 'too_many_groups' },
  username: string,
) =>
  refusal.refused === 'no_group'
    ? `There is no group ${refusal.group}. Make it with: latchkey group add ${refusal.group}`
    : `${username} would be in more than ${maxGroups} groups, or the access token would be longer than ${longestAccessToken} bytes. Nothing was changed.`
