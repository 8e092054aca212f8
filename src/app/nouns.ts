import { themeOf } from '../config/theme.js'
import type { Config } from '../config.js'
import { createContent } from '../domain/content/content.js'
import { createEmailChanges } from '../domain/email-changes/email-changes.js'
import { createEvents } from '../domain/events/events.js'
import { createNameMarks, type NameMarks, nameMarksPurpose } from '../domain/events/name-marks.js'
import { createHousekeeping } from '../domain/housekeeping/housekeeping.js'
import { createMailedCodes } from '../domain/mailed-codes/mailed-codes.js'
import { createMails } from '../domain/mails/mails.js'
import { createOneTimeTokens } from '../domain/one-time-tokens/one-time-tokens.js'
import { createPasswords } from '../domain/passwords/passwords.js'
import { createAttempts } from '../domain/providers/attempt.js'
import { createPendingLinks } from '../domain/providers/pending-link.js'
import { createProviders } from '../domain/providers/providers.js'
import { sealedColumns } from '../domain/sealed-values/sealed-columns.js'
import { createSealedValues } from '../domain/sealed-values/sealed-values.js'
import type { ServiceKeys } from '../domain/service-keys/service-keys.js'
import { createEndedSessions } from '../domain/sessions/ended-sessions.js'
import { createRotations } from '../domain/sessions/rotations.js'
import { createSessions } from '../domain/sessions/sessions.js'
import { createLoadedKeys } from '../domain/signing-keys/loaded-keys.js'
import { createSigningKeys } from '../domain/signing-keys/signing-keys.js'
import { createTokens } from '../domain/tokens/tokens.js'
import { createUndos } from '../domain/undos/undos.js'
import { createUsernames } from '../domain/users/usernames.js'
import { createUsers } from '../domain/users/users.js'
import { createWebhooks, type Webhooks } from '../domain/webhooks/webhooks.js'
import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { deriveKey } from '../lib/keys.js'
import { createSeal } from '../lib/seal.js'
import { createClockWatch } from '../platform/database/clock-watch.js'
import type { Log } from '../platform/log.js'
import type { Metrics } from '../platform/metrics/metrics.js'
import type { Platform as OpenedPlatform } from './open-platform.js'
import { makeRegistrationNouns } from './registration-nouns.js'
import { makeSignInNouns } from './sign-in-nouns.js'

/** The database refuses statements until it is prepared, except for what prepares it. */
export type Platform = OpenedPlatform & {
  metrics: Metrics | undefined
  serviceKeys: ServiceKeys
  unprepared: OpenedPlatform['database']
}

type ForEvents = { clock: Clock; log: Log; nameMarks: NameMarks; webhooks: Webhooks }

const makeEvents = ({ database, metrics }: Platform, { clock, log, nameMarks, webhooks }: ForEvents) =>
  createEvents({
    database,
    clock,
    nameMarks,
    // Listeners are told after the commit, and webhooks are written with the change: so there may be one to send.
    listeners: [(recorded) => log.info(recorded, 'event'), (_, event) => metrics?.countEvent(event), webhooks.wake],
    onLost: (err) => log.error({ err }, 'an event could not be written to the database'),
  })

/** What tokens are signed and checked with. It is read before the database counts as prepared. */
const makeTokens = (config: Config, platform: Platform, clock: Clock, log: Log) => {
  const { secrets, unprepared: database } = platform
  const endedSessions = createEndedSessions({ database, clock, log })
  const sealedValues = createSealedValues(platform.sealingSecrets, sealedColumns)
  const signingKeys = createSigningKeys({ database, clock, sealedValues })
  const signs = config.accessTokenAlgorithm === 'ES256'
  const loadedKeys = createLoadedKeys({ signingKeys, clock, log, signs })
  const { refuses: hasEnded } = endedSessions
  const tokens = createTokens({ secrets, clock, issuer: config.publicUrl, publicKeys: loadedKeys, hasEnded })
  return { endedSessions, sealedValues, signingKeys, loadedKeys, tokens }
}

/** What the links in mails are about. */
const makeEmailNouns = (deps: Omit<Parameters<typeof createEmailChanges>[0], 'undos' | 'oneTimeTokens'>) => {
  const [oneTimeTokens, undos] = [createOneTimeTokens(deps), createUndos(deps)]
  return { oneTimeTokens, undos, emailChanges: createEmailChanges({ ...deps, undos, oneTimeTokens }) }
}

/** The nouns: things with rules and a table. */
export const makeNouns = (config: Config, platform: Platform, clock: Clock, log: Log) => {
  const { database, secrets, workers, mailer, outbound, providerSettings } = platform
  const keysFor = (purpose: string) => secrets.map((secret) => deriveKey(secret, purpose))
  const { publicUrl, productName, mailFrom: from } = config
  const { endedSessions, sealedValues, signingKeys, loadedKeys, tokens } = makeTokens(config, platform, clock, log)
  const usernames = createUsernames({ database, clock, kept: config.reservedUsernames })
  const users = createUsers({ database, clock, usernames })
  const brand = themeOf(config)
  const sealFor = (purpose: string) => createSeal(keysFor(purpose))
  const seal = sealFor('outgoing mail')
  const providers = createProviders(providerSettings, { outbound, clock })
  const { webhookReceiver: receiver, metrics } = platform
  const webhooks = createWebhooks({ database, clock, receiver, onOutcome: metrics?.countWebhook, log })
  const events = makeEvents(platform, { clock, log, nameMarks: createNameMarks(keysFor(nameMarksPurpose)), webhooks })
  const outbox = { seal, mailer, publicUrl, brand, from, onOutcome: metrics?.countMail }
  const mails = createMails({ database, clock, log, events, ...outbox })
  const ofSessions = { tokens, webhooks, users, mails, onEnded: endedSessions.add }
  const sessions = createSessions({ ...config, database, clock, ...ofSessions })
  const mailedCodes = createMailedCodes({ database, clock, mails, codeKeys: keysFor('mailed code') })
  const codeKeys = keysFor('registration code')
  const registering = makeRegistrationNouns(config, { database, clock, users, mails, codeKeys })
  const ofUsers = { usernames, users, sessions, mails, mailedCodes, events }
  const ofEmails = makeEmailNouns({ database, clock, users, sessions, mails })
  const made = { ...ofUsers, ...ofEmails, webhooks, providers, sealedValues, ...registering }
  return {
    ...made,
    keysFor,
    signingKeys,
    loadedKeys,
    tokens,
    endedSessions,
    clockWatch: createClockWatch({ database, clock, log }),
    passwords: createPasswords({
      workers,
      cost: config.bcryptCost,
      words: [productName, ...config.passwordWords],
      leaked: platform.leakedPasswords,
    }),
    content: createContent({ database, clock }),
    attempts: createAttempts({ seal: sealFor('provider attempt'), clock }),
    links: createPendingLinks({ seal: sealFor('pending link'), clock }),
    ...makeSignInNouns(config, { ...platform, ...made, clock, sealFor, keysFor }),
    rotate: createRotations({
      sessions,
      endedSessions,
      events,
      onRotation: (outcome) => metrics?.countRefresh(outcome),
    }),
  }
}

export type Nouns = ReturnType<typeof makeNouns>

/** What requests need from the database before the first of them is answered. */
export const createLoad =
  ({ unprepared }: Platform, { sealedValues, loadedKeys, endedSessions, webhooks }: Nouns, log: Log) =>
  async () => {
    const values = await sealedValues.reseal(unprepared)
    if (values > 0) log.info({ values }, 'stored secrets were sealed again with the first SEALING_KEY')
    await loadedKeys.load()
    await endedSessions.load()
    await webhooks.load(unprepared)
  }

/**
 * Runs in the background once the database is ready: the purge, the senders of mails and webhooks, the readers of ended
 * sessions and signing keys.
 */
export const createBackground = (platform: Platform, nouns: Nouns, log: Log) => {
  const { mails, webhooks, events, sessions, endedSessions, oneTimeTokens, registrations, signingKeys, loadedKeys } =
    nouns
  const { mailedCodes, invitations, users, usernames, undos, emailChanges } = nouns
  const { factors, trustedDevices, passkeys, unfinishedSignIns, clockWatch } = nouns
  const purged = {
    ...{ sessions, endedSessions, oneTimeTokens, mailedCodes, registrations, invitations, usernames, events, mails },
    ...{ users, webhooks, signingKeys, undos, emailChanges, factors, trustedDevices, passkeys, unfinishedSignIns },
  }
  const housekeeping = createHousekeeping({
    database: platform.database,
    interval: 1 * minutes,
    jobs: [
      { name: 'keep webhooks wanted', run: webhooks.stayWanted },
      { name: 'log what commands did', run: events.tellOfCommands },
      ...Object.entries(purged).map(([noun, { purge }]) => ({ name: `purge ${noun}`, run: purge })),
    ],
    onFailure: (err, job) => log.warn({ err, job }, 'a clean-up failed'),
  })
  return {
    start: () => {
      endedSessions.start()
      loadedKeys.start()
      mails.start()
      webhooks.start()
      clockWatch.start()
      housekeeping.start()
    },
    stop: () => {
      const parts = [housekeeping, clockWatch, mails, webhooks, endedSessions, loadedKeys]
      return Promise.allSettled(parts.map((part) => part.stop()))
    },
  }
}
