import type { Sql } from '../../platform/database/database.js'
import { databaseNow, milliseconds } from '../../platform/database/database-now.js'
import { selectList } from '../../platform/database/select-list.js'

export type DueMail = { id: string; kind: string; content: string | null; attempts: number; created_at: Date }

/** One at a time for each recipient and kind, until the transaction ends, so that parallel requests cannot pass the limit. */
export const lockRecipient = (sql: Sql, recipientKey: string, kind: string) =>
  sql.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`outgoing_mail ${kind} ${recipientKey}`])

export const insert = (
  sql: Sql,
  mail: { id: string; recipientKey: string; recipient: string | null; kind: string; content: string },
  ceiling: { mails: number; within: number } | undefined,
  offset: number,
) =>
  sql.query<{ id: string }>(
    `insert into outgoing_mail (id, recipient_key, kind, content, created_at, next_attempt_at, recipient)
     select $1, $2, $3, $4, ${databaseNow('$5')}, ${databaseNow('$5')}, $8
     where $6::int is null or $6::int > (
       select count(*) from outgoing_mail
       where recipient_key = $2 and kind = $3 and created_at > ${databaseNow('$5')} - ${milliseconds('$7')}
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
    ],
  )

/**
 * Takes the mail that has waited longest and sets its next attempt to the end of the lease. No other sender takes it in the
 * meantime, and if this process dies, the mail is due again when the lease ends.
 */
export const claim = (sql: Sql, lease: number, offset: number) =>
  sql.query<DueMail>(
    `update outgoing_mail
     set attempts = attempts + 1, next_attempt_at = ${databaseNow('$1')} + ${milliseconds('$2')}
     where id = (
       select id from outgoing_mail where next_attempt_at <= ${databaseNow('$1')}
       order by next_attempt_at limit 1 for update skip locked
     )
     returning ${selectList<DueMail>({ id: true, kind: true, content: true, attempts: true, created_at: true })}`,
    [offset, lease],
  )

/** The row stays, because the limit counts it; its content is deleted. */
export const markSent = (sql: Sql, id: string, offset: number) =>
  sql.query(
    `update outgoing_mail set sent_at = ${databaseNow('$2')}, next_attempt_at = null, content = null where id = $1`,
    [id, offset],
  )

export const markGivenUp = (sql: Sql, id: string) =>
  sql.query('update outgoing_mail set next_attempt_at = null, content = null where id = $1', [id])

/** Only the sender that holds the lease may postpone a mail: after a long pause another one may have it. */
export const postpone = (sql: Sql, mail: DueMail, delay: number, offset: number) =>
  sql.query(
    `update outgoing_mail set next_attempt_at = ${databaseNow('$3')} + ${milliseconds('$4')}
     where id = $1 and attempts = $2 and next_attempt_at is not null`,
    [mail.id, mail.attempts, offset, delay],
  )

/** Above this number the exact count does not matter. */
const countedUpTo = 10_000

/** Mails that no mail server has accepted yet. Reads only the index of due mails. */
export const countWaiting = (sql: Sql) =>
  sql.query<{ waiting: number }>(
    `select count(*) as waiting from (
       select 1 from outgoing_mail where next_attempt_at is not null limit $1
     ) as due`,
    [countedUpTo],
  )

type MailedRow = { kind: string; created_at: Date; sent_at: Date | null }

export const selectOfRecipient = (sql: Sql, recipient: string) =>
  sql.query<MailedRow>(
    `select ${selectList<MailedRow>({ kind: true, created_at: true, sent_at: true })} from outgoing_mail
     where recipient = $1 order by id desc`,
    [recipient],
  )

/** Ids are ordered by time, so the oldest rows are found at the beginning of the primary key. */
export const deleteFinishedBefore = (sql: Sql, id: string, limit: number) =>
  sql.query<{ id: string }>(
    `delete from outgoing_mail where id in (
       select id from outgoing_mail where id < $1 and next_attempt_at is null order by id limit $2
     ) returning id`,
    [id, limit],
  )
