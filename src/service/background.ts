import { createServicePresence, waitForRestore } from '../backups/service-presence.js'
import type { Clock } from '../lib/clock.js'
import { days, minutes } from '../lib/durations.js'
import type { OpenidProvider } from '../openid/openid-door.js'
import type { Database, Sql } from '../platform/database/database.js'
import { createHousekeeping, type Job } from '../platform/jobs.js'
import type { Log } from '../platform/log.js'
import type { Config } from '../settings/config.js'
import { deleteExpired } from './expired-rows.store.js'
import type { RoomPlatform, Rooms } from './open-rooms.js'

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
  { table: 'personal_tokens', expires: 'expires_at' },
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
  { table: 'host_codes', expires: 'expires_at' },
  { table: 'host_sessions', expires: 'expires_at' },
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

type LoadedParts = {
  sealedValues: { reseal(sql: Sql): Promise<number> }
  loadedKeys: { load(): Promise<unknown> }
  endedSessions: { load(): Promise<unknown> }
  webhooks: { subscribe(sql: Sql): Promise<void> }
  administrators: { missingGroups(sql: Sql): Promise<readonly string[]> }
}

/** Loads from the database what requests need, before the first request is answered. */
export const loadDatabase = async (
  { sealingKey }: Config,
  { ungatedDatabase, log }: { ungatedDatabase: Database; log: Log },
  { sealedValues, loadedKeys, endedSessions, webhooks, administrators }: LoadedParts,
) => {
  await waitForRestore(ungatedDatabase)
  const setting = sealingKey === undefined ? 'JWT_SECRET' : 'SEALING_KEY'
  const resealedValues = await sealedValues.reseal(ungatedDatabase)
  if (resealedValues > 0)
    log.info({ values: resealedValues }, `stored secrets were sealed again with the first ${setting}`)
  await loadedKeys.load()
  await endedSessions.load()
  await webhooks.subscribe(ungatedDatabase)
  const groups = await administrators.missingGroups(ungatedDatabase)
  if (groups.length > 0)
    log.warn({ groups }, 'ADMIN_GROUP or SUPPORT_GROUP names a group that does not exist: latchkey group add')
}

/**
 * The work in the background, once the database is ready: the purge, the senders of mails and webhooks, the readers of ended
 * sessions and signing keys.
 */
export const createBackground = (
  { database, clock, log }: RoomPlatform,
  rooms: Rooms,
  openidProvider: OpenidProvider,
  housekeepingInterval = 1 * minutes,
) => {
  const { mails, webhooks, events, endedSessions, loadedKeys, clockWatch } = rooms
  // These rooms purge their own rows: they know how to find them, and what else happens when a row is deleted.
  const nounsToPurge = {
    sessions: rooms.sessions,
    endedSessions,
    invitations: rooms.invitations,
    unfinishedSignIns: rooms.unfinishedSignIns,
    signingKeys: rooms.signingKeys,
    events,
    mails,
  }
  const housekeeping = createHousekeeping({
    database,
    interval: housekeepingInterval,
    jobs: [
      { name: 'renew the webhook subscription', run: webhooks.renewSubscription },
      { name: 'log what commands did', run: events.tellOfCommands },
      { name: 'make the months of events', run: events.makeMonths },
      ...createExpiredRows({ clock }),
      ...Object.entries(nounsToPurge).map(([noun, { purge }]) => ({ name: `purge ${noun}`, run: purge })),
    ],
    laterJobs: openidProvider.jobs,
    onFailure: (err, job) => log.warn({ err, job }, 'a clean-up failed'),
  })
  // `stop` is called in the order of the list, without waiting: first for the parts that clean up, then for those that send and read.
  const presence = createServicePresence(database)
  const parts = [housekeeping, openidProvider, clockWatch, mails, webhooks, endedSessions, loadedKeys, presence]
  return {
    start: () => {
      for (const part of parts.toReversed()) part.start()
    },
    stop: () => Promise.allSettled(parts.map((part) => part.stop())),
  }
}
