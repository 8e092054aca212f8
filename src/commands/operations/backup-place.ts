import type { Header } from '../../backups/backup-file.js'
import { sealingKeyId } from '../../keys/sealed-values.js'
import { roleToGrant } from '../../platform/database/open.js'
import { type PostgresAddress, postgresAddress } from '../../platform/database/postgres-address.js'
import { commandLog } from '../../platform/log.js'
import { roles } from '../../platform/own-postgres/cluster.js'
import { keptSecrets, makeSecret, secretsFolder } from '../../platform/own-postgres/kept-secrets.js'
import { hasCluster, openForCommand } from '../../platform/own-postgres/own-postgres.js'
import { ownConfigOf } from '../../service/own-database.js'
import { signingKeyId } from '../../sessions/tokens.js'
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

export type Place = Awaited<ReturnType<typeof readBackupPlace>>

const listOf = (text: string) => text.split(',')

/** The secrets of a backup that has them: they are used where none are set. */
const secretsIn = ({ secrets }: Header) => {
  if (!secrets) return undefined
  const signing = listOf(secrets.JWT_SECRET)
  return { signing, sealing: secrets.SEALING_KEY === undefined ? signing : listOf(secrets.SEALING_KEY) }
}

const opens = (sealing: readonly string[], { sealedWith }: Header) => {
  const ids = sealing.map(sealingKeyId)
  return sealedWith.every((id) => ids.includes(id))
}

const missingKeyText = ({ secrets }: Header) =>
  secrets
    ? 'The keys that are set here do not open what is sealed in the backup: set its JWT_SECRET and SEALING_KEY, which are in the first line of `gunzip -c FILE`. Nothing was restored.'
    : 'What is sealed in the backup needs a key that is not set here: set SEALING_KEY to that of its time; if it was not set then, JWT_SECRET. If the key is lost for good: --without-key. Nothing was restored.'

/** Whether the secrets of this place fit a backup, and where those of the backup go if this place has none. */
export const createSecretsOfBackup = ({ isOwn, dataDir, signing, sealing }: Place, withoutKey: boolean) => {
  const notes: string[] = []
  const hasOwn = signing.length > 0 || sealing.length > 0

  const check = (header: Header) => {
    const given = hasOwn ? { signing, sealing } : secretsIn(header)
    if (!withoutKey && !opens(given?.sealing ?? [], header)) throw new CommandFailure(missingKeyText(header))
    // Beside a server of its own, the service looks for one secret in DATA_DIR.
    if (
      !isOwn &&
      !hasOwn &&
      header.secrets &&
      (header.secrets.SEALING_KEY !== undefined || (given?.signing.length ?? 0) > 1)
    )
      throw new CommandFailure(
        'The backup has several secrets: set its JWT_SECRET and SEALING_KEY, which are in the first line of `gunzip -c FILE`. Nothing was restored.',
      )
    const ids = given?.signing.map(signingKeyId) ?? []
    if (header.signedWith.length > 0 && !header.signedWith.some((id) => ids.includes(id)))
      notes.push(
        'JWT_SECRET is another one than then: all users have to sign in again, and links in mails do not work.',
      )
  }

  /** Keeps them where a start looks for them, before the first row that needs them. Secrets that are there are never replaced. */
  const keep = async ({ secrets }: Header) => {
    if (hasOwn || !secrets) return
    await makeSecret(dataDir, 'jwt_secret', secrets.JWT_SECRET)
    if (isOwn) await makeSecret(dataDir, 'sealing_key', secrets.SEALING_KEY ?? secrets.JWT_SECRET)
    notes.push(`The secrets of the backup are kept in ${secretsFolder(dataDir)}.`)
  }

  return { check, keep, notes: () => notes }
}
