import { maxGroups } from '../contract/names.js'
import { isRefused } from '../contract/outcome.js'
import { longestAccessToken } from '../sessions/tokens.js'
import { type Command, CommandFailure, operator, print, readArguments, withNouns } from './command.js'
import { requireUser, throwIfDeleted } from './find-user.js'
import { groupNameFrom, requireGroups } from './group-name.js'
import { printableJson } from './terminal/printable-json.js'

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
