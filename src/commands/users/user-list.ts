import { builtInProviderIds, isProviderId, providerLabel } from '../../contract/providers.js'
import { builtInFieldNames } from '../../contract/schemas.js'
import { days } from '../../lib/durations.js'
import { isUuid } from '../../lib/uuid.js'
import { builtInValues, readBuiltInFields } from '../../users/built-in-fields.js'
import type { ListedUser } from '../../users/bulk.js'
import {
  type CommandRooms,
  command,
  groupNameFrom,
  limitFrom,
  type readArguments,
  requireGroups,
  UsageFault,
} from '../command.js'
import { momentFrom } from '../operations/events.js'
import { asTable, listOf } from '../terminal/printing.js'

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
  return { id, email, username, ...builtIn, provider, ...ways, groups, created_at: createdAt, disabled }
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

export const readListing = (values: ListValues) => {
  const limit = limitFrom(values.limit, maxAtOnce)
  const after = values.after?.toLowerCase()
  if (after !== undefined && !isUuid(after)) throw new UsageFault('--after takes the id of a user.')
  const filter = {
    disabled: values.disabled ?? false,
    noSecondFactor: values['no-second-factor'] ?? false,
    ...unusedFrom(values['unused-since']),
    ...(values.group !== undefined && { group: groupNameFrom(values.group) }),
  }
  return { limit, after, filter }
}

export const listUsers = async (rooms: CommandRooms, { limit, after, filter }: ReturnType<typeof readListing>) => {
  const foundUsers = await rooms.bulkUsers.page(after, limit + 1, filter)
  if (foundUsers.length === 0 && filter.group !== undefined) await requireGroups(rooms, [filter.group])
  const users = foundUsers.slice(0, limit)
  const none = Object.values(filter).some(Boolean) ? 'No user matches.' : 'There are no users.'
  const more = `There are more users: continue with --after ${users.at(-1)?.id}`
  return {
    ...listOf(users, { asJson, asTable: userTable, none }),
    notes: foundUsers.length > limit ? [more] : [],
  }
}

export const userList = command({
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
  --after ID            continue after this user; if there are more users, the last line says with which id`,
  json: 'one JSON object on each line: {"id", "email", "username", "provider", "has_password", "groups", "created_at", "disabled", …}',
  options: listOptions,
  read: ({ values }) => readListing(values),
  run: listUsers,
})

export const userSearch = command({
  summary: 'Find users by a part of their name or email',
  help: `latchkey user search TEXT [--limit N] [--json]

Finds users whose username, email or name contains TEXT, in any case. An exact match comes first.

  --limit N     how many, 1 to ${maxAtOnce} (default 50)
  --json        one JSON object on each line, for programs

The exit code is 1 if no user matches.`,
  json: { inHelp: 'one JSON object on each line, as of user list' },
  args: ['TEXT'],
  options: { limit: { type: 'string', default: '50' } },
  read: ({ args, values }) => {
    const limit = limitFrom(values.limit, maxAtOnce)
    const text = args[0].trim()
    if (text === '') throw new UsageFault('TEXT is empty.')
    return { limit, text }
  },
  run: async ({ bulkUsers }, { limit, text }) => {
    const foundUsers = await bulkUsers.search(text, limit + 1)
    const users = foundUsers.slice(0, limit)
    return {
      lines: users.map(asJson),
      text: users.length > 0 ? userTable(users) : undefined,
      notes: [
        ...(users.length === 0 ? ['No user matches.'] : []),
        ...(foundUsers.length > limit ? ['There are more: use --limit, or more of the name.'] : []),
      ],
      code: users.length > 0 ? 0 : 1,
    }
  },
})
