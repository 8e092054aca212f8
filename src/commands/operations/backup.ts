import { randomBytes } from 'node:crypto'
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'
import type { Header } from '../../backups/backup-file.js'
import { sealingKeyId } from '../../keys/sealed-values.js'
import { whyUnwritable } from '../../lib/operator-error.js'
import { countText } from '../../lib/text.js'
import { roleToGrant } from '../../platform/database/open.js'
import { type PostgresAddress, postgresAddress } from '../../platform/database/postgres-address.js'
import { commandLog } from '../../platform/log.js'
import { roles } from '../../platform/own-postgres/cluster.js'
import { keptSecrets, makeSecret, secretsFolder } from '../../platform/own-postgres/kept-secrets.js'
import { hasCluster, openForCommand } from '../../platform/own-postgres/own-postgres.js'
import { ownConfigOf } from '../../service/own-database.js'
import { signingKeyId } from '../../sessions/tokens.js'
import { type Environment, loadSettings } from '../../settings/config.js'
import { type Command, type CommandContext, CommandFailure, OutputFailure, print, readArguments } from '../command.js'
import { exitCodes, watchForInterruption } from '../terminal/progress.js'

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

type Written = { rows: number; bytes: number; sha256: string }
type Write = (output: Writable) => Promise<Written>

/** The file itself, if the name is a link to it. The name of a device or a pipe must not be replaced by a file. */
const finalPath = async (path: string) => {
  const status = await stat(path).catch(() => undefined)
  if (status && !status.isFile())
    throw new CommandFailure(
      `${path} is ${status.isDirectory() ? 'a folder' : 'no ordinary file'}: name a file, or write to standard output with -.`,
    )
  return status ? await realpath(path) : path
}

/** Not every platform can write the names in a folder to the disk. */
const syncFolder = async (path: string) => {
  const folder = await open(path, 'r').catch(() => undefined)
  await folder?.sync().catch(() => undefined)
  await folder?.close()
}

/** Leaves the file open, because it must be synced. */
const streamInto = (file: FileHandle) =>
  new Writable({ write: (chunk: Buffer, _encoding, done) => void file.appendFile(chunk).then(() => done(), done) })

/** Under the name there is a whole backup at any time, or what was there before. */
const intoFile = async (name: string, write: Write) => {
  const path = await finalPath(name)
  const unfinished = `${path}.unfinished-${randomBytes(4).toString('hex')}`
  try {
    const file = await open(unfinished, 'wx', 0o600)
    try {
      const written = await write(streamInto(file))
      await file.sync()
      await rename(unfinished, path)
      await syncFolder(dirname(path))
      return written
    } finally {
      await file.close()
    }
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined)
    const isOfFile = error instanceof Error && 'syscall' in error && whyUnwritable(error) !== undefined
    throw isOfFile
      ? new CommandFailure(`No backup was made: ${name} cannot be written: ${whyUnwritable(error)}.`)
      : error
  }
}

const intoOutput = async ({ stdout }: CommandContext, write: Write) => {
  if (stdout.isTTY)
    throw new CommandFailure('A backup is no text for a terminal: name a file, or send the output to a program.')
  let failure: Error | undefined
  stdout.on('error', (error) => {
    failure ??= error
  })
  try {
    return await write(stdout)
  } catch (error) {
    throw failure ? new OutputFailure(stdout, failure) : error
  }
}

const secretsOf = (signing: readonly string[], sealingKey: readonly string[] | undefined) => {
  if (signing.length === 0)
    throw new CommandFailure('--with-secrets: there is no JWT_SECRET here. Run this with the settings of the service.')
  return { JWT_SECRET: signing.join(','), ...(sealingKey && { SEALING_KEY: sealingKey.join(',') }) }
}

const noteAboutSecrets = (withSecrets: boolean) =>
  withSecrets
    ? 'It has JWT_SECRET and SEALING_KEY: whoever reads it can sign in as any user.'
    : 'What is sealed in it opens with SEALING_KEY (or else JWT_SECRET) only: keep that too, and apart from it.'

export const backup: Command = {
  summary: 'Write the whole database into one file',
  help: `latchkey backup FILE [--with-secrets]
latchkey backup - > FILE

Writes one snapshot of the database, as the owner of the tables, while the service runs. \`latchkey restore\` fills an empty
database with it, here or elsewhere. The file is for the operator alone (mode 0600), and appears under its name when it is
complete; - writes to standard output. It has password hashes. Waiting mails, webhooks and logout notices are not in it.

The line at the end, on standard error, says how many rows it has, how many bytes, and its SHA-256.

  --with-secrets   put JWT_SECRET and SEALING_KEY into it too. Then the file is as secret as they are. Without it, keep them
                   elsewhere: without them, signed-in users, authenticator apps and keys are lost`,

  printsOnce: true,
  run: async (args, context) => {
    const { values, positionals } = readArguments(args, { 'with-secrets': { type: 'boolean' } }, ['FILE'])
    const [name = ''] = positionals
    const withSecrets = values['with-secrets'] ?? false
    const { noDatabaseFailure, readBackupPlace } = await import('./backup.js')
    const { open: openPlace, isNew, signing, sealingKey } = await readBackupPlace(await context.settings())
    if (isNew) throw noDatabaseFailure()
    const { writeBackup } = await import('../../backups/write-backup.js')
    const { readMigrations } = await import('../../platform/database/migrate.js')
    const { migrationsDirectory } = await import('../../service/prepare-database.js')
    const place = await openPlace(false)
    const source = {
      address: place.address,
      migrations: await readMigrations(migrationsDirectory),
      signingSecrets: signing,
      secrets: withSecrets ? secretsOf(signing, sealingKey) : undefined,
    }
    const stop = new AbortController()
    const watch = watchForInterruption(() => stop.abort())
    const write: Write = (output) => writeBackup(source, output, stop.signal)
    try {
      const { rows, bytes, sha256 } = await (name === '-' ? intoOutput(context, write) : intoFile(name, write))
      const what = `${countText(rows, 'row')}, ${countText(bytes, 'byte')}, SHA-256 ${sha256}`
      await print(context.stderr, `Backed up ${what}. ${noteAboutSecrets(withSecrets)}`)
      return 0
    } catch (error) {
      const signal = watch.signal()
      if (!signal) throw error
      await print(context.stderr, 'No backup was made: it was interrupted.')
      return exitCodes[signal]
    } finally {
      watch.stopWatching()
      await place.close()
    }
  },
}
