import type { Stats } from '../../admin/stats.js'
import { isProviderId, providerLabel } from '../../contract/providers.js'
import { command } from '../command.js'
import { asTable } from '../terminal/printing.js'
import { momentFrom } from './events.js'

type Counts = Awaited<ReturnType<Stats['since']>>

const asObject = ({ providers, events, active, ...counts }: Counts, since: Date) => ({
  users: {
    all: counts.users,
    new: counts.newUsers,
    disabled: counts.disabled,
    withoutPassword: counts.withoutPassword,
    withTotp: counts.withTotp,
    withPasskeys: counts.withPasskeys,
    withSessions: counts.usersWithSessions,
    active: { days1: active.day, days7: active.week, days30: active.month },
    providers: Object.fromEntries(providers.map((each) => [each.provider, each.users])),
  },
  sessions: counts.sessions,
  waiting: {
    registrations: counts.registrationsWaiting,
    mails: counts.mailsWaiting,
    webhooks: counts.webhooksWaiting,
    webhooksGivenUp: counts.webhooksGivenUp,
    logoutNotices: counts.logoutNoticesWaiting,
    logoutNoticesGivenUp: counts.logoutNoticesGivenUp,
  },
  events: events.map(({ kind, reason, events: count }) => ({ kind, reason, count })),
  since: since.toISOString(),
})

const asLines = ({ users, sessions, waiting, events, since }: ReturnType<typeof asObject>) => {
  const numberText = (count: number) => count.toLocaleString('en')
  const counts: [string, number][] = [
    ['users', users.all],
    [`  new since ${since}`, users.new],
    ['  disabled', users.disabled],
    ['  without a password', users.withoutPassword],
    ['  with two-step sign-in', users.withTotp],
    ['  with passkeys', users.withPasskeys],
    ...Object.entries(users.providers).map(([id, count]): [string, number] => [
      `  with ${isProviderId(id) ? providerLabel(id) : id}`,
      count,
    ]),
    ['  signed in', users.withSessions],
    ['  active in the last day', users.active.days1],
    ['  active in 7 days', users.active.days7],
    ['  active in 30 days', users.active.days30],
    ['sessions', sessions],
    ['registrations that wait', waiting.registrations],
    ['mails that wait', waiting.mails],
    ['webhooks that wait', waiting.webhooks],
    ['webhooks given up', waiting.webhooksGivenUp],
    ['logout notices that wait', waiting.logoutNotices],
    ['logout notices given up', waiting.logoutNoticesGivenUp],
  ]
  const eventRows = events.map(({ kind, reason, count }) => [kind, reason ?? '', numberText(count)])
  const table = asTable([['NUMBER OF', ''], ...counts.map(([name, count]) => [name, numberText(count)])])
  return eventRows.length === 0
    ? `${table}\n\nNo events since ${since}.`
    : `${table}\n\n${asTable([['EVENTS', 'REASON', 'COUNT'], ...eventRows])}`
}

export const stats = command({
  summary: 'Show how many users, sessions and events there are',
  help: `latchkey stats [--since TIME] [--json]

Counts users, sessions and what waits, and the events since a time. Active users are those who used a session in the
last day, in 7 or in 30 days.

  --since TIME    2026-11-15T10:00Z, or how long ago: 15m, 2h, 7d (default 24h); events are kept for 90 days`,
  json: '{"users": {…}, "sessions", "waiting": {…}, "events": [{"kind", "reason", "count"}], "since"}',
  options: { since: { type: 'string', default: '24h' } },
  read: ({ values }) => ({ since: momentFrom('--since', values.since, new Date()) }),
  run: async (rooms, { since }) => {
    const counts = asObject(await rooms.stats.since(since), since)
    return { json: counts, text: asLines(counts) }
  },
})
