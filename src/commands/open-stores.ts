import { openLeakedPasswords } from '../app/leaked-passwords.js'
import { openStore } from '../app/open-platform.js'
import { migrateDatabase } from '../app/prepare-database.js'
import { themeOf } from '../config/theme.js'
import type { Config } from '../config.js'
import { isRefused } from '../contract/outcome.js'
import { byProvider, providerLabel } from '../contract/providers.js'
import { createAccountClearing } from '../domain/accounts/account-clearing.js'
import { createAccountRecovery } from '../domain/accounts/account-recovery.js'
import { createContent } from '../domain/content/content.js'
import { createEmailChanges } from '../domain/email-changes/email-changes.js'
import { createEvents, type Events } from '../domain/events/events.js'
import { createNameMarks, nameMarksPurpose } from '../domain/events/name-marks.js'
import { createFactors } from '../domain/factors/factors.js'
import { createTrustedDevices } from '../domain/factors/trusted-devices.js'
import { createInvitations } from '../domain/invitations/invitations.js'
import { addressesOf } from '../domain/mails/letters.js'
import { createMails, type Mails } from '../domain/mails/mails.js'
import { createSentMails } from '../domain/mails/sent-mails.js'
import { createOneTimeTokens } from '../domain/one-time-tokens/one-time-tokens.js'
import { createPasskeyRecords } from '../domain/passkeys/passkey-records.js'
import { createPasswords, type Passwords } from '../domain/passwords/passwords.js'
import { createWorkers } from '../domain/passwords/workers.js'
import { createRegistrationGate } from '../domain/registrations/registration-gate.js'
import { sealedColumns } from '../domain/sealed-values/sealed-columns.js'
import { createSealedValues } from '../domain/sealed-values/sealed-values.js'
import { createSessions } from '../domain/sessions/sessions.js'
import { createSigningKeys } from '../domain/signing-keys/signing-keys.js'
import { createTokens } from '../domain/tokens/tokens.js'
import { createUndos } from '../domain/undos/undos.js'
import { createBulkUsers } from '../domain/users/bulk.js'
import { createUsernames } from '../domain/users/usernames.js'
import { createUsers } from '../domain/users/users.js'
import { createWebhooks } from '../domain/webhooks/webhooks.js'
import { createAccountData } from '../flows/export-account/export-account.js'
import { systemClock as clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { deriveKey } from '../lib/keys.js'
import { createSeal } from '../lib/seal.js'
import { createMemoryCache } from '../platform/cache/memory.js'
import type { Database } from '../platform/database/database.js'
import { existingSecret } from '../platform/kept-secret.js'
import { createLog } from '../platform/log.js'
import { CommandFailure, type CommandPasswords, type Stores } from './command.js'
import { operatorStores } from './operator-stores.js'
import { commandLog } from './terminal/command-log.js'

/** A command does not share its threads, so this happens only if the machine is far too slow. */
const busy = () => new CommandFailure('The password could not be checked in time; try again.')

/** A command hashes for no client. */
const itself = { ip: 'command line' }

const forCommands = (passwords: Passwords): CommandPasswords => ({
  faults: async (password, person) => {
    const rejected = await passwords.refusalFor(password, person, itself)
    if (rejected?.refused === 'busy') throw busy()
    return rejected?.errors ?? []
  },
  hash: async (password) => {
    const hash = await passwords.hash(password, itself)
    if (isRefused(hash)) throw busy()
    return hash
  },
})

/** Opened when it is needed: most commands set no password. */
const leakedFor = (config: Config) => ({
  has: async (password: string) => {
    const list = await openLeakedPasswords(config, commandLog())
    try {
      return (await list?.has(password)) ?? false
    } finally {
      await list?.close()
    }
  },
})

type OutboxStores = { database: Database; events: Events }

/** Mails that a command causes wait in the database: a running service sends them. */
type Outbox = Pick<Mails, 'queue' | 'forgetCodes'>
const outbox = (config: Config, secrets: readonly string[], stores: OutboxStores): Outbox => ({
  queue: (sql, request) => openOutbox(config, secrets, stores).queue(sql, request),
  forgetCodes: (sql, email) => openOutbox(config, secrets, stores).forgetCodes(sql, email),
})

/** Opened when it is needed: most commands run without the secret, which encrypts the mails. */
const openOutbox = (config: Config, secrets: readonly string[], stores: OutboxStores) => {
  if (secrets.length === 0)
    throw new CommandFailure('JWT_SECRET is missing: it encrypts the mail to the user. Nothing was changed.')
  const { publicUrl, mailFrom: from } = config
  const seal = createSeal(secrets.map((secret) => deriveKey(secret, 'outgoing mail')))
  const mailer = { send: () => Promise.reject(new Error('A command sends no mails')), close: async () => undefined }
  return createMails({ ...stores, clock, seal, mailer, publicUrl, brand: themeOf(config), from, log: commandLog() })
}

/** Of the service's own role or of the owner of the tables. */
const openMigrated = async (config: Config, role: 'service' | 'owner') => {
  const databaseUrl = role === 'owner' ? (config.databaseOwnerUrl ?? config.databaseUrl) : config.databaseUrl
  // PostgreSQL warns of what the command then fails with: the operator would read the same reason twice.
  const log = databaseUrl === undefined ? commandLog() : createLog({ level: 'silent' })
  const database = await openStore({ ...config, databaseUrl }, log)
  try {
    await migrateDatabase(config, database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

const makeEvents = (database: Database, secrets: readonly string[]) =>
  createEvents({
    database,
    clock,
    nameMarks: createNameMarks(secrets.map((secret) => deriveKey(secret, nameMarksPurpose))),
    listeners: [],
    leftToService: true,
    onLost: (err) => commandLog().error({ err }, 'an event could not be written to the database'),
  })

/** What an account consists of. */
const makeAccountNouns = (config: Config, database: Database, secrets: readonly string[]) => {
  const { refreshGrace, renewGrace, sessionMaxAge, publicUrl, productName } = config
  const tokens = createTokens({ secrets, clock, issuer: publicUrl })
  const sealedValues = createSealedValues(config.sealingKey ?? secrets, sealedColumns)
  const webhooks = createWebhooks({ database, clock, log: commandLog() })
  // RESERVED_USERNAMES is for users who choose a name themselves.
  const usernames = createUsernames({ database, clock })
  const users = createUsers({ database, clock, usernames })
  const events = makeEvents(database, secrets)
  const mails = outbox(config, secrets, { database, events })
  const gate = createRegistrationGate({ mode: config.registration, domains: config.registrationDomains })
  // Commands compare no codes.
  const cache = createMemoryCache({ clock, maximumKeys: 1 })
  const sessions = createSessions({
    database,
    tokens,
    clock,
    refreshGrace,
    renewGrace,
    sessionMaxAge,
    webhooks,
    users,
    mails,
  })
  const [undos, oneTimeTokens] = [createUndos({ database, clock }), createOneTimeTokens({ database, clock })]
  const trustedDevices = createTrustedDevices({ database, clock, lifetime: undefined })
  const ofFactors = { database, cache, clock, users, sealedValues, trustedDevices, mails, events, productName }
  const [factors, passkeys] = [createFactors(ofFactors), createPasskeyRecords({ database })]
  const emailChanges = createEmailChanges({ database, clock, users, undos, oneTimeTokens, sessions, mails })
  const nouns = { users, usernames, undos, mails, sessions, events, webhooks, factors, passkeys, emailChanges }
  const clear = createAccountClearing({ ...nouns, oneTimeTokens })
  return {
    ...nouns,
    trustedDevices,
    recovery: createAccountRecovery({ ...nouns, database, oneTimeTokens, clear }),
    invitations: createInvitations({ database, users, mails, clock, gate }),
    signingKeys: createSigningKeys({ database, clock, sealedValues }),
  }
}

/** The migrated database and the nouns that commands use, as the service's own role or as the owner of the tables. */
export const openStores = async (config: Config, role: 'service' | 'owner'): Promise<Stores> => {
  const { publicUrl, bcryptCost: cost } = config
  const words = [config.productName, ...config.passwordWords]
  const database = await openMigrated(config, role)
  const workers = createWorkers({ threads: 1, queueLimit: 10, deadline: 1 * minutes })
  const secrets = config.jwtSecret ?? (await existingSecret(config.dataDir))
  const ofAccounts = makeAccountNouns(config, database, secrets)
  const forOperators = operatorStores(config, { database, clock, secrets })
  const { waitingRegistrations: registrations } = forOperators
  return {
    ...forOperators,
    ...ofAccounts,
    database,
    clock,
    accountData: createAccountData({ ...ofAccounts, clock, mails: createSentMails({ database }), registrations }),
    addresses: addressesOf(publicUrl),
    bulkUsers: createBulkUsers({ database, usernames: ofAccounts.usernames }),
    providers: byProvider(config.providers).map(([id]) => id),
    providerName: (id) => config.providers[id]?.name ?? providerLabel(id),
    secondFactor: config.secondFactor,
    passwords: forCommands(createPasswords({ workers, cost, words, leaked: leakedFor(config) })),
    content: createContent({ database, clock }),
    close: async () => {
      await workers.close()
      await database.close()
    },
  }
}
