import { randomBytes } from 'node:crypto'
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'
import { whyUnwritable } from '../../lib/operator-error.js'
import { countText } from '../../lib/text.js'
import { syncFolder } from '../../platform/sync-folder.js'
import { type CommandContext, CommandFailure, commandWithoutRooms, OutputFailure, print } from '../command.js'
import { printableJson } from '../terminal/printing.js'
import { exitCodes, watchForInterruption } from '../terminal/progress.js'

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

export const backup = commandWithoutRooms({
  summary: 'Write the whole database into one file',
  help: `latchkey backup FILE [--with-secrets] [--json]
latchkey backup - > FILE

Writes one snapshot of the database, as the owner of the tables, while the service runs. \`latchkey restore\` fills an empty
database with it, here or elsewhere. The file is for the operator alone (mode 0600), and appears under its name when it is
complete; - writes to standard output. It has password hashes. Waiting mails, webhooks and logout notices are not in it.

The line at the end, on standard error, says how many rows it has, how many bytes, and its SHA-256.

  --with-secrets   put JWT_SECRET and SEALING_KEY into it too. Then the file is as secret as they are. Without it, keep them
                   elsewhere: without them, signed-in users, authenticator apps and keys are lost`,
  json: '{"file", "rows", "bytes", "sha256"}; with - on standard error',
  printsOnce: true,
  args: ['FILE'],
  options: { 'with-secrets': { type: 'boolean' } },
  run: async ({ args: [name], values, context }) => {
    const withSecrets = values['with-secrets'] ?? false
    const { noDatabaseFailure, readBackupPlace } = await import('./backup-place.js')
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
      const json = { file: name, rows, bytes, sha256 }
      // Standard output may have the backup itself.
      if (values.json && name === '-') await print(context.stderr, printableJson(json))
      if (values.json) return name === '-' ? 0 : { json, text: undefined }
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
})
