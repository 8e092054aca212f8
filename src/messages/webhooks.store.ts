import type { FieldValues } from '../contract/profile-fields.js'
import type { WebhookType } from '../contract/webhooks.js'
import type { Sql } from '../platform/database/database.js'
import { countedUpTo, databaseNow, milliseconds, selectList, waitingAndGivenUp } from '../platform/database/sql.js'

type StoredData = { user: { id: string; fields?: FieldValues }; [more: string]: unknown }
export type DueWebhook = { id: string; type: string; data: StoredData; attempts: number; created_at: Date }

export type WaitingRow = {
  id: string
  type: string
  user_id: string
  created_at: Date
  attempts: number
  /** Null after the webhook was given up. */
  next_attempt_at: Date | null
  failure: string | null
}

/** Inserts nothing while no program wants webhooks. Triggers insert those about users and sign-ins. */
export const insert = (sql: Sql, webhook: { type: WebhookType; userId: string; data: unknown }) =>
  sql.query(
    'insert into outgoing_webhooks (type, user_id, data) select $1, $2, $3::jsonb where are_webhooks_wanted() returning id',
    [webhook.type, webhook.userId, webhook.data],
  )

/** Webhooks are written for this long from now on. The row is updated once in an hour at most. */
export const renewSubscription = (sql: Sql, duration: number) =>
  sql.query(
    `insert into webhooks_wanted (until) values (now() + ${milliseconds('$1')})
     on conflict (one_row) do update set until = excluded.until
     where webhooks_wanted.until < excluded.until - interval '1 hour'`,
    [duration],
  )

/** Stops the sending, because the receiver wants no webhooks any more. No row if it was stopped before. */
export const stopSending = (sql: Sql) =>
  sql.query('update webhooks_wanted set stopped_at = now() where stopped_at is null returning one_row')

const resumeStatement = 'update webhooks_wanted set stopped_at = null where stopped_at is not null'

export const resumeSending = (sql: Sql) => sql.query(resumeStatement)

export const selectStopped = (sql: Sql) =>
  sql.query<{ stopped_at: Date }>('select stopped_at from webhooks_wanted where stopped_at is not null')

/**
 * Takes the webhook that has waited longest. No other sender takes it until the lease ends, as with mails. No row while sending is stopped.
 * The triggers do not know the clock that a test moves, so the first attempt adds the offset of that clock to `created_at`.
 */
export const claim = (sql: Sql, lease: number, offset: number) =>
  sql.query<DueWebhook>(
    `update outgoing_webhooks
     set attempts = attempts + 1, next_attempt_at = ${databaseNow('$1')} + ${milliseconds('$2')},
       created_at = case when attempts = 0 and failure is null then created_at + ${milliseconds('$1')} else created_at end
     where id = (
       select id from outgoing_webhooks
       where next_attempt_at <= ${databaseNow('$1')}
         and not exists (select 1 from webhooks_wanted where stopped_at is not null)
       order by next_attempt_at limit 1 for update skip locked
     )
     returning ${selectList<DueWebhook>({ id: true, type: true, data: true, attempts: true, created_at: true })}`,
    [offset, lease],
  )

export const deleteDelivered = (sql: Sql, id: string) => sql.query('delete from outgoing_webhooks where id = $1', [id])

/** Sets the next attempt after a pause, or gives the webhook up. Only the sender that holds the lease may write it. */
export const markFailed = (
  sql: Sql,
  { id, attempts }: DueWebhook,
  { failure, pause, offset }: { failure: string; pause: number | undefined; offset: number },
) =>
  sql.query(
    `update outgoing_webhooks set failure = $3, next_attempt_at = ${databaseNow('$4')} + ${milliseconds('$5')}
     where id = $1 and attempts = $2 and next_attempt_at is not null`,
    [id, attempts, failure, offset, pause ?? null],
  )

export const count = (sql: Sql) =>
  sql.query<{ waiting: number; given_up: number }>(waitingAndGivenUp('outgoing_webhooks'), [countedUpTo])

/** How long the oldest webhook has waited, in seconds. */
export const oldestWaitSeconds = (sql: Sql, offset: number) =>
  sql.query<{ seconds: number | null }>(
    `select extract(epoch from ${databaseNow('$1')} - min(created_at))::float8 as seconds
     from outgoing_webhooks where next_attempt_at is not null`,
    [offset],
  )

const waitingSelectList = selectList<WaitingRow>({
  id: true,
  type: true,
  user_id: true,
  created_at: true,
  attempts: true,
  next_attempt_at: true,
  failure: true,
})

export const selectOldest = (sql: Sql, limit: number) =>
  sql.query<WaitingRow>(`select ${waitingSelectList} from outgoing_webhooks order by created_at, id limit $1`, [limit])

/**
 * Makes all webhooks due, and resumes the sending if it was stopped. Webhooks that a sender is sending just now, whose lease runs, stay as
 * they are.
 */
export const retryAll = (sql: Sql, offset: number, lease: number) =>
  sql.query(
    `with resumed as (${resumeStatement})
     update outgoing_webhooks set attempts = 0, next_attempt_at = least(next_attempt_at, ${databaseNow('$1')})
     where attempts = 0 or failure is not null or next_attempt_at is null
       or next_attempt_at not between ${databaseNow('$1')} and ${databaseNow('$1')} + ${milliseconds('$2')}
     returning id`,
    [offset, lease],
  )
