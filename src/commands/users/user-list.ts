import { builtInProviderIds, isProviderId, providerLabel } from '../../contract/providers.js'
import { builtInFieldNames } from '../../contract/schemas.js'

import { days } from '../../lib/durations.js'
import { isUuid } from '../../lib/uuid.js'
import { builtInValues, readBuiltInFields } from '../../users/built-in-fields.js'
import type { ListedUser } from '../../users/bulk.js'
import {
  type Command,
  type CommandContext,
  groupNameFrom,
  limitFrom,
  print,
  readArguments,
  requireGroups,
  UsageFault,
  withNouns,
} from '../command.js'
import { momentFrom } from '../operations/events.js'
import { asTable, printableJson, printList } from '../terminal/printing.js'

const maxAtOnce = 1_000

const waysInText = ({ passwordHash, identities }: ListedUser) =>
  [
    ...(passwordHash === undefined ? [] : ['password']),
    ...Object.keys(identities).filter(isProviderId).sort().map(providerLabel),
  ].join(', ') || 'none'

const asJson = (user: ListedUser) => {
  const { id, email, username, provider, groups, createdAt, disabled } = user
  const builtIn = builtInValues(readBuiltInFields(user), builtInFieldNames)
  const ways = {
    has_password: user.passwordHash !== undefined,
    ...Object.fromEntries(builtInProviderIds.map((each) => [each, false])),
    ...Object.fromEntries(Object.keys(user.identities).map((each) => [each, true])),
  }
  return printableJson({ id, email, username, ...builtIn, provider, ...ways, groups, created_at: createdAt, disabled })
}

const userTable = (users: readonly ListedUser[]) =>
  asTable([
    ['ID', 'USERNAME', 'EMAIL', 'SIGNS IN WITH', 'CREATED', 'STATE'],
    ...users.map((user) => [
      user.id,
      user.username,
      user.email,
      waysInText(user),
      user.createdAt.toISOString().slice(0, 10),
      user.disabled ? 'disabled' : '',
    ]),
  ])

export const listOptions = {
  disabled: { type: 'boolean' },
  'no-second-factor': { type: 'boolean' },
  'unused-since': { type: 'string' },
  group: { type: 'string' },
  limit: { type: 'string', default: '50' },
  after: { type: 'string' },
  json: { type: 'boolean' },
} as const

const unusedFrom = (text: string | undefined) => {
  if (text === undefined) return {}
  const now = new Date()
  const unusedSince = momentFrom('--unused-since', text, now)
  if (now.getTime() - unusedSince.getTime() > 90 * days)
    throw new UsageFault('--unused-since takes a time of the last 90 days: older events are not kept.')
  return { unusedSince }
}

type ListValues = ReturnType<typeof readArguments<typeof listOptions>>['values']

export const listUsers = async (values: ListValues, context: CommandContext) => {
  const limit = limitFrom(values.limit, maxAtOnce)
  const after = values.after?.toLowerCase()
  if (after !== undefined && !isUuid(after)) throw new UsageFault('--after takes the id of a user.')
  const filter = {
    disabled: values.disabled ?? false,
    noSecondFactor: values['no-second-factor'] ?? false,
    ...unusedFrom(values['unused-since']),
    ...(values.group !== undefined && { group: groupNameFrom(values.group) }),
  }

  const isFiltered = Object.values(filter).some(Boolean)

  return withNouns(context, 'service role', async (nouns) => {
    const foundUsers = await nouns.bulkUsers.page(after, limit + 1, filter)
    if (foundUsers.length === 0 && filter.group !== undefined) await requireGroups(nouns, [filter.group])
    const users = foundUsers.slice(0, limit)
    const none = isFiltered ? 'No user matches.' : 'There are no users.'
    await printList(context, users, { json: values.json, asJson, asTable: userTable, none })
    if (foundUsers.length > limit)
      await print(context.stderr, `There are more users: continue with --after ${users.at(-1)?.id}`)
    return 0
  })
}

export const userList: Command = {
  summary: 'List users, a page at a time',
  help: `latchkey user list [--disabled] [--no-second-factor] [--unused-since TIME] [--group NAME]
                   [--limit N] [--after ID] [--json]

Lists users, oldest first. With several filters, those to whom all of them apply.

  --disabled            only disabled users
  --no-second-factor    only users without an authenticator app and without a passkey
  --unused-since TIME   only users who were added before this time and have used no session since: 2026-11-15T10:00Z, or how
                        long ago: 30d, 90d at most. What was before that is not kept
  --group NAME          only members of this group
  --limit N             how many, 1 to ${maxAtOnce} (default 50)
  --after ID            continue after this user; if there are more users, the last line says with which id
  --json                one JSON object on each line, for programs`,

  run: async (args, context) => {
    const { values } = readArguments(args, listOptions, [])
    return listUsers(values, context)
  },
}

export const userSearch: Command = {
  summary: 'Find users by a part of their name or email',
  help: `latchkey user search TEXT [--limit N] [--json]

Finds users whose username, email or name contains TEXT, in any case. An exact match comes first.

  --limit N     how many, 1 to ${maxAtOnce} (default 50)
  --json        one JSON object on each line, for programs

The exit code is 1 if no user matches.`,

  run: async (args, context) => {
    const options = { limit: { type: 'string', default: '50' }, json: { type: 'boolean' } } as const
    const { values, positionals } = readArguments(args, options, ['TEXT'])
    const limit = limitFrom(values.limit, maxAtOnce)
    const text = (positionals[0] ?? '').trim()
    if (text === '') throw new UsageFault('TEXT is empty.')

    return withNouns(context, 'service role', async ({ bulkUsers }) => {
      const foundUsers = await bulkUsers.search(text, limit + 1)
      const users = foundUsers.slice(0, limit)
      if (values.json) for (const user of users) await print(context.stdout, asJson(user))
      else if (users.length > 0) await print(context.stdout, userTable(users))
      if (users.length === 0) await print(context.stderr, 'No user matches.')
      if (foundUsers.length > limit) await print(context.stderr, 'There are more: use --limit, or more of the name.')
      return users.length > 0 ? 0 : 1
    })
  },
}
