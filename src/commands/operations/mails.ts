import { mailEventKinds } from '../../contract/events.js'
import { days } from '../../lib/durations.js'
import type { EventQuery, StoredEvent } from '../../messages/events.js'
import type { MailOwner, WaitingMail } from '../../messages/mails.js'
import { type CommandRooms, command, findUser, limitFrom } from '../command.js'
import { asTable, listOf } from '../terminal/printing.js'

const maxAtOnce = 10_000
const shownPeriod = 7 * days

/** One line of the list. `time` is since when the mail waits, or when it was accepted, refused or given up. */
type MailLine = {
  time: Date
  state: string
  kind: string
  userId: string | null
  username: string | null
  attempts: number | null
  nextAttempt: Date | null
  reason: string | null
}

const states: Record<string, string> = {
  mail_accepted: 'accepted',
  mail_refused: 'refused',
  mail_given_up: 'given up',
} satisfies Record<(typeof mailEventKinds)[number], string>

const lineOfWaitingMail = (mail: WaitingMail): MailLine => ({
  time: mail.createdAt,
  state: 'waits',
  kind: mail.kind,
  userId: mail.userId,
  username: mail.username,
  attempts: mail.attempts,
  nextAttempt: mail.nextAttemptAt,
  reason: mail.failure,
})

/** The reason of the event has the kind of the mail and, after a colon, why the mail was not sent. */
const lineOfEvent = (event: StoredEvent): MailLine => {
  const [kind = '', ...reasonParts] = (event.reason ?? '').split(': ')
  return {
    time: event.createdAt,
    state: states[event.kind] ?? event.kind,
    kind,
    userId: event.userId,
    username: event.username,
    attempts: null,
    nextAttempt: null,
    reason: reasonParts.join(': ') || null,
  }
}

/** Finds the events of mails that were accepted, refused or given up, the newest first. */
const findMailEvents = (
  { events, clock }: CommandRooms,
  limit: number,
  owner: (MailOwner & { name: string }) | undefined,
) => {
  const now = clock.now().getTime()
  const query: EventQuery = {
    since: new Date(now - shownPeriod),
    until: new Date(now + 1 * days),
    kinds: mailEventKinds,
    limit,
  }
  return owner ? events.about(owner, query) : events.between(query)
}

/** An address without an account can have mails, too, such as the address of a registration that is not confirmed. */
const ownerOf = async (rooms: CommandRooms, userName: string) => {
  const user = await findUser(rooms, userName)
  return user ? { userId: user.id, email: user.email, name: user.email } : { email: userName, name: userName }
}

const mailTable = (mails: readonly MailLine[]) =>
  asTable([
    ['TIME', 'STATE', 'KIND', 'USER', 'ATTEMPTS', 'NEXT ATTEMPT', 'REASON'],
    ...mails.map((mail) => [
      mail.time.toISOString(),
      mail.state,
      mail.kind,
      mail.username ?? '',
      mail.attempts === null ? '' : String(mail.attempts),
      mail.nextAttempt?.toISOString() ?? '',
      mail.reason ?? '',
    ]),
  ])

export const mailsList = command({
  summary: 'Show which mails wait, were accepted, refused or given up',
  help: `latchkey mails list [--user USER] [--limit N] [--json]

Shows the mails that wait for the mail server, oldest first: since when, how often they were tried, when they are tried next and
why the last attempt failed. Below them are the mails of the last ${shownPeriod / days} days that the mail server has accepted or refused, or that
were given up because it was too late, newest first. Accepted means that the mail server has it: whether it has arrived, only
the log of that server knows.

  --user USER   only mails about this user: a username, an email or an id. Also an address without an account, for a
                registration that is not confirmed
  --limit N     how many of each, 1 to ${maxAtOnce} (default 100)`,
  json: 'one JSON object on each line: {"kind", "time", …}',
  options: { user: { type: 'string' }, limit: { type: 'string', default: '100' } },
  read: ({ values }) => ({ limit: limitFrom(values.limit, maxAtOnce) }),
  run: async (rooms, { values, limit }) => {
    const owner = values.user === undefined ? undefined : await ownerOf(rooms, values.user)
    const waiting = await rooms.waitingMails.list(limit + 1, owner)
    const mailEvents = await findMailEvents(rooms, limit + 1, owner)
    const lines = [...waiting.slice(0, limit).map(lineOfWaitingMail), ...mailEvents.slice(0, limit).map(lineOfEvent)]
    const none = `No mail waits, and none was sent in ${shownPeriod / days} days.`
    const hasMore = waiting.length > limit || mailEvents.length > limit
    return {
      ...listOf(lines, { asTable: mailTable, none }),
      notes: hasMore ? ['There are more: use --limit.'] : [],
    }
  },
})
