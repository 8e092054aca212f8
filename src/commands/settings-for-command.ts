import { embeddedDirectory } from '../app/open-platform.js'
import { type Environment, loadSettings } from '../config.js'
import { settingsOfService } from '../platform/database/pglite-client.js'

/**
 * A command that uses the embedded database of a running service has the settings of that service: with another PUBLIC_URL its
 * links would lead nowhere, and with another secret the service could not read what it has written.
 */
export const settingsFor = async (own: Environment): Promise<Environment> => {
  // Production has no embedded database.
  if (loadSettings(own, ['NODE_ENV']).nodeEnv === 'production') return own
  const { databaseUrl, dataDir } = loadSettings(own, ['DATABASE_URL', 'DATA_DIR'])
  if (databaseUrl !== undefined) return own
  const settings = await settingsOfService(embeddedDirectory({ dataDir }))
  return settings ? { ...settings, DATA_DIR: dataDir } : own
}
