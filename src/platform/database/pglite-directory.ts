import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { PGlite } from '@electric-sql/pglite'

type Dependencies = { directory: string; templateFile?: string | undefined }

/** Small segments keep a new directory small. With the usual size, most of it would be an unused log. */
export const initdbParameters = ['--wal-segsize=1']

/** PGlite's own parameters, with less memory (200 MB instead of 320) and a log that shrinks after a checkpoint. */
export const startParameters = [
  ...PGlite.defaultStartParams,
  ...['shared_buffers=16MB', 'min_wal_size=16MB', 'max_wal_size=64MB'].flatMap((setting) => ['-c', setting]),
]

/**
 * Creates the directory of the database if it does not exist. It is created under another name and then renamed, so that a process
 * that is killed in between leaves nothing that looks like a database. The caller must hold the lock on the directory.
 */
export const prepareDirectory = async ({ directory, templateFile }: Dependencies) => {
  removeLeftovers(directory)
  if (existsSync(join(directory, 'PG_VERSION'))) return
  const draft = `${directory}.new-${randomBytes(6).toString('hex')}`
  mkdirSync(draft, { mode: 0o700 })
  if (templateFile && existsSync(templateFile)) unpack(gunzipSync(readFileSync(templateFile)), draft)
  else await initialize(draft)
  removeEmptyFolder(directory)
  renameSync(draft, directory)
}

// An existing folder may be replaced if it is empty.
const removeEmptyFolder = (directory: string) => {
  if (!existsSync(directory)) return
  if (readdirSync(directory).length > 0) throw new Error(`${directory} holds files, but no database`)
  rmdirSync(directory)
}

const removeLeftovers = (directory: string) => {
  const prefix = `${basename(directory)}.new-`
  for (const name of readdirSync(dirname(directory))) {
    if (name.startsWith(prefix)) rmSync(join(dirname(directory), name), { recursive: true, force: true })
  }
}

// This takes several seconds. A template makes it unnecessary.
const initialize = async (directory: string) => {
  const database = await PGlite.create(directory, { initDbStartParams: initdbParameters })
  await database.close()
}

const blockSize = 512

const textAt = (archive: Buffer, start: number, length: number) =>
  archive.toString('utf8', start, start + length).replace(/\0.*$/s, '')

/** Unpacks a tar archive (POSIX ustar). Each entry is a block of 512 bytes with its name, octal size and kind, and then its content. */
const unpack = (archive: Buffer, directory: string) => {
  for (let at = 0; at + blockSize <= archive.length && archive[at] !== 0; ) {
    const name = [textAt(archive, at + 345, 155), textAt(archive, at, 100)].filter(Boolean).join('/')
    const size = Number.parseInt(textAt(archive, at + 124, 12).trim() || '0', 8)
    const isFolder = archive[at + 156] === '5'.charCodeAt(0)
    const path = join(directory, name)
    if (isFolder) mkdirSync(path, { recursive: true, mode: 0o700 })
    else {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, archive.subarray(at + blockSize, at + blockSize + size), { mode: 0o600 })
    }
    at += blockSize + Math.ceil(size / blockSize) * blockSize
  }
}
