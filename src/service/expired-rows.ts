import type { Clock } from '../lib/clock.js'
import { days, minutes } from '../lib/durations.js'
import type { Job } from '../platform/jobs.js'
import { deleteExpired } from './expired-rows.store.js'

type ExpiringTable = {
  table: string
  /** The column with the moment after which a row is of no use. It has an index. */
  expires: string
  /** How long a row stays after that moment. */
  keptFor?: number
}

export const expiringTables: readonly ExpiringTable[] = [
  { table: 'one_time_tokens', expires: 'expires_at' },
  { table: 'setup_tokens', expires: 'expires_at' },
  { table: 'mailed_codes', expires: 'expires_at' },
  { table: 'mail_sign_ins', expires: 'expires_at' },
  { table: 'pending_registrations', expires: 'expires_at' },
  { table: 'pending_totp_secrets', expires: 'expires_at' },
  { table: 'trusted_devices', expires: 'expires_at' },
  { table: 'email_changes', expires: 'expires_at' },
  { table: 'undos', expires: 'expires_at' },
  { table: 'authorization_requests', expires: 'expires_at' },
  { table: 'reserved_usernames', expires: 'reserved_until' },
  { table: 'former_emails', expires: 'replaced_at', keptFor: 90 * days },
  // A code that was used is kept for some time, because a second use is a sign of theft.
  { table: 'authorization_codes', expires: 'expires_at', keptFor: 10 * minutes },
  { table: 'device_requests', expires: 'expires_at', keptFor: 10 * minutes },
  { table: 'application_tokens', expires: 'expires_at' },
  { table: 'application_access_tokens', expires: 'expires_at' },
  // A wait lasts a day at most, and the count begins again after a day without a wrong code.
  { table: 'wrong_codes', expires: 'last_wrong_at', keptFor: 2 * days },
  // Webhooks that were given up are kept as well, so that an operator can retry them.
  { table: 'outgoing_webhooks', expires: 'created_at', keptFor: 30 * days },
  // Failed notices are retried for a day. The rest of the time is for operators who look for the cause of a failure.
  { table: 'logout_notices', expires: 'created_at', keptFor: 7 * days },
]

/** One clean-up for each table whose rows expire and are deleted without further consequences. */
export const createExpiredRows = ({ clock }: { clock: Clock }): Job[] =>
  expiringTables.map((each) => ({
    name: `purge ${each.table}`,
    run: async (sql, limit) =>
      (await deleteExpired(sql, each, { now: clock.now(), clockOffset: clock.offset() }, limit)).length,
  }))
