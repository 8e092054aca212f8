import { openAdmin } from '../admin/open-admin.js'
import { isRefused } from '../contract/outcome.js'
import { systemClock as clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { createPageAddress } from '../messages/letters.js'
import { backchannelMayReach } from '../openid/backchannel.js'
import { openLeakedPasswords } from '../passwords/leaked-list.js'
import type { Passwords } from '../passwords/passwords.js'
import { createWorkers } from '../passwords/workers.js'
import { createMemoryCache } from '../platform/cache/memory.js'
import { commandLog, createLog } from '../platform/log.js'
import { noMailer } from '../platform/mail/mail.js'
import { createOutbound } from '../platform/outbound/outbound.js'
import { keptSecrets } from '../platform/own-postgres/kept-secrets.js'
import { openForCommand, settingsOfService } from '../platform/own-postgres/own-postgres.js'
import { openConfiguredDatabase, timeoutsOfCommands } from '../service/open-platform.js'
import { openRooms } from '../service/open-rooms.js'
import { readDesign, readOwnWords, readProfileFields } from '../service/operator-files.js'
import { ownConfigOf, type StoreConfig, type Stores, withStoresOf } from '../service/own-database.js'
import { migrateDatabase } from '../service/prepare-database.js'
import { type Config, type Environment, loadSettings } from '../settings/config.js'
import { settings } from '../settings/settings.js'
import { createBulkUsers } from '../users/bulk.js'
import { CommandFailure, type CommandPasswords, type CommandRooms, type DatabaseRole } from './command.js'

/** A command does not share its threads, so a timeout means that the machine is far too slow. */
const timeoutFailure = () => new CommandFailure('The password could not be checked in time; try again.')

/** Threads are shared fairly among the addresses of clients. The threads of a command have only this client. */
const commandLineClient = { ip: 'command line' }

const passwordsForCommands = (passwords: Passwords): CommandPasswords => ({
  faults: async (password, person) => {
    const refusal = await passwords.refusalFor(password, person, commandLineClient)
    if (refusal?.refused === 'busy') throw timeoutFailure()
    return refusal?.errors ?? []
  },
  hash: async (password) => {
    const hash = await passwords.hash(password, commandLineClient)
    if (isRefused(hash)) throw timeoutFailure()
    return hash
  },
})

/** Opens the list of leaked passwords only when a password is checked, because most commands set none. */
const leakedPasswordsOnDemand = (config: Config) => ({
  has: async (password: string) => {
    const list = await openLeakedPasswords(config, commandLog())
    try {
      return (await list?.has(password)) ?? false
    } finally {
      await list?.close()
    }
  },
})

/** The stores of a command. It makes no database in the usual `./data`: if there is none, the command was probably called in a wrong folder. */
const openStoresForCommand = async (config: Config): Promise<Stores> => {
  const { databaseUrl } = config
  if (databaseUrl !== undefined) return { config: { ...config, databaseUrl }, close: async () => undefined }
  const mayCreate = config.dataDir !== settings.DATA_DIR.fallback
  const own = await openForCommand({ config: ownConfigOf(config), log: commandLog(), mayCreate })
  return { config: withStoresOf(config, own), close: own.close }
}

/** Opens the database with the rights of the service or of the owner of the tables, and migrates it. */
const openMigrated = async (config: StoreConfig, role: DatabaseRole) => {
  const databaseUrl = role === 'table owner' ? (config.databaseOwnerUrl ?? config.databaseUrl) : config.databaseUrl
  // The log is silent: it would name the same reason with which the command then fails.
  const log = createLog({ level: 'silent' })
  const database = openConfiguredDatabase({ ...config, databaseUrl }, log, timeoutsOfCommands)
  try {
    await migrateDatabase(config, database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** The platform of a command: it counts no requests, and leaves mails, webhooks and the log to the service. */
const openCommandPlatform = async (given: Config, role: DatabaseRole) => {
  // Files are read first, so that a fault in them ends the command before it has changed anything.
  const design = await readDesign(given)
  const ownWords = await readOwnWords(given)
  const fieldDefinitions = await readProfileFields(given.profileFieldsFile)
  const { config, close } = await openStoresForCommand(given)
  const secrets = config.jwtSecret ?? (await keptSecrets(config.dataDir, 'jwt_secret')) ?? []
  const database = await openMigrated(config, role).catch(async (error) => {
    await close()
    throw error
  })
  return {
    config,
    closeStores: close,
    clock,
    log: commandLog(),
    database,
    ungatedDatabase: database,
    cache: createMemoryCache({ clock, maximumKeys: 1 }),
    secrets,
    sealingSecrets: config.sealingKey ?? secrets,
    workers: createWorkers({ threads: 1, queueLimit: 10, deadline: 1 * minutes }),
    leakedPasswords: leakedPasswordsOnDemand(config),
    mailer: noMailer,
    outbound: createOutbound({ allowLoopbackHttp: !config.production }),
    providerSettings: {},
    webhookReceiver: undefined,
    fieldDefinitions,
    design,
    ownWords,
    metrics: undefined,
    leavesEventsToService: true,
  }
}

/** The migrated database and the rooms that commands use, as the service's own role or as the owner of the tables. */
export const openRoomsForCommand = async (given: Config, role: DatabaseRole): Promise<CommandRooms> => {
  const platform = await openCommandPlatform(given, role)
  const { config, database, workers } = platform
  // RESERVED_USERNAMES applies to users who choose a name themselves, and not to operators.
  const rooms = openRooms({ ...config, reservedUsernames: [] }, platform)
  await rooms.liveSettings.load()
  return {
    ...rooms,
    ...openAdmin(config, platform, rooms),
    database,
    clock,
    backchannelMayReach: backchannelMayReach(config),
    pageAddress: createPageAddress(config.publicUrl),
    bulkUsers: createBulkUsers({ database, usernames: rooms.usernames }),
    passwords: passwordsForCommands(rooms.passwords),
    close: async () => {
      await workers.close()
      await database.close()
      await platform.closeStores()
    },
  }
}

/**
 * A command beside a service with its own database gets the settings of that service. With another PUBLIC_URL the links of the command
 * would lead nowhere, and with another secret the service could not read what the command has written.
 */
export const settingsFor = async (environment: Environment): Promise<Environment> => {
  const { databaseUrl, dataDir } = loadSettings(environment, ['DATABASE_URL', 'DATA_DIR'])
  if (databaseUrl !== undefined) return environment
  const settings = await settingsOfService(dataDir)
  return settings ? { ...settings, DATA_DIR: dataDir } : environment
}
