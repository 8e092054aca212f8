import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Header } from '../../backups/backup-file.js'
import type { Restored } from '../../backups/restore-backup.js'
import { whyUnreadable } from '../../lib/operator-error.js'
import { countText } from '../../lib/text.js'
import type { PostgresAddress } from '../../platform/database/postgres-address.js'
import { secretsFolder } from '../../platform/own-postgres/kept-secrets.js'
import { clusterFolder } from '../../platform/own-postgres/own-postgres.js'
import { CommandFailure, commandWithoutRooms, operator } from '../command.js'
import { openInput } from '../import/input.js'
import type { createSecretsOfBackup, Place } from './backup-place.js'

const plurals: Readonly<Record<string, string>> = {
  'waiting code or link': 'waiting codes and links',
  'use of an application': 'uses of applications',
}

const listed = (parts: readonly string[]) =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`

const endedSentence = ({ ended }: Restored) => {
  if (ended === undefined) return 'Sessions, links and invitations go on as they were then.'
  const parts = [...ended].flatMap(([what, count]) => (count === 0 ? [] : countText(count, what, plurals[what])))
  return parts.length === 0 ? 'There was nothing that had to end.' : `Ended: ${listed(parts)}.`
}

/** A file that cannot be read is a failure of the operator's; whatever else happens is not. */
const withReadingFault = async function* (bytes: AsyncIterable<Buffer | string>, name: string) {
  try {
    yield* bytes
  } catch (error) {
    throw new CommandFailure(`${name} cannot be read: ${whyUnreadable(error)}. Nothing was restored.`)
  }
}

type Secrets = ReturnType<typeof createSecretsOfBackup>

/**
 * Opens the database when it is known that the backup fits: the secrets of the backup come first, because a database of our own depends on
 * them. If the restore fails, a database that was made for it goes again.
 */
const withPlace = async (
  { open, isNew, serviceRole, dataDir }: Place,
  secrets: Secrets,
  work: (open: (header: Header) => Promise<PostgresAddress>, serviceRole: string | undefined) => Promise<Restored>,
) => {
  const hadSecrets = existsSync(secretsFolder(dataDir))
  let close: () => Promise<void> = async () => undefined
  try {
    const openPlace = async (header: Header) => {
      await secrets.keep(header)
      const opened = await open(true)
      close = opened.close
      return opened.address
    }
    const restored = await work(openPlace, serviceRole)
    await close()
    return restored
  } catch (error) {
    await close()
    if (isNew) await rm(clusterFolder(dataDir), { recursive: true, force: true })
    if (!hadSecrets) await rm(secretsFolder(dataDir), { recursive: true, force: true })
    throw error
  }
}

export const restore = commandWithoutRooms({
  summary: 'Fill an empty database from a backup',
  help: `latchkey restore FILE [--keep-sessions] [--without-key] [--json]
latchkey restore - < FILE

Fills the database of the settings with a file of \`latchkey backup\`, as the owner of the tables, and migrates it. The database
has no users, and no service runs on it; whatever else it has is replaced. Everything happens in one transaction, which is
committed only if the whole file is as it was written: otherwise nothing of it stays. Run it with the JWT_SECRET and SEALING_KEY
of the time of the backup. If none are set and the file has them (--with-secrets), they are kept in DATA_DIR. Without
DATABASE_URL, the database that Latchkey brings along is made in DATA_DIR.

A restore brings the past back: old passwords, removed passkeys, users who were deleted. Nothing is mailed, and no webhook or
notice is sent. All users get new access tokens. If the backup is older than an hour, all sessions, trusted devices, unfinished
sign-ins, waiting codes and links, undo links and invitations of it end. docs/operating.md says what else to do.

  --keep-sessions   they do not end, however old the backup is
  --without-key     although the key is lost for good. The service does not start then before
                    \`latchkey keys rotate --compromised --yes\` and \`latchkey user factors reset --unreadable --yes\``,
  json: '{"rows", "takenAt", "ended": {WHAT: count}}',
  args: ['FILE'],
  options: { 'keep-sessions': { type: 'boolean' }, 'without-key': { type: 'boolean' } },
  run: async ({ args: [name], values, context }) => {
    if (name === '-' && context.stdin.isTTY)
      throw new CommandFailure('Nothing comes from a terminal: name a file, or send one to standard input.')
    const { createSecretsOfBackup, readBackupPlace } = await import('./backup-place.js')
    const place = await readBackupPlace(await context.settings())
    const secrets = createSecretsOfBackup(place, values['without-key'] ?? false)
    const { restoreBackup } = await import('../../backups/restore-backup.js')
    const { grantsFor } = await import('../../service/tables.js')
    const { systemClock } = await import('../../lib/clock.js')
    const { readMigrations } = await import('../../platform/database/migrate.js')
    const { migrationsDirectory } = await import('../../service/prepare-database.js')
    const migrations = await readMigrations(migrationsDirectory)
    const input = await openInput(name, context)
    const bytes = withReadingFault(input.bytes, name === '-' ? 'Standard input' : name)
    try {
      const restored = await withPlace(place, secrets, (open, serviceRole) =>
        restoreBackup(
          {
            open,
            migrations,
            grants: serviceRole === undefined ? undefined : grantsFor(serviceRole),
            keepsSessions: values['keep-sessions'] ?? false,
            clock: systemClock,
            client: operator(context),
            checkKeys: secrets.check,
          },
          bytes,
        ),
      )
      const what = `${countText(restored.rows, 'row')}, as they were at ${restored.takenAt.toISOString()}`
      const { rows, takenAt, ended } = restored
      return {
        json: { rows, takenAt: takenAt.toISOString(), ended: Object.fromEntries(ended ?? []) },
        text: `Restored ${what}. ${endedSentence(restored)}`,
        notes: secrets.notes(),
      }
    } finally {
      input.stop()
    }
  },
})
