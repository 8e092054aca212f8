import type { Sql } from '../platform/database/database.js'
import {
  countedUpTo,
  databaseMoment,
  databaseNow,
  forgottenKey,
  milliseconds,
  selectList,
} from '../platform/database/sql.js'
import type { Ceiling } from './mail-limits.js'

export type DueMail = {
  id: string
  kind: string
  content: string | null
  attempts: number
  /** In milliseconds, by the clock of the database: an instance whose clock is wrong must not give up mails of others. */
  age: number
  user_id: string | null
}

export type MailReader = { language: string | null; earlier_language: string | null; earlier_username: string | null }

/**
 * Keeps the user from being deleted until the transaction ends. No row if there is no such user any more. `language` belongs to the account
 * that has the mail's address, which may be another user's, or else to this user. `earlier_language` and `earlier_username` are the values
 * before the oldest change that can still be undone.
 */
export const holdUser = (sql: Sql, userId: string, recipient: string, clockOffset: number) =>
  sql.query<MailReader>(
    `with held as (select id, language from users where id = $1 for key share),
       reader as (
         select id, language, 1 as choice from users where email_key = $2 and language is not null
         union all select id, language, 2 from held order by choice limit 1
       )
     select reader.language, (
       select subject from undos where user_id = reader.id and kind = 'language' and expires_at > ${databaseMoment('$3')} order by made_at, hash limit 1
     ) as earlier_language, (
       select subject from undos where user_id = held.id and kind = 'username' and expires_at > ${databaseMoment('$3')} order by made_at, hash limit 1
     ) as earlier_username
     from held, reader`,
    [userId, recipient, clockOffset],
  )

/** Lets one transaction at a time queue mails of these kinds to a recipient, so that parallel requests cannot exceed the limit. */
export const lockRecipient = (sql: Sql, recipientKey: string, kinds: readonly string[]) =>
  sql.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`outgoing_mail ${kinds[0]} ${recipientKey}`])

/** The mails that count for a ceiling, of the recipient's key, the kinds and the time, up to the clock of the database. */
const isCounted = (key: string, kinds: string, within: string, offset: string) =>
  `recipient_key in (${key}, ${forgottenKey(key)}) and kind = any(${kinds}::text[])
     and created_at > ${databaseNow(offset)} - ${milliseconds(within)}`

export const insert = (
  sql: Sql,
  mail: {
    id: string
    recipientKey: string
    recipient: string | null
    userId: string | null
    kind: string
    content: string
  },
  ceiling: Ceiling | undefined,
  offset: number,
) =>
  sql.query<{ id: string }>(
    `insert into outgoing_mail (id, recipient_key, kind, content, created_at, next_attempt_at, recipient, user_id)
     select $1, $2::text, $3, $4, ${databaseNow('$5')}, ${databaseNow('$5')}, $8, $9
     where $6::int is null or $6::int > (
       select count(*) from outgoing_mail
       where ${isCounted('$2', '$10', '$7', '$5')}
         and created_at > coalesce((
           select max(created_at) from outgoing_mail
           where recipient_key in ($2, ${forgottenKey('$2')}) and kind = any($11::text[])
         ), '-infinity')
     )
     returning id`,
    [
      mail.id,
      mail.recipientKey,
      mail.kind,
      mail.content,
      offset,
      ceiling?.mails ?? null,
      ceiling?.within ?? 0,
      mail.recipient,
      mail.userId,
      ceiling?.kinds ?? [],
      ceiling?.restartedBy ?? [],
    ],
  )

/** In how many seconds the next mail can be queued: then the first of the newest `ceiling.mails` no longer counts. */
export const secondsUntilNext = (sql: Sql, recipientKey: string, ceiling: Ceiling, offset: number) =>
  sql.query<{ seconds: number }>(
    `select extract(epoch from created_at + ${milliseconds('$4')} - ${databaseNow('$5')})::float8 as seconds from outgoing_mail
     where recipient_key in ($1, ${forgottenKey('$1')}) and kind = any($2::text[])
     order by created_at desc offset $3::int - 1 limit 1`,
    [recipientKey, ceiling.kinds, ceiling.mails, ceiling.within, offset],
  )

const dueColumns = selectList<DueMail>({
  id: true,
  kind: true,
  content: true,
  attempts: true,
  age: `(extract(epoch from ${databaseNow('$1')} - created_at) * 1000)::float8`,
  user_id: true,
})

/**
 * Takes the mail that has waited longest and sets its next attempt to the end of the lease. No other sender takes it meanwhile. If this
 * process dies, the mail is due again when the lease ends.
 */
export const claim = (sql: Sql, lease: number, offset: number) =>
  sql.query<DueMail>(
    `update outgoing_mail
     set attempts = attempts + 1, next_attempt_at = ${databaseNow('$1')} + ${milliseconds('$2')}
     where id = (
       select id from outgoing_mail where next_attempt_at <= ${databaseNow('$1')}
       order by next_attempt_at limit 1 for update skip locked
     )
     returning ${dueColumns}`,
    [offset, lease],
  )

/** A mail that is sent or given up. No row if it was deleted meanwhile, with the account that it is about. */
export type FinishedMail = { recipient: string | null }

/** The row stays, because the limit counts it. Its content is deleted. */
export const markSent = (sql: Sql, id: string, offset: number) =>
  sql.query<FinishedMail>(
    `update outgoing_mail set sent_at = ${databaseNow('$2')}, next_attempt_at = null, content = null where id = $1
     returning recipient`,
    [id, offset],
  )

export const markGivenUp = (sql: Sql, id: string) =>
  sql.query<FinishedMail>(
    'update outgoing_mail set next_attempt_at = null, content = null where id = $1 returning recipient',
    [id],
  )

/** Gives up the waiting mails of a user, except those to one address. */
export const giveUpExceptTo = (sql: Sql, userId: string, recipient: string) =>
  sql.query(
    `update outgoing_mail set next_attempt_at = null, content = null
     where user_id = $1 and recipient is distinct from $2 and next_attempt_at is not null`,
    [userId, recipient],
  )

/** Only the sender that holds the lease may postpone a mail. After a long pause, another sender may hold it. */
export const postpone = (
  sql: Sql,
  mail: DueMail,
  { delay, reason, offset }: { delay: number; reason: string; offset: number },
) =>
  sql.query(
    `update outgoing_mail set next_attempt_at = ${databaseNow('$3')} + ${milliseconds('$4')}, last_error = $5
     where id = $1 and attempts = $2 and next_attempt_at is not null`,
    [mail.id, mail.attempts, offset, delay, reason],
  )

/** Counts mails that no mail server has accepted yet. Reads only the index of due mails. */
export const countWaiting = (sql: Sql) =>
  sql.query<{ waiting: number }>(
    `select count(*) as waiting from (
       select 1 from outgoing_mail where next_attempt_at is not null limit $1
     ) as due`,
    [countedUpTo],
  )

/** The age of the oldest waiting mail, in seconds. */
export const oldestWaitSeconds = (sql: Sql, offset: number) =>
  sql.query<{ seconds: number | null }>(
    `select extract(epoch from ${databaseNow('$1')} - min(created_at))::float8 as seconds
     from outgoing_mail where next_attempt_at is not null`,
    [offset],
  )

export type WaitingRow = {
  id: string
  kind: string
  user_id: string | null
  username: string | null
  created_at: Date
  attempts: number
  next_attempt_at: Date
  last_error: string | null
}
const waitingColumns = selectList<WaitingRow>({
  id: true,
  kind: true,
  user_id: true,
  username: '(select username from users where users.id = outgoing_mail.user_id)',
  created_at: true,
  attempts: true,
  next_attempt_at: true,
  last_error: true,
})

/** Oldest first, as in `selectWaitingOf`. */
export const selectWaiting = (sql: Sql, limit: number) =>
  sql.query<WaitingRow>(
    `select ${waitingColumns} from outgoing_mail where next_attempt_at is not null order by id limit $1`,
    [limit],
  )

export const selectWaitingOf = (sql: Sql, userId: string | null, recipient: string, limit: number) =>
  sql.query<WaitingRow>(
    `select ${waitingColumns} from outgoing_mail where next_attempt_at is not null and (user_id = $1 or recipient = $2)
     order by id limit $3`,
    [userId, recipient, limit],
  )

export type MailedRow = { recipient: string | null; kind: string; created_at: Date; sent_at: Date | null }

/** `hidden`: kinds that are left out if they went to another address. */
export const selectOfUser = (
  sql: Sql,
  userId: string,
  { recipients, hidden }: { recipients: readonly string[]; hidden: readonly string[] },
) =>
  sql.query<MailedRow>(
    `select ${selectList<MailedRow>({ recipient: true, kind: true, created_at: true, sent_at: true })} from outgoing_mail
     where recipient = any($2::text[]) or (user_id = $1 and kind <> all($3::text[])) order by id desc`,
    [userId, recipients, hidden],
  )

/** Ids are ordered by time, so the oldest rows are found at the beginning of the primary key. */
export const deleteFinishedBefore = (sql: Sql, id: string, limit: number) =>
  sql.query<{ id: string }>(
    `delete from outgoing_mail where id in (
       select id from outgoing_mail where id < $1 and next_attempt_at is null order by id limit $2
     ) returning id`,
    [id, limit],
  )
