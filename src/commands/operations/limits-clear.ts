import { isLimiterName, limiterKey, limitersOf, userSubject } from '../../http/limiters.js'
import { networkOf } from '../../http/request-origin.js'
import { hours, minutes } from '../../lib/durations.js'
import { customerNetworkOf } from '../../lib/networks.js'
import { countText } from '../../lib/text.js'
import type { EventQuery } from '../../messages/events.js'
import type { Counter } from '../../platform/cache/cache.js'
import {
  CommandFailure,
  type CommandRooms,
  command,
  type Operator,
  requireUser,
  throwIfDeleted,
  UsageFault,
} from '../command.js'
import { quoteCommandWith } from '../terminal/printing.js'

const keysOfNetwork = (network: string) => [
  ...limitersOf('network').map((name) => limiterKey(name, network)),
  ...limitersOf('connection').map((name) => limiterKey(name, customerNetworkOf(network.replace(/\/64$/, '')))),
]

/** Splits a key such as `login:192.0.2.1` into the limit and the subject that it counts. */
const readLimitKey = (key: string) => {
  const at = key.indexOf(':')
  return { limit: key.slice(0, at), subject: key.slice(at + 1) }
}

/** Another service may share the Redis with a longer prefix. Its keys do not begin with the name of one of our limits. */
const isLimitKey = (key: string) => isLimiterName(readLimitKey(key).limit)

/** The networks of these addresses, each once. */
const networksOf = (addresses: readonly string[]) => [
  ...new Set(addresses.map(networkOf).filter((network) => network !== undefined)),
]

type ClearedLimit = { limit: string; subject: string; used?: number }
type Outcome = { cleared: ClearedLimit[]; summary: string; hints: string[] }

const describeCounter = ({ key, used }: Counter): ClearedLimit => ({ ...readLimitKey(key), used })

/** A counter is 0 if all its attempts were given back. */
const isUsed = ({ used }: Counter) => used > 0

/** One line for all counters of the user's names. It has the username, because the keys have only a MAC of each name. */
const clearedNames = (counters: readonly Counter[], { username }: { username: string }): ClearedLimit[] => {
  const used = counters.reduce((sum, counter) => sum + counter.used, 0)
  return used > 0 ? [{ limit: 'account', subject: username, used }] : []
}

/** One line for each limit, for all known browsers of the user. A single browser is only a random number to the operator. */
const clearedDevices = (counters: readonly Counter[], { username }: { username: string }): ClearedLimit[] => {
  const used = new Map<string, number>()
  for (const counter of counters) {
    const { limit } = readLimitKey(counter.key)
    used.set(limit, (used.get(limit) ?? 0) + counter.used)
  }
  return [...used].map(([limit, sum]) => ({ limit, subject: `known browsers of ${username}`, used: sum }))
}

const withCounters = async <Result>(
  { limits }: CommandRooms,
  work: (counters: Awaited<ReturnType<CommandRooms['limits']['openCounters']>>) => Promise<Result>,
) => {
  const counters = await limits.openCounters()
  try {
    return await work(counters)
  } finally {
    await counters.close()
  }
}

const clearedText = (cleared: readonly ClearedLimit[]) => {
  const parts = cleared.map(
    ({ limit, subject, used }) => `${limit} of ${subject}${used === undefined ? '' : ` (${used} counted)`}`,
  )
  return `Cleared these limits: ${parts.join(', ')}.`
}

const clearNetwork = async (rooms: CommandRooms, network: string): Promise<Outcome> => {
  const removed = await withCounters(rooms, (counters) => counters.remove(keysOfNetwork(network)))
  const cleared = removed.filter(isUsed).map(describeCounter)
  return {
    cleared,
    summary: cleared.length > 0 ? clearedText(cleared) : `Nothing was counted for ${network}.`,
    hints: [],
  }
}

/**
 * The networks of the user that a limit refused in the last hour. Such a refusal names no user. The networks are only named and not
 * cleared, because other users share their limits.
 */
const refusedNetworks = async (rooms: CommandRooms, user: { id: string; username: string }) => {
  const now = rooms.clock.now().getTime()
  const query: EventQuery = {
    since: new Date(now - 1 * hours),
    until: new Date(now + 1 * minutes),
    kinds: ['rate_limited'],
    limit: 100,
  }
  const events = await rooms.events.about({ userId: user.id, name: user.username }, query)
  return networksOf(events.filter(({ userId }) => userId === null).map(({ ip }) => ip))
}

const clearUser = async (rooms: CommandRooms, userName: string, client: Operator): Promise<Outcome> => {
  const user = await requireUser(rooms, userName)
  const userCounters = throwIfDeleted(await rooms.clearLimits({ userId: user.id, client }), user.username)
  const cleared = [
    ...(userCounters.hadWrongCodes ? [{ limit: 'codes', subject: userSubject(user.id) }] : []),
    ...clearedNames(userCounters.names, user),
    ...clearedDevices(userCounters.devices, user),
    ...userCounters.accountAndSessions.map(describeCounter),
  ]
  const networks = await refusedNetworks(rooms, user)
  return {
    cleared,
    summary: cleared.length > 0 ? clearedText(cleared) : `Nothing was counted for ${user.username}.`,
    hints: networks.map(
      (network) =>
        `A limit refused ${network} in the last hour: ${quoteCommandWith('limits clear', '--network', network)}`,
    ),
  }
}

const clearAll = async (rooms: CommandRooms): Promise<Outcome> => {
  const accounts = await rooms.factors.forgetAllWrongCodes()
  const removed = await withCounters(rooms, async (counters) =>
    counters.remove((await counters.keys()).filter(isLimitKey)),
  )
  const byLimit = new Map([['codes', accounts]])
  for (const { key } of removed.filter(isUsed)) {
    const { limit } = readLimitKey(key)
    byLimit.set(limit, (byLimit.get(limit) ?? 0) + 1)
  }
  const cleared = [...byLimit].flatMap(([limit, used]) => (used > 0 ? [{ limit, subject: 'all', used }] : []))
  const parts = cleared.map(({ limit, used }) => `${countText(used, 'counter')} of ${limit}`)
  return {
    cleared,
    summary: parts.length > 0 ? `Cleared ${parts.join(', ')}.` : 'Nothing was counted.',
    hints: [],
  }
}

/** Records what was cleared for a network or for all. For a user, `clearLimits` records it. */
const recordClearing = async ({ cleared }: Outcome, what: string, rooms: CommandRooms, client: Operator) => {
  if (cleared.length === 0) return
  const reason = `${what}: ${[...new Set(cleared.map(({ limit }) => limit))].join(' ')}`
  await rooms.events.record({ kind: 'limits_cleared', reason }, client)
}

const outputOf = ({ cleared, summary, hints }: Outcome) => ({ json: { cleared }, text: summary, notes: hints })

export const limitsClear = command({
  summary: 'Clear limits, so that a refused user or network can try again now',
  help: `latchkey limits clear --user USER | --network ADDRESS | --all [--yes] [--json]

Forgets what limits have counted, and says what that was. Limits end by themselves: after 15 minutes for failed sign-ins, after
an hour for reset mails, after 1 to 24 hours for wrong codes of an account.

  --user USER          a username, an email or an id: wrong passwords under the user's names and in browsers that the user has
                       signed in with, wrong codes of two-step sign-in, mailed codes, requests of the user's sessions. Failed
                       sign-ins also count by network. These counters stay: the command only names the user's networks that
                       a limit has refused
  --network ADDRESS    an IPv4 address, or an IPv6 address, which stands for its /64: failed sign-ins, reset mails, requests
  --all                everything. An attacker who is guessing passwords can go on at once
  --yes                needed with --all`,
  json: '{"cleared": [{"limit": …, "subject": …, "used": …}]}',
  options: {
    user: { type: 'string' },
    network: { type: 'string' },
    all: { type: 'boolean' },
    yes: { type: 'boolean' },
  },
  read: ({ values: { user, network: typedNetwork, all, yes } }) => {
    if ([user, typedNetwork, all].filter((each) => each !== undefined).length !== 1)
      throw new UsageFault('One of --user, --network and --all is needed.')
    if (user?.trim() === '') throw new UsageFault('--user is empty.')
    const network = typedNetwork === undefined ? undefined : networkOf(typedNetwork)
    if (typedNetwork !== undefined && network === undefined)
      throw new UsageFault('--network takes an IPv4 or IPv6 address.')
    if (all && !yes)
      throw new CommandFailure('This forgets all failed attempts, also those of attackers. Add --yes to do it.')
    return { user, network }
  },
  run: async (rooms, { user, network, operator }) => {
    if (user !== undefined) return outputOf(await clearUser(rooms, user, operator))
    const outcome = network === undefined ? await clearAll(rooms) : await clearNetwork(rooms, network)
    await recordClearing(outcome, network === undefined ? 'all' : `network ${network}`, rooms, operator)
    return outputOf(outcome)
  },
})
