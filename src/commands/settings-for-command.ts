import { settingsOfService } from '../platform/own-postgres/own-postgres.js'
import { type Environment, loadSettings } from '../settings/config.js'

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
