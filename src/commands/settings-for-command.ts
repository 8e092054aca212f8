import { embeddedDirectory } from '../app/open-platform.js'
import { type Environment, loadSettings } from '../config.js'
import { settingsOfService } from '../platform/database/pglite-client.js'

/**
 * A command that uses the embedded database of a running service gets the settings of that service. With another PUBLIC_URL the
 * links of the command would lead nowhere, and with another secret the service could not read what the command has written.
 */
export const settingsFor = async (environment: Environment): Promise<Environment> => {
  // Production has no embedded database.
  if (loadSettings(environment, ['NODE_ENV']).nodeEnv === 'production') return environment
  const { databaseUrl, dataDir } = loadSettings(environment, ['DATABASE_URL', 'DATA_DIR'])
  if (databaseUrl !== undefined) return environment
  const settings = await settingsOfService(embeddedDirectory({ dataDir }))
  return settings ? { ...settings, DATA_DIR: dataDir } : environment
}
