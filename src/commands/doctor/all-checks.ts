import { openBesideService } from '../../platform/own-postgres/own-postgres.js'
import { ownConfigOf, withStoresOf } from '../../service/own-database.js'
import { type Config, type Environment, secretFilesIn } from '../../settings/config.js'
import { type CheckGroup, isContainer } from './check.js'
import { databaseChecks } from './database.js'
import { machineChecks } from './machine.js'
import { outsideChecks, redisChecks } from './outside.js'

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

/** All checks, in the order in which the command prints them. */
export const checkGroups = async (given: Config, env: Environment): Promise<CheckGroup[]> => {
  const secretFiles = isContainer(env) ? [] : secretFilesIn(env)
  const { config, close, whyNotOpened } = await withOwnDatabase(given)
  return [
    machineChecks(given, secretFiles),
    databaseChecks(config, whyNotOpened),
    redisChecks(config),
    outsideChecks(config),
    ...(close ? [{ checks: [], close }] : []),
  ]
}
