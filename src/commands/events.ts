import { duration, InvalidValue } from '../config/setting-values.js'
import { type EventKind, type EventQuery, type EventRow, eventKinds } from '../domain/events/events.js'
import { escapeTerminalControls } from '../lib/terminal-controls.js'
import { writtenMoment } from '../lib/written-moment.js'
import { type Command, limitFrom, print, readArguments, type Stores, UsageFault, withStores } from './command.js'
import { findUser } from './find-user.js'
import { asTable } from './table.js'

const mostAtOnce = 10_000

/** A time such as 2026-11-15T10:00Z, or how long ago: 15m, 2h, 7d. */
const momentFrom = (option: string, text: string, now: Date) => {
  const moment = writtenMoment(text)
  if (moment) return moment
  try {
    return new Date(now.getTime() - duration(text))
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error
    throw new UsageFault(`${option} takes a time such as 2026-11-15T10:00Z, or how long ago: 15m, 2h, 7d.`)
  }
}

const kindFrom = (text: string | undefined): EventKind | undefined => {
  const kind = eventKinds.find((each) => each === text)
  if (text !== undefined && kind === undefined) throw new UsageFault(`--kind takes one of ${eventKinds.join(', ')}.`)
  return kind
}

const asJson = (row: EventRow) => {
  const event = {
    time: row.created_at.toISOString(),
    kind: row.kind,
    reason: row.reason,
    userId: row.user_id,
    username: row.username,
    nameMark: row.name_mark,
    sessionId: row.session_id,
    requestId: row.request_id,
    ip: row.ip,
    userAgent: row.user_agent,
  }
  return escapeTerminalControls(JSON.stringify(event))
}

const asLines = (rows: readonly EventRow[]) =>
  asTable([
    ['TIME', 'KIND', 'REASON', 'USER', 'ADDRESS', 'REQUEST'],
    ...rows.map((row) => [
      row.created_at.toISOString(),
      row.kind,
      row.reason ?? '',
      row.username ?? (row.name_mark === null ? '' : `unknown (${row.name_mark})`),
      row.ip,
      row.request_id ?? '',
    ]),
  ])

const find = async (stores: Stores, named: string | undefined, query: EventQuery) => {
  if (named === undefined) return { rows: await stores.events.between(query), note: undefined }
  const user = await findUser(stores, named)
  const rows = await stores.events.about({ name: named, ...(user && { userId: user.id }) }, query)
  const note = user ? undefined : `There is no user ${JSON.stringify(named)}: these are attempts under that name.`
  return { rows, note }
}

export const events: Command = {
  summary: 'Show what happened: sign-ins, refusals and why, changes by operators',
  help: `latchkey events [--user USER] [--kind KIND] [--since TIME] [--until TIME] [--limit N] [--json]

Shows events of the last 90 days, oldest first. REASON of a sign_in_failed says why a user could not sign in:
wrong_password, unknown_user, disabled, …; rate_limited means that a limit refused the user's address. REQUEST is the
requestId of the log lines of the same request.

  --user USER     a username, an email or an id, or a name that has no account. Also shows when a limit refused an
                  address that this user has signed in from: a limit does not know the user
  --kind KIND     one of ${eventKinds.slice(0, 7).join(', ')},
                  ${eventKinds.slice(7, 14).join(', ')},
                  ${eventKinds.slice(14).join(', ')}
  --since TIME    2026-11-15T10:00Z, or how long ago: 15m, 2h, 7d (default 24h)
  --until TIME    the same forms (default now)
  --limit N       only the newest N, 1 to ${mostAtOnce} (default 100)
  --json          one JSON object on each line, for programs`,

  run: async (args, context) => {
    const { values } = readArguments(
      args,
      {
        user: { type: 'string' },
        kind: { type: 'string' },
        since: { type: 'string', default: '24h' },
        until: { type: 'string', default: '0s' },
        limit: { type: 'string', default: '100' },
        json: { type: 'boolean' },
      },
      [],
    )
    const now = new Date()
    const kind = kindFrom(values.kind)
    const since = momentFrom('--since', values.since, now)
    // Includes events of this very millisecond.
    const until = new Date(momentFrom('--until', values.until, now).getTime() + 1)
    const limit = limitFrom(values.limit, mostAtOnce)
    if (since >= until) throw new UsageFault('--since is later than --until.')
    return withStores(context, 'service', async (stores) => {
      const query = { since, until, limit: limit + 1, ...(kind && { kind }) }
      const { rows, note } = await find(stores, values.user, query)
      const shown = rows.slice(0, limit).reverse()
      if (note) await print(context.stderr, note)
      if (values.json) for (const row of shown) await print(context.stdout, asJson(row))
      else await print(context.stdout, shown.length > 0 ? asLines(shown) : 'There are no such events.')
      if (rows.length > limit)
        await print(context.stderr, 'Older events are not shown: use --limit, or an earlier --until.')
      return 0
    })
  },
}
