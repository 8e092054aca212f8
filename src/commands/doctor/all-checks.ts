import { postgresAddress } from '../../platform/database/postgres-address.js'
import { clusterFolder, openBesideService } from '../../platform/own-postgres/own-postgres.js'
import { ownConfigOf, withStoresOf } from '../../service/own-database.js'
import { type Config, type Environment, secretFilesIn } from '../../settings/config.js'
import {
  checkAdministrators,
  checkApplicationKeys,
  checkPasskeys,
  checkRegistration,
  checkSealedValues,
  checkSigningKeys,
  checkWaitingMails,
  checkWithdrawnKeys,
} from './accounts.js'
import { checkApplications, checkLogoutNotices } from './applications.js'
import {
  type Check,
  type CheckGroup,
  checkDatabaseEncryption,
  checkDatabaseSpace,
  isContainer,
  ok,
  warning,
} from './check.js'
import { checkApplicationSecrets, checkConfigurationFile } from './configuration.js'
import {
  askDatabaseOnce,
  checkClock,
  checkDurability,
  checkEventMonths,
  checkHosts,
  checkOwner,
  checkRole,
  checkServer,
  openForChecks,
} from './database.js'
import { checkCeilings, checkProfileFields, machineChecks } from './machine.js'
import { checkWebhooks, outsideChecks, redisChecks } from './outside.js'

/**
 * The database of its own is looked at only beside a running service: started here, it could be made anew in a wrong folder, or get files
 * of another system user.
 */
const withOwnDatabase = async (config: Config) => {
  if (config.databaseUrl !== undefined) return { config }
  try {
    const own = await openBesideService(ownConfigOf(config))
    return own ? { config: withStoresOf(config, own), close: own.close } : { config }
  } catch (error) {
    return { config, whyNotOpened: error instanceof Error ? error.message : 'it does not answer' }
  }
}

/** A database of its own that was not opened, because no service runs or it does not answer. */
const unopenedChecks = (config: Config, whyNot: string | undefined): Check[] => {
  const place = `PostgreSQL of its own in ${clusterFolder(config.dataDir)}`
  const database =
    whyNot === undefined
      ? ok(`${place}: not looked at while the service does not run`)
      : warning(`${place}. Its content was not checked: ${whyNot}`)
  const unusedOwner = 'DATABASE_OWNER_URL is not used by the service, because DATABASE_URL is not set'
  return [
    { name: 'database', run: () => database },
    ...(config.databaseOwnerUrl === undefined ? [] : [{ name: 'database owner', run: () => warning(unusedOwner) }]),
    { name: 'webhooks', run: () => checkWebhooks(config) },
    { name: 'registration', run: () => checkRegistration(config) },
    { name: 'profile fields', run: () => checkProfileFields(config) },
  ]
}

/** All checks that need the database. */
export const databaseChecks = (config: Config, env: Environment = {}, whyNotOpened?: string): CheckGroup => {
  const { databaseUrl: url, databaseOwnerUrl: ownerUrl, configurationFile: file } = config
  if (url === undefined) return { checks: unopenedChecks(config, whyNotOpened) }
  const database = openForChecks(url)
  const owner = ownerUrl === undefined ? undefined : openForChecks(ownerUrl)
  const ownFolder = config.ownDatabase ? clusterFolder(config.dataDir) : undefined
  const { server, schema, isMigrated, onceReached, onceMigrated } = askDatabaseOnce(database)
  const isOneHost = postgresAddress(url).hosts.length < 2
  return {
    checks: [
      { name: 'database', run: async () => checkServer(await server(), config) },
      ...(isOneHost ? [] : [{ name: 'database hosts', run: () => checkHosts(url) }]),
      { name: 'database encryption', run: onceReached(async () => checkDatabaseEncryption(url)) },
      { name: 'database role', run: onceReached(() => checkRole(database)) },
      ...(owner ? [{ name: 'database owner', run: () => checkOwner(owner, database) }] : []),
      { name: 'database schema', run: onceReached(schema) },
      { name: 'events', run: onceMigrated(() => checkEventMonths(database)) },
      { name: 'sealed values', run: onceMigrated(() => checkSealedValues(database, config)) },
      { name: 'signing keys', run: onceMigrated(() => checkSigningKeys(database, config)) },
      { name: 'keys of ID tokens', run: onceMigrated(() => checkApplicationKeys(database, config)) },
      { name: 'withdrawn keys', run: onceMigrated(() => checkWithdrawnKeys(database)) },
      { name: 'passkeys', run: onceMigrated(() => checkPasskeys(database, config)) },
      { name: 'applications', run: onceMigrated(() => checkApplications(database, config)) },
      { name: 'application secrets', run: onceMigrated(() => checkApplicationSecrets(database)) },
      ...(file === undefined
        ? []
        : [{ name: 'configuration file', run: onceMigrated(() => checkConfigurationFile(file, config, env)) }]),
      { name: 'database space', run: onceReached(() => checkDatabaseSpace(database, url, ownFolder)) },
      { name: 'durability', run: onceReached(() => checkDurability(database, config.production)) },
      { name: 'database clock', run: onceReached(() => checkClock(database)) },
      {
        name: 'webhooks',
        run: onceReached(async () => checkWebhooks(config, (await isMigrated()) ? database : undefined)),
      },
      { name: 'logout notices', run: onceMigrated(() => checkLogoutNotices(database)) },
      { name: 'waiting mails', run: onceMigrated(() => checkWaitingMails(database)) },
      { name: 'limits', run: onceMigrated(() => checkCeilings(database)) },
      { name: 'registration', run: onceMigrated(() => checkRegistration(config, database)) },
      // An empty ADMIN_GROUP means that there are no administrators on purpose.
      ...(config.adminGroup === null
        ? []
        : [{ name: 'administrators', run: onceMigrated(() => checkAdministrators(database, config)) }]),
      { name: 'profile fields', run: onceMigrated(() => checkProfileFields(config, database)) },
    ],
    close: async () => {
      await Promise.allSettled([database.close(), owner?.close()])
    },
  }
}

/** All checks, in the order in which the command prints them. */
export const checkGroups = async (given: Config, env: Environment): Promise<CheckGroup[]> => {
  const secretFiles = isContainer(env) ? [] : secretFilesIn(env)
  const { config, close, whyNotOpened } = await withOwnDatabase(given)
  return [
    machineChecks(given, secretFiles),
    databaseChecks(config, env, whyNotOpened),
    redisChecks(config),
    outsideChecks(config),
    ...(close ? [{ checks: [], close }] : []),
  ]
}
