import type { Header } from '../../backups/backup-file.js'
import { sealingKeyId } from '../../keys/sealed-values.js'
import { makeSecret, secretsFolder } from '../../platform/own-postgres/kept-secrets.js'
import { signingKeyId } from '../../sessions/tokens.js'
import { CommandFailure } from '../command.js'
import type { readBackupPlace } from './backup-place.js'

type Place = Pick<Awaited<ReturnType<typeof readBackupPlace>>, 'isOwn' | 'dataDir' | 'signing' | 'sealing'>

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
