import { maxGroups } from '../contract/groups.js'
import { isRefused, type Refused } from '../contract/outcome.js'
import type { Group } from '../groups/groups.js'
import { countText } from '../lib/text.js'
import { longestAccessToken } from '../sessions/tokens.js'
import { CommandFailure, command, groupNameFrom, requireGroups, requireUser, throwIfDeleted } from './command.js'
import { asTable, listOf, printableText, quoteCommand } from './terminal/printing.js'
import { listOptions, listUsers, readListing } from './users/user-list.js'

export const groupAdd = command({
  summary: 'Make a group',
  help: `latchkey group add NAME [--json]

A group is a name and its members. Who may open what is written in the proxy (\`/api/auth/verify?group=NAME\`) or in the
application (claim \`groups\`, header X-Auth-Groups). NAME has 1 to 32 characters: small letters, digits, dots, underscores and
hyphens, with a letter or a digit first. Members join with \`latchkey user groups USER --add NAME\`.`,
  json: '{"name", "added": true or false, "members"}',
  args: ['NAME'],
  read: ({ args: [name] }) => ({ name: groupNameFrom(name) }),
  run: async ({ groups }, { name, operator }) => {
    const added = await groups.add(name, operator)
    const members = (await groups.list()).find((each) => each.name === name)?.members ?? 0
    const text = added
      ? `Made the group ${name}.`
      : `The group ${name} is there already, with ${countText(members, 'member')}.`
    return { json: { name, added, members }, text }
  },
})

const groupTable = (groups: readonly Group[]) =>
  asTable([
    ['NAME', 'MEMBERS', 'CREATED'],
    ...groups.map(({ name, members, createdAt }) => [name, String(members), createdAt.toISOString().slice(0, 10)]),
  ])

export const groupList = command({
  summary: 'List the groups and how many members each has',
  help: `latchkey group list [--json]`,
  json: 'one JSON object on each line: {"name", "members", "createdAt", "setByFile"?}',
  run: async ({ groups }) => listOf(await groups.list(), { asTable: groupTable, none: 'There are no groups.' }),
})

const { group: _, ...optionsOfMembers } = listOptions

export const groupMembers = command({
  summary: 'List the members of a group, a page at a time',
  help: `latchkey group members NAME [--limit N] [--after ID] [--json]

The same as \`latchkey user list --group NAME\`, with the same options.`,
  json: { inHelp: 'one JSON object on each line, as of user list' },
  args: ['NAME'],
  options: optionsOfMembers,
  read: ({ args: [group], values }) => readListing({ ...values, group }),
  run: listUsers,
})

type DeletionRefusal =
  | Refused<'no_group'>
  | Refused<'group_has_members'>
  | (Refused<'set_by_file'> & { file: string })
  | (Refused<'group_in_use'> & { applications: string[] })

const whyNotDeleted = (refusal: DeletionRefusal, name: string) => {
  if (refusal.refused === 'no_group') return `There is no group ${name}.`
  if (refusal.refused === 'group_has_members')
    return `The group ${name} has members, who would lose it. Add --yes to delete it.`
  if (refusal.refused === 'set_by_file')
    return `The group ${name} is set by ${refusal.file}: remove it there, then run latchkey apply with --prune.`
  const [application, ...others] = refusal.applications
  // The group is in use, but not by an application.
  if (application === undefined)
    return `ADMIN_GROUP or SUPPORT_GROUP names the group ${name}: change the setting first. Or the setup has made it for administrators, and it stays.`
  if (others.length > 0)
    return `The applications ${refusal.applications.map(printableText).join(', ')} let the group ${name} in. Change each of them first: latchkey application change APPLICATION --group ANOTHER`
  return `The application ${printableText(application)} lets the group ${name} in. Change that first: ${quoteCommand('application change', application)} --group ANOTHER`
}

export const groupDelete = command({
  summary: 'Delete a group, and take it away from its members',
  help: `latchkey group delete NAME [--yes] [--json]

A group that an application lets in (latchkey application list) is not deleted. A group with members is deleted only with --yes.
They lose it within two seconds, and stay signed in. If the command is interrupted, some members have lost it; run it again.

  --yes     delete it although it has members`,
  json: '{"name", "deleted", "members"}',
  args: ['NAME'],
  options: { yes: { type: 'boolean' } },
  read: ({ args: [name] }) => ({ name: groupNameFrom(name) }),
  run: async ({ groupChanges }, { name, values, operator }) => {
    const deleted = await groupChanges.deleteGroup(operator, name, { alsoWithMembers: values.yes ?? false })
    if (isRefused(deleted)) throw new CommandFailure(whyNotDeleted(deleted, name))
    const { members } = deleted
    return {
      json: { name, deleted: true, members },
      text: `Deleted the group ${name}; it had ${countText(members, 'member')}.`,
    }
  },
})

const namesFrom = (given: readonly string[] = []) => given.flatMap((text) => text.split(',')).map(groupNameFrom)

const groupsText = (groups: readonly string[]) => (groups.length > 0 ? groups.join(', ') : 'no group')

export const userGroups = command({
  summary: 'Show the groups of a user, or change them',
  help: `latchkey user groups USER [--add GROUP]... [--remove GROUP]... [--json]

Without --add and --remove it changes nothing. A change counts within two seconds, for every instance, and signs no user out. A user
can be in ${maxGroups} groups at most, and in fewer if their names are long: an access token must stay under ${longestAccessToken} bytes. USER is a
username, an email or an id.

  --add GROUP       or several with commas; they must be there (latchkey group add)
  --remove GROUP    or several with commas`,
  json: '{"id", "username", "groups": [NAME], "changed"}',
  args: ['USER'],
  options: { add: { type: 'string', multiple: true }, remove: { type: 'string', multiple: true } },
  read: ({ values }) => {
    const add = namesFrom(values.add)
    const remove = namesFrom(values.remove)
    const groupInBoth = add.find((name) => remove.includes(name))
    if (groupInBoth !== undefined) throw new CommandFailure(`--add and --remove name the same group: ${groupInBoth}.`)
    return { add, remove }
  },
  run: async (rooms, { args: [userName], add, remove, operator }) => {
    const user = await requireUser(rooms, userName)
    const { id, username } = user
    const outputWith = (groups: readonly string[], changed: boolean) => ({
      json: { id, username, groups, changed },
      text: `${username} is in ${groupsText(groups)}.`,
    })
    if (add.length + remove.length === 0) return outputWith(user.groups, false)
    await requireGroups(
      rooms,
      remove.filter((name) => !user.groups.includes(name)),
    )
    const outcome = await rooms.groupChanges.change({ userId: id, client: operator }, { add, remove })
    const changed = throwIfDeleted(outcome, username)
    if (isRefused(changed)) throw new CommandFailure(whyRefused(changed, username))
    return outputWith(changed.user.groups, changed.result)
  },
})

const whyRefused = (
  refusal: { refused: 'no_group'; group: string } | { refused: 'too_many_groups' },
  username: string,
) =>
  refusal.refused === 'no_group'
    ? `There is no group ${refusal.group}. Make it with: latchkey group add ${refusal.group}`
    : `${username} would be in more than ${maxGroups} groups, or the access token would be longer than ${longestAccessToken} bytes. Nothing was changed.`
