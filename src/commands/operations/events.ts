import { setTimeout as wait } from 'node:timers/promises'
import { eventKinds } from '../../contract/events.js'
import { commandLineIp, configurationFileIp } from '../../http/request-origin.js'
import { parseDate } from '../../lib/clock.js'
import { days, seconds } from '../../lib/durations.js'
import { type EventQuery, readEventOrigin, type StoredEvent } from '../../messages/events.js'
import { StoreUnavailable } from '../../platform/database/database.js'
import { duration, InvalidValue } from '../../settings/setting-values.js'
import { type CommandContext, type CommandRooms, command, findUser, limitFrom, print, UsageFault } from '../command.js'
import { asTable, listOf, printableJson, printableText } from '../terminal/printing.js'
import { exitCodes, watchForInterruption } from '../terminal/progress.js'

const eventHeading = ['TIME', 'KIND', 'REASON', 'USER', 'ADDRESS', 'REQUEST']

export const eventAsObject = (event: StoredEvent) => ({
  time: event.createdAt.toISOString(),
  kind: event.kind,
  reason: event.reason,
  userId: event.userId,
  username: event.username,
  /** A keyed hash of the typed name, if the event names no user. The name itself is not stored, because it could be a password. */
  nameMark: event.nameMark,
  sessionId: event.sessionId,
  requestId: event.requestId,
  ip: event.ip,
  userAgent: event.userAgent,
  actorId: event.actorId,
  actor: event.actor,
  actorKey: event.actorKey,
  actorReason: event.actorReason,
})

/**
 * The origin of an event, with who caused it: an administrator, a service key, or for a command (which has no IP address) the operator's
 * system account.
 */
const originOf = ({ ip, userAgent, actor, actorKey }: StoredEvent) => {
  const key = actorKey === null ? null : `service key ${actorKey}`
  const who = ip === commandLineIp || ip === configurationFileIp ? userAgent : (actor ?? key)
  return who === null ? ip : `${ip} (${who})`
}

const cellsOf = (event: StoredEvent) => [
  event.createdAt.toISOString(),
  event.kind,
  event.reason ?? '',
  event.username ?? (event.nameMark === null ? '' : `unknown (${event.nameMark})`),
  originOf(event),
  event.requestId ?? '',
]

export const eventsAsTable = (events: readonly StoredEvent[]) => asTable([eventHeading, ...events.map(cellsOf)])

/** With --follow the lines come one after another, so the widths are fixed. They are enough for almost all cells. */
const widths = [24, 20, 16, 16, 15, 0]

const padCells = (cells: readonly string[]) =>
  cells
    .map((cell, column) => printableText(cell).padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()

const followedHeading = padCells(eventHeading)
const followedLine = (event: StoredEvent) => padCells(cellsOf(event))

const pollInterval = 1 * seconds
/** An event may become visible some time after `createdAt`: it was committed late, or by a machine whose clock is behind. */
const overlap = 30 * seconds
/** Events of other machines may lie in the future, because their clocks may be ahead. */
const clockTolerance = 1 * days

type Span = Pick<EventQuery, 'since' | 'until' | 'limit'>
type FollowedEvents = {
  /** If undefined, only new events are shown. */
  since: Date | undefined
  /** Gives the newest event first. */
  find(span: Span): Promise<readonly StoredEvent[]>
  show(event: StoredEvent): Promise<void>
}

/** Reads on from the time of the newest event, and not from the clock of this machine. */
const createReader = ({ since, find, show }: FollowedEvents) => {
  const shownTimes = new Map<string, number>()
  // Each read begins `overlap` before the newest event, so the first one begins at `since`.
  let newest = since === undefined ? undefined : since.getTime() + overlap

  const read = (from: number) =>
    find({ since: new Date(from), until: new Date(Date.now() + clockTolerance), limit: maxAtOnce })
  const markShown = ({ id, createdAt }: StoredEvent) => {
    newest = Math.max(newest ?? 0, createdAt.getTime())
    shownTimes.set(id, createdAt.getTime())
  }

  /** False if there were more events than one read gives, so that older ones are left out. */
  return async () => {
    if (newest === undefined) {
      for (const event of await read(Date.now() - clockTolerance)) markShown(event)
      newest ??= Date.now() - clockTolerance
    }
    const foundEvents = await read(newest - overlap)
    const oldest = foundEvents.at(-1)
    const isComplete = foundEvents.length < maxAtOnce || (oldest !== undefined && shownTimes.has(oldest.id))
    for (const event of foundEvents.toReversed()) {
      if (shownTimes.has(event.id)) continue
      await show(event)
      markShown(event)
    }
    for (const [id, time] of shownTimes) if (time < newest - 2 * overlap) shownTimes.delete(id)
    return isComplete
  }
}

/** Shows new events until Ctrl-C or until the output is closed. Waits for a database that cannot be reached. */
const followEvents = async ({ stderr }: CommandContext, events: FollowedEvents) => {
  const stop = new AbortController()
  const interruption = watchForInterruption(() => stop.abort())
  const read = createReader(events)
  let isUnreachable = false

  const readOnce = async () => {
    if (!(await read())) await print(stderr, 'Older events are not shown: use --until, without --follow.')
    isUnreachable = false
  }
  const report = async (error: unknown) => {
    if (!(error instanceof StoreUnavailable)) throw error
    if (!isUnreachable) await print(stderr, 'The database cannot be reached. Waiting for it; no event is lost.')
    isUnreachable = true
  }

  try {
    while (!stop.signal.aborted) {
      await readOnce().catch(report)
      await wait(pollInterval, undefined, { signal: stop.signal }).catch(() => undefined)
    }
    return exitCodes[interruption.signal() ?? 'SIGINT']
  } finally {
    interruption.stopWatching()
  }
}

const maxAtOnce = 10_000

/** A time such as 2026-11-15T10:00Z, or how long ago: 15m, 2h, 7d. */
export const momentFrom = (option: string, text: string, now: Date) => {
  const moment = parseDate(text) ?? new Date(now.getTime() - spanFrom(text))
  if (!Number.isNaN(moment.getTime())) return moment
  throw new UsageFault(`${option} takes a time such as 2026-11-15T10:00Z, or how long ago: 15m, 2h, 7d.`)
}

const spanFrom = (text: string) => {
  try {
    return duration(text)
  } catch (error) {
    if (error instanceof InvalidValue) return Number.NaN
    throw error
  }
}

const originFrom = (text: string | undefined): Pick<EventQuery, 'ip' | 'network'> => {
  const origin = text === undefined ? {} : readEventOrigin(text)
  if (origin) return origin
  throw new UsageFault('--ip takes an IPv4 or IPv6 address, a network such as 192.0.2.0/24, or “command line”.')
}

/** The beginning of the id is enough, because a page shows only that: `Reference: 5f0c3a52`. */
const requestFrom = (text: string | undefined): Pick<EventQuery, 'request'> => {
  if (text === undefined) return {}
  if (/^[\da-f]{8}[\da-f-]*$/i.test(text)) return { request: text.toLowerCase() }
  throw new UsageFault('--request takes a requestId of the log, or its first eight characters, which a page shows.')
}

const kindsFrom = (text: string | undefined): Pick<EventQuery, 'kinds'> => {
  if (text === undefined) return {}
  const names = text.split(',').map((name) => name.trim())
  const kinds = eventKinds.filter((kind) => names.includes(kind))
  if (names.some((name) => !kinds.some((kind) => kind === name)))
    throw new UsageFault(`--kind takes one or more, with commas between them, of ${eventKinds.join(', ')}.`)
  return { kinds }
}

/** Puts words into lines of a help text, as many into each line as fit. */
const wrapWords = (words: readonly string[], indent: string, width = 118) =>
  words.reduce((text, word, index) => {
    const next = `${word}${index < words.length - 1 ? ', ' : ''}`
    const line = text.slice(text.lastIndexOf('\n') + 1)
    return `${indent}${line}`.length + next.length > width ? `${text.trimEnd()}\n${indent}${next}` : text + next
  }, '')

const searchFor = async (rooms: CommandRooms, userName: string | undefined) => {
  if (userName === undefined) return { find: rooms.events.between, note: undefined }
  const user = await findUser(rooms, userName)
  const note = user ? undefined : `There is no user ${JSON.stringify(userName)}: these are attempts under that name.`
  const find = (query: EventQuery) => rooms.events.about({ name: userName, ...(user && { userId: user.id }) }, query)
  return { find, note }
}

type FindEvents = Awaited<ReturnType<typeof searchFor>>['find']
type FollowedListing = { query: EventQuery; find: FindEvents; json: boolean }

const listEvents = async (query: EventQuery, find: FindEvents) => {
  const foundEvents = await find({ ...query, limit: query.limit + 1 })
  const shownEvents = foundEvents.slice(0, query.limit).reverse()
  const more = 'Older events are not shown: use --limit, or an earlier --until.'
  return {
    ...listOf(shownEvents, { asJson: eventAsObject, asTable: eventsAsTable, none: 'There are no such events.' }),
    notes: foundEvents.length > query.limit ? [more] : [],
  }
}

const follow = async ({ query, find, json }: FollowedListing, since: Date | undefined, context: CommandContext) => {
  if (!json) await print(context.stdout, followedHeading)
  return followEvents(context, {
    since,
    find: (span) => find({ ...query, ...span }),
    show: (event: StoredEvent) =>
      print(context.stdout, json ? printableJson(eventAsObject(event)) : followedLine(event)),
  })
}

export const events = command({
  summary: 'Show what happened: sign-ins, refusals and why, changes by operators',
  help: `latchkey events [--user USER] [--kind KINDS] [--ip ADDRESS] [--request ID] [--since TIME] [--until TIME] [--limit N] [--json]
latchkey events --follow [--user USER] [--kind KINDS] [--ip ADDRESS] [--since TIME] [--json]

Shows events of the last 90 days, oldest first. REASON of a sign_in_failed says why a user could not sign in:
wrong_password, unknown_user, disabled, …; rate_limited means that a limit refused the user's address. REQUEST is the
requestId of the log lines of the same request.

  --user USER     a username, an email or an id, or a name that has no account. Also shows when a limit refused an
                  address that this user has signed in from: such a refusal names no user
  --kind KINDS    one or more, with commas between them, of
                  ${wrapWords(eventKinds, '                  ')}
  --ip ADDRESS    only from this address or this network (192.0.2.0/24, 2001:db8:1:2::/64); “command line” for what
                  operators did
  --request ID    only of this request: its requestId, or the first eight characters, which a page shows as the reference.
                  A request that failed before it changed anything has no event: look for its requestId in the log
  --since TIME    2026-11-15T10:00Z, or how long ago: 15m, 2h, 7d (default 24h; with --follow, now)
  --until TIME    the same forms (default now)
  --limit N       only the newest N, 1 to ${maxAtOnce} (default 100)
  --follow        go on with new events as they come, until Ctrl-C; waits for a database that is restarted`,
  json: 'one JSON object on each line: {"time", "kind", "reason", "userId", "username", "ip", "userAgent", "actorId", …, "details"}',
  options: {
    user: { type: 'string' },
    kind: { type: 'string' },
    ip: { type: 'string' },
    request: { type: 'string' },
    since: { type: 'string' },
    until: { type: 'string' },
    limit: { type: 'string' },
    follow: { type: 'boolean' },
  },
  read: ({ values }) => {
    if (values.follow && (values.until ?? values.limit) !== undefined)
      throw new UsageFault('--follow has no end: leave out --until and --limit.')
    if (values.user?.trim() === '') throw new UsageFault('--user is empty.')
    const now = new Date()
    const filters = { ...kindsFrom(values.kind), ...originFrom(values.ip), ...requestFrom(values.request) }
    const since = momentFrom('--since', values.since ?? (values.follow ? '0s' : '24h'), now)
    // One millisecond later, so that events of the named millisecond are included.
    const until = new Date(momentFrom('--until', values.until ?? '0s', now).getTime() + 1)
    const limit = limitFrom(values.limit ?? '100', maxAtOnce)
    if (since >= until) throw new UsageFault('--since is later than --until.')
    return { query: { since, until, limit, ...filters } }
  },
  run: async (rooms, { values, query, context }) => {
    const { find, note } = await searchFor(rooms, values.user)
    if (note) await print(context.stderr, note)
    if (!values.follow) return listEvents(query, find)
    const since = values.since === undefined ? undefined : query.since
    return follow({ query, find, json: values.json ?? false }, since, context)
  },
})
