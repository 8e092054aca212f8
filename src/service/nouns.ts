import { createUndos } from '../account-changes/undos.js'
import { createEmailChanges } from '../accounts/email-changes.js'
import { createApplications } from '../applications/applications.js'
import { createUsedApplications } from '../applications/used-applications.js'

import type { ProfileFieldDefinition } from '../contract/profile-fields.js'
import { createGroups } from '../groups/groups.js'
import { createLoadedKeys } from '../keys/loaded-keys.js'
import { sealedColumns } from '../keys/sealed-columns.js'
import { createSealedValues } from '../keys/sealed-values.js'
import { createSigningKeys } from '../keys/signing-keys.js'
import type { Clock } from '../lib/clock.js'
import type { Design } from '../lib/design.js'
import { deriveKey } from '../lib/random.js'
import { createSeal } from '../lib/seal.js'

import { createEvents } from '../messages/events.js'
import { letterheadOf } from '../messages/layout.js'
import { createMailedCodes } from '../messages/mailed-codes.js'
import { createMails } from '../messages/mails.js'
import { createOneTimeTokens } from '../messages/one-time-tokens.js'
import { createWebhooks, type Receiver } from '../messages/webhooks.js'

import { createLogoutNotices } from '../openid/logout/logout-notices.js'
import { createContent } from '../pages/content.js'
import type { LeakedList } from '../passwords/leaked-list.js'
import { createPasswords } from '../passwords/passwords.js'
import type { Workers } from '../passwords/workers.js'

import type { Cache } from '../platform/cache/cache.js'
import { createClockWatch } from '../platform/database/clock-watch.js'
import type { Database } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'
import type { Mailer } from '../platform/mail/mail.js'
import type { Metrics } from '../platform/metrics/metrics.js'
import type { Outbound } from '../platform/outbound/outbound.js'

import { createAttempts, createPendingLinks } from '../providers/attempts.js'
import { createIdentityLinks } from '../providers/identity-links.js'
import { createProviders, type ProviderSettings } from '../providers/providers.js'

import { createAdministrators } from '../sessions/administrators.js'
import { createEndedSessions } from '../sessions/ended-sessions.js'
import { createSessionLookups } from '../sessions/session-lookups.js'
import { createSessions } from '../sessions/sessions.js'
import { createTokens } from '../sessions/tokens.js'

import type { Config } from '../settings/config.js'
import { createNewUsers } from '../users/new-users.js'
import { createProfileFields } from '../users/profile-fields.js'
import { createTerms } from '../users/terms.js'
import { createNameMarks, createUsernames } from '../users/usernames.js'
import { createUserChanges, createUsers } from '../users/users.js'

import { createRegistrationNouns } from './registration-nouns.js'
import { createSignInNouns } from './sign-in-nouns.js'
import type { OwnWords } from './words-file.js'

/** The parts that nouns are made of. The service opens all of them (`open-platform`), and commands open fewer (`commands/open-nouns`). */
export type NounPlatform = {
  clock: Clock
  log: Log
  database: Database
  /** The same database. It takes statements at any time; `database` refuses them until the migrations are applied. */
  ungatedDatabase: Database
  cache: Cache
  secrets: readonly string[]
  sealingSecrets: readonly string[]
  workers: Workers
  leakedPasswords: Pick<LeakedList, 'has'> | undefined
  mailer: Mailer
  outbound: Outbound
  providerSettings: ProviderSettings
  webhookReceiver: Receiver | undefined
  design: Design
  ownWords: OwnWords
  fieldDefinitions: readonly ProfileFieldDefinition[]
  metrics: Metrics | undefined
  /** True for commands. Their own log is not collected, so a running service logs their events. */
  leavesEventsToService: boolean
}

/** Each purpose has keys of its own, one for each secret. */
const createKeys = (secrets: NounPlatform['secrets']) => {
  const keysFor = (purpose: string) => secrets.map((secret) => deriveKey(secret, purpose))
  return { keysFor, sealFor: (purpose: string) => createSeal(keysFor(purpose)) }
}

type Keys = ReturnType<typeof createKeys>

/**
 * The nouns that sign and check tokens. A start loads their keys before the service is ready, so they use `ungatedDatabase`, which does
 * not wait for the migrations.
 */
const createTokenNouns = (config: Config, platform: NounPlatform) => {
  const { secrets, sealingSecrets, ungatedDatabase: database, clock, log } = platform
  const endedSessions = createEndedSessions({ database, clock, log })
  const sealedValues = createSealedValues(sealingSecrets, sealedColumns)
  const signingKeys = createSigningKeys({ database, clock, sealedValues })
  const signsWithKeyPair = config.accessTokenAlgorithm === 'ES256'
  const loadedKeys = createLoadedKeys({ signingKeys, clock, log, signsWithKeyPair })
  const tokens = createTokens({
    secrets,
    clock,
    issuer: config.publicUrl,
    keyPairs: loadedKeys,
    hasEnded: endedSessions.refusesToken,
  })
  return { endedSessions, sealedValues, signingKeys, loadedKeys, tokens }
}

type TokenNouns = ReturnType<typeof createTokenNouns>

/** The nouns behind the forms that operators configure: profile fields and terms. */
const createFormNouns = (config: Config, { database, clock, fieldDefinitions }: NounPlatform) => ({
  profileFields: createProfileFields({ database, clock, definitions: fieldDefinitions }),
  terms: createTerms({ database, clock, version: config.termsVersion }),
})

/** Users, and what tells them and their applications of changes. */
const createUserNouns = (
  config: Config,
  platform: NounPlatform,
  { keysFor, sealFor }: Keys,
  { tokens }: Pick<TokenNouns, 'tokens'>,
) => {
  const { database, clock, log, metrics, mailer, webhookReceiver: receiver } = platform
  const usernames = createUsernames({ database, clock, reserved: config.reservedUsernames })
  const users = createUsers({ database, clock })
  const newUsers = createNewUsers({ database, clock, usernames })
  const userChanges = createUserChanges({ database, clock })
  const identityLinks = createIdentityLinks({ database, clock })
  const formNouns = createFormNouns(config, platform)
  const webhooks = createWebhooks({
    database,
    clock,
    receiver,
    knownFields: formNouns.profileFields.knownValues,
    onOutcome: metrics?.countAttempt.webhook,
    log,
  })
  // Names that users type are stored and counted as keyed hashes.
  const nameMarks = createNameMarks(keysFor('typed names'))
  const administrators = createAdministrators({ ...config, database, clock })
  const events = createEvents({
    database,
    clock,
    nameMarks,
    // Listeners are called after the commit, so a webhook that was written in the same transaction can be sent now.
    listeners: [(recorded) => log.info(recorded, 'event'), (_, event) => metrics?.countEvent(event), webhooks.wake],
    leavesEventsToService: platform.leavesEventsToService,
    administrators,
    onLost: (err) => log.error({ err }, 'an event could not be written to the database'),
  })
  const mails = createMails({
    database,
    clock,
    log,
    events,
    mailer,
    mailIsOff: config.mailIsOff,
    seal: sealFor('outgoing mail'),
    letterhead: letterheadOf(config, platform),
    onOutcome: metrics?.countAttempt.mail,
  })
  const groups = createGroups({ database, clock, events, administrators, tokens })
  return {
    ...formNouns,
    usernames,
    users,
    groups,
    administrators,
    newUsers,
    userChanges,
    identityLinks,
    nameMarks,
    webhooks,
    events,
    mails,
  }
}

/** Sessions, the applications used in them, mailed links and codes, and one-time tokens. */
const createSessionNouns = (
  config: Config,
  { database, clock }: NounPlatform,
  { keysFor }: Keys,
  nouns: TokenNouns & ReturnType<typeof createUserNouns>,
) => {
  const { endedSessions, mails, users, userChanges } = nouns
  const sessions = createSessions({ ...config, ...nouns, database, clock, onEnded: endedSessions.add })
  const sessionLookups = createSessionLookups({ database, clock, lifetimes: config.lifetimes })
  const mailedCodes = createMailedCodes({ database, clock, mails, codeKeys: keysFor('mailed code') })
  const oneTimeTokens = createOneTimeTokens({ database, clock })
  const undos = createUndos({ database, clock })
  const emailChanges = createEmailChanges({ database, clock, users, userChanges, mails, mailedCodes, undos })
  const usedApplications = createUsedApplications({ ...config, ...nouns, database, clock, sessionLookups })
  return { sessions, sessionLookups, usedApplications, mailedCodes, oneTimeTokens, undos, emailChanges }
}

/** Creates all nouns: things with rules, most of them with a table. The service and every command call this. */
export const createNouns = (config: Config, platform: NounPlatform) => {
  const { database, clock, log, outbound, workers, leakedPasswords: leaked } = platform
  const keys = createKeys(platform.secrets)
  const tokenNouns = createTokenNouns(config, platform)
  const nounsUpToUsers = { ...tokenNouns, ...createUserNouns(config, platform, keys, tokenNouns) }
  const nounsUpToSessions = { ...nounsUpToUsers, ...createSessionNouns(config, platform, keys, nounsUpToUsers) }
  const { keysFor, sealFor } = keys
  const registrationNouns = createRegistrationNouns(config, { ...platform, ...nounsUpToSessions })
  const providers = createProviders(platform.providerSettings, { outbound, clock })
  const guessableWords = [config.productName, ...config.passwordWords]
  return {
    ...nounsUpToSessions,
    ...registrationNouns,
    ...createSignInNouns(config, { ...platform, ...nounsUpToSessions, ...registrationNouns, ...keys, providers }),
    keysFor,
    providers,
    passwords: createPasswords({ workers, cost: config.bcryptCost, words: guessableWords, leaked }),
    logoutNotices: createLogoutNotices({ database, clock }),
    content: createContent({ database, clock }),
    applications: createApplications({ database }),
    clockWatch: createClockWatch({ database, clock, log }),
    attempts: createAttempts({ seal: sealFor('provider attempt'), clock }),
    pendingLinks: createPendingLinks({ seal: sealFor('pending link'), clock }),
  }
}

export type Nouns = ReturnType<typeof createNouns>
