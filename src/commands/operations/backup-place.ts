import { type Config, type Environment, loadSettings } from '../../config.js'
import { roleToGrant } from '../../platform/database/open.js'
import { type PostgresAddress, postgresAddress } from '../../platform/database/postgres-address.js'
import { existingSecrets } from '../../platform/generated-secret.js'
import { CommandFailure } from '../command.js'

type OwnerOfTables = { address: PostgresAddress; serviceRole: string | undefined }

/** How to connect as the owner of the tables, and the role of the service if that is another one. */
const ownerOfTables = ({
  databaseUrl: url,
  databaseOwnerUrl,
}: Pick<Config, 'databaseUrl' | 'databaseOwnerUrl'>): OwnerOfTables => {
  const ownerUrl = databaseOwnerUrl ?? url
  if (ownerUrl === undefined)
    throw new CommandFailure('This needs a PostgreSQL server: set DATABASE_OWNER_URL or DATABASE_URL.')
  return {
    address: postgresAddress(ownerUrl),
    serviceRole: url === undefined ? undefined : roleToGrant({ url, ownerUrl }),
  }
}

/** What a backup and a restore need of the settings: the others may be missing or wrong. */
export const readBackupPlace = async (environment: Environment) => {
  const settings = loadSettings(environment, [
    'NODE_ENV',
    'DATA_DIR',
    'DATABASE_URL',
    'DATABASE_OWNER_URL',
    'JWT_SECRET',
    'SEALING_KEY',
  ])
  const { dataDir, jwtSecret, sealingKey } = settings
  const signing = jwtSecret ?? (await existingSecrets(dataDir))
  return { owner: ownerOfTables(settings), dataDir, signing, sealing: sealingKey ?? signing, sealingKey }
}
