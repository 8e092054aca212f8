import type { EventDetails } from '../contract/configuration.js'
import { type AccountEventKind, accountEventKinds, type EventKind } from '../contract/events.js'
import type { SignInLabel } from '../contract/factors.js'
import type { ProviderId } from '../contract/providers.js'
import { type Client, commandLineIp, configurationFileIp, readAddress, readRange } from '../http/request-origin.js'
import { type Clock, later } from '../lib/clock.js'
import { days } from '../lib/durations.js'
import { uuidFloor, uuidv7 } from '../lib/uuid.js'
import type { Database, Sql, Transaction } from '../platform/database/database.js'
import type { Administrators } from '../sessions/administrators.js'
import type { NameMarks } from '../users/usernames.js'
import * as store from './events.store.js'

type BaseEvent = {
  kind: EventKind
  userId?: string
  sessionId?: string
  provider?: ProviderId
  reason?: string
  /** How the user signed in, if a session began with this event. */
  sessionBeganBy?: SignInLabel
  triedBy?: SignInLabel
  /** What was changed, before and after: of applications and settings. It never has a secret, and is in no log. */
  details?: EventDetails
}

/** A sign-in that failed says how it was tried, so that a new way is not counted as a password by mistake. */
export type Event = BaseEvent &
  ({ kind: Exclude<EventKind, 'sign_in_failed'> } | { kind: 'sign_in_failed'; triedBy: SignInLabel })

/** An event in the log. It has what the row has, and nothing that a user has typed. */
type RecordedEvent = Pick<BaseEvent, 'kind' | 'userId' | 'sessionId' | 'reason'> & {
  username?: string
  nameMark?: string
  requestId?: string
  /** The administrator who caused the event. The reason that they gave is for administrators only, and is in no log. */
  actorId?: string
  /** The name of the service key of the program that caused the event. A user agent would not do, because a browser chooses its own. */
  actorKey?: string
  ip: string
  userAgent: string
  /** When the event happened, if the log line comes later. */
  at?: string
}
type EventListener = (recorded: RecordedEvent, event: BaseEvent) => void

/**
 * The reason as people read it, in the row and in the log. The provider comes first, as in `provider_a timeout`. What a configuration file
 * has changed ends with the file.
 */
const reasonOf = ({ provider, reason }: Event, file: Client['file']) => {
  const from = file && `(${file.name}, sha256 ${file.checksum})`
  return [provider, reason, from].filter((part) => part !== undefined).join(' ') || null
}

const eventFrom = ({ kind, user_id, reason }: store.EventRow): BaseEvent => ({
  kind: kind as EventKind,
  ...(user_id !== null && { userId: user_id }),
  ...(reason !== null && { reason }),
})

/** For events whose log line comes later than the event, so `at` says when it happened. */
const recordedEventFrom = (row: store.EventRow): RecordedEvent => ({
  ...eventFrom(row),
  ...(row.username !== null && { username: row.username }),
  ip: row.ip,
  userAgent: row.user_agent,
  at: row.created_at.toISOString(),
})

/** An event of the table. Its kind may be one that only a newer release knows. */
export type StoredEvent = {
  id: string
  kind: string
  userId: string | null
  username: string | null
  nameMark: string | null
  sessionId: string | null
  reason: string | null
  requestId: string | null
  ip: string
  userAgent: string
  createdAt: Date
  /** The administrator who caused the event, with the name that they had then and the reason that they gave. */
  actorId: string | null
  actor: string | null
  /** The name of the service key of the program that caused the event. */
  actorKey: string | null
  actorReason: string | null
  details: EventDetails | null
}

const fromRow = (row: store.EventRow): StoredEvent => ({
  id: row.id,
  kind: row.kind,
  userId: row.user_id,
  username: row.username,
  nameMark: row.name_mark,
  sessionId: row.session_id,
  reason: row.reason,
  requestId: row.request_id,
  ip: row.ip,
  userAgent: row.user_agent,
  createdAt: row.created_at,
  actorId: row.actor_id,
  actor: row.actor_name,
  actorKey: row.actor_key,
  actorReason: row.actor_reason,
  details: row.details,
})

/** Users see that an administrator or a program has acted, but not from where. */
const asSeenByUser = (event: StoredEvent): StoredEvent =>
  event.actorId === null && event.actorKey === null ? event : { ...event, ip: commandLineIp, userAgent: '' }

const isAccountEvent = (event: StoredEvent): event is StoredEvent & { kind: AccountEventKind } =>
  accountEventKinds.some((kind) => kind === event.kind)

export type EventQuery = {
  since: Date
  until: Date
  kinds?: readonly EventKind[]
  ip?: string
  /** In the notation of CIDR. */
  network?: string
  /** The beginning of the id of a request. */
  request?: string
  /** Only events with a smaller id, for the page after one that ended with this id. */
  beforeId?: string
  limit: number
}

const retention = 90 * days

export type Events = ReturnType<typeof createEvents>

type Options = {
  database: Database
  clock: Clock
  nameMarks: NameMarks
  listeners: readonly EventListener[]
  /** True for commands, whose log is not collected: a running service finds the event and tells its own listeners. */
  leavesEventsToService?: boolean
  administrators: Pick<Administrators, 'checkActor'>
  onLost: (error: unknown) => void
}

/** Prepares the row of an event, and a function that tells the listeners once the row is written. */
const prepareEvent = (event: Event, client: Client, options: Options) => {
  const { ip, userAgent, requestId, typedName, actor, file } = client
  const { clock, nameMarks, listeners, leavesEventsToService = false } = options
  const now = clock.now()
  const { kind, userId = null, sessionId = null } = event
  const reason = reasonOf(event, file)
  // The mark is computed in every case, so that the time does not show whether there is an account.
  const mark = typedName === undefined ? undefined : nameMarks.of(typedName)
  const nameMark = userId === null ? mark : undefined
  const row = {
    id: uuidv7(now),
    kind,
    userId,
    sessionId,
    reason,
    ip,
    userAgent,
    now,
    requestId: requestId ?? null,
    nameMark: nameMark ?? null,
    logPending: leavesEventsToService,
    actorId: actor?.userId ?? null,
    actorKey: actor?.serviceKey ?? null,
    actorReason: actor?.reason ?? null,
    details: event.details ?? null,
  }
  const notifyListeners = (insertedRow: { username: string | null } | undefined) => {
    const username = insertedRow?.username ?? undefined
    const recorded = {
      kind,
      ...(userId !== null && { userId }),
      ...(sessionId !== null && { sessionId }),
      ...(reason !== null && { reason }),
      ...(username !== undefined && { username }),
      ...(nameMark !== undefined && { nameMark }),
      ...(requestId !== undefined && { requestId }),
      ...(actor?.userId !== undefined && { actorId: actor.userId }),
      ...(actor?.serviceKey !== undefined && { actorKey: actor.serviceKey }),
      ip,
      userAgent,
    }
    for (const listener of listeners) listener(recorded, event)
  }
  return { row, notifyListeners }
}

/**
 * Rolls the transaction back if its administrator or program may not make the change. A transaction of an administrator begins with this
 * call: a change that changes nothing has no event and is checked too, and administrators wait for each other before they hold other rows.
 */
const checkActorOf = async ({ administrators }: Options, sql: Transaction, { actor }: Client, aboutUserId?: string) => {
  if (actor) await administrators.checkActor(sql, actor, aboutUserId)
}

/** The events of an account that its user may see. `kinds` is null for all of them. */
const eventsAsSeenBy = async (database: Database, userId: string, kinds: readonly EventKind[] | null, limit: number) =>
  (await store.selectRecentOfUser(database, userId, kinds, limit)).map(fromRow).map(asSeenByUser)

/** Drops months in which all events are too old. Of the oldest month that is left, deletes the old events row by row. */
const purgeOld = async (sql: Sql, now: Date, limit: number) => {
  const oldestKeptId = uuidFloor(later(now, -retention))
  const [months] = await store.dropMonthsBefore(sql, oldestKeptId)
  // Dropping a month locks the whole table, so single rows are left to the next round, which follows soon.
  if (months && months.dropped > 0) return limit
  return (await store.purgeBefore(sql, oldestKeptId, limit)).length
}

export const createEvents = (options: Options) => {
  const { database, clock, nameMarks, listeners, onLost } = options

  const spanOf = ({ since, until, kinds, ip, network, request, beforeId, limit }: EventQuery): store.Span => ({
    from: uuidFloor(since),
    before: beforeId ?? uuidFloor(until),
    kinds: kinds ?? null,
    ip: ip ?? null,
    network: network ?? null,
    request: request ?? null,
    limit,
  })

  const checkActor = (sql: Transaction, client: Client, aboutUserId?: string) =>
    checkActorOf(options, sql, client, aboutUserId)
  const prepare = (event: Event, client: Client) => prepareEvent(event, client, options)

  return {
    /** Writes one row and one log line. If the row cannot be written, what the event is about stays done. */
    record: async (event: Event, client: Client) => {
      if (client.actor) throw new Error('What an administrator does is recorded in its transaction')
      const { row, notifyListeners } = prepare(event, client)
      const [insertedRow] = await store.insertEvent(database, row).catch((error: unknown) => {
        onLost(error)
        return []
      })
      notifyListeners(insertedRow)
    },
    checkActor,
    /**
     * Writes the row in the transaction of the change that it is about, so that both are written or neither: nobody waits for it, but the
     * commit does. The log line follows the commit. The change is rolled back if the user who makes it is no administrator any more.
     */
    recordInside: async (sql: Transaction, event: Event, client: Client) => {
      if (client.actor) await checkActor(sql, client, event.userId)
      const { row, notifyListeners } = prepare(event, client)
      const inserted = store.insertEvent(sql, row)
      sql.unawaited(inserted.then(([insertedRow]) => sql.afterCommit(() => notifyListeners(insertedRow))))
      return row.id
    },
    find: async (id: string) => (await store.selectById(database, id)).map(fromRow)[0],
    /**
     * Writes that an administrator, whom the guard of the route has checked, has read something. Nothing was changed, so there is no
     * transaction to roll back.
     */
    recordReading: async (event: Event, client: Client) => {
      const { row, notifyListeners } = prepare(event, client)
      const [insertedRow] = await store.insertEvent(database, row)
      notifyListeners(insertedRow)
    },
    /** Tells the listeners what commands have done since the last time. Returns how many events there were. */
    tellOfCommands: async (sql: Sql, limit: number) => {
      const rows = await store.takeUnlogged(sql, limit)
      for (const row of rows) for (const listener of listeners) listener(recordedEventFrom(row), eventFrom(row))
      return rows.length
    },
    recent: async (userId: string, kinds: readonly AccountEventKind[] = accountEventKinds) =>
      (await eventsAsSeenBy(database, userId, kinds, 50)).filter(isAccountEvent),
    /** All events of a user, as the user may see them. */
    allOf: (userId: string, limit: number) => eventsAsSeenBy(database, userId, null, limit),
    /** Whether a browser with this address and user agent has signed in since then. */
    hasSignedIn: async (sql: Sql, userId: string, client: Client, since: Date) =>
      (await store.selectSignIn(sql, userId, uuidFloor(since), client)).length > 0,
    /** Forgets names that no longer belong to any account. */
    forgetNames: async (sql: Sql, names: readonly string[]) => {
      await store.forgetNames(sql, names.flatMap(nameMarks.all))
    },
    /** Newest first, as in `about`. */
    between: async (query: EventQuery) => (await store.selectSpan(database, spanOf(query))).map(fromRow),
    /** The events about a user, about a name without an account, or about both. */
    about: async ({ userId, name }: { userId?: string; name: string }, query: EventQuery) => {
      const who = { userId: userId ?? null, nameMarks: nameMarks.all(name) }
      return (await store.selectAbout(database, spanOf(query), who)).map(fromRow)
    },
    /** Makes the partitions of this month and the next one, before they have events. */
    makeMonths: async (sql: Sql) => (await store.makeMonths(sql))[0]?.made ?? 0,
    purge: (sql: Sql, limit: number) => purgeOld(sql, clock.now(), limit),
  }
}

/** Events without an IP address have one of these texts instead. */
const namedOrigins = [commandLineIp, configurationFileIp, 'unknown']

/** Reads an IP address, a network such as 192.0.2.0/24, or one of the texts above; undefined for any other text. */
export const readEventOrigin = (text: string): Pick<EventQuery, 'ip' | 'network'> | undefined => {
  if (namedOrigins.includes(text)) return { ip: text }
  const [ip, network] = text.includes('/') ? [undefined, readRange(text)] : [readAddress(text), undefined]
  if (ip !== undefined) return { ip }
  return network === undefined ? undefined : { network }
}
