import { roleToGrant } from '../../platform/database/open.js'
import { type PostgresAddress, postgresAddress } from '../../platform/database/postgres-address.js'
import { commandLog } from '../../platform/log.js'

import { roles } from '../../platform/own-postgres/cluster.js'
import { keptSecrets } from '../../platform/own-postgres/kept-secrets.js'
import { hasCluster, openForCommand } from '../../platform/own-postgres/own-postgres.js'
import { ownConfigOf } from '../../service/own-database.js'
import { type Environment, loadSettings } from '../../settings/config.js'
import { CommandFailure } from '../command.js'

/** How to connect as the owner of the tables. */
type OpenedPlace = { address: PostgresAddress; close(): Promise<void> }

/** What a backup and a restore need of the settings: the others may be missing or wrong. */
export const readBackupPlace = async (environment: Environment) => {
  const settings = loadSettings(environment, [
    'NODE_ENV',
    'DATA_DIR',
    'DATABASE_URL',
    'DATABASE_OWNER_URL',
    'DATABASE_POOL',
    'WORKERS',
    'POSTGRES_BIN',
    'JWT_SECRET',
    'SEALING_KEY',
  ])
  const { dataDir, databaseUrl: url, databaseOwnerUrl } = settings
  const ownerUrl = databaseOwnerUrl ?? url
  const isOwn = ownerUrl === undefined
  const signing = settings.jwtSecret ?? (await keptSecrets(dataDir, 'jwt_secret')) ?? []
  const sealingKey = settings.sealingKey ?? (isOwn ? await keptSecrets(dataDir, 'sealing_key') : undefined)

  /** `mayCreate`: a database of our own is made if there is none. */
  const open = async (mayCreate: boolean): Promise<OpenedPlace> => {
    if (ownerUrl !== undefined) return { address: postgresAddress(ownerUrl), close: async () => undefined }
    const config = ownConfigOf({ ...settings, production: settings.nodeEnv === 'production' })
    const own = await openForCommand({ config, log: commandLog(), mayCreate })
    return { address: postgresAddress(own.settings.databaseOwnerUrl), close: own.close }
  }

  return {
    open,
    isOwn,
    isNew: isOwn && !(await hasCluster(dataDir)),
    serviceRole: isOwn ? roles.service : url === undefined ? undefined : roleToGrant({ url, ownerUrl }),
    dataDir,
    signing,
    sealing: sealingKey ?? signing,
    sealingKey,
  }
}

export const noDatabaseFailure = () =>
  new CommandFailure('There is no database to back up: set DATA_DIR to the folder of your service, or DATABASE_URL.')
