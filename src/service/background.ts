import { createServicePresence, waitForRestore } from '../backups/service-presence.js'
import { minutes } from '../lib/durations.js'
import type { OpenidProvider } from '../openid/openid-door.js'
import { createHousekeeping } from '../platform/jobs.js'
import type { Config } from '../settings/config.js'
import { createExpiredRows } from './expired-rows.js'
import type { NounPlatform, Nouns } from './nouns.js'

type LoadedNouns = {
  sealedValues: Pick<Nouns['sealedValues'], 'reseal'>
  loadedKeys: Pick<Nouns['loadedKeys'], 'load'>
  endedSessions: Pick<Nouns['endedSessions'], 'load'>
  webhooks: Pick<Nouns['webhooks'], 'subscribe'>
  administrators: Pick<Nouns['administrators'], 'missingGroups'>
}

/** Loads from the database what requests need, before the first request is answered. */
export const createDatabaseLoading =
  (
    { sealingKey }: Pick<Config, 'sealingKey'>,
    { ungatedDatabase, log }: Pick<NounPlatform, 'ungatedDatabase' | 'log'>,
    { sealedValues, loadedKeys, endedSessions, webhooks, administrators }: LoadedNouns,
  ) =>
  async () => {
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
  { database, clock, log }: NounPlatform,
  nouns: Nouns,
  openidProvider: OpenidProvider,
  housekeepingInterval = 1 * minutes,
) => {
  const { mails, webhooks, events, endedSessions, loadedKeys, clockWatch } = nouns
  // These nouns purge their own rows: they know how to find them, and what else happens when a row is deleted.
  const nounsToPurge = {
    sessions: nouns.sessions,
    endedSessions,
    invitations: nouns.invitations,
    unfinishedSignIns: nouns.unfinishedSignIns,
    signingKeys: nouns.signingKeys,
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
