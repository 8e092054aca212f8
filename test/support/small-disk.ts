import { execFile } from 'node:child_process'
import { chown, type FileHandle, open, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { usualAccount } from '../../src/platform/own-postgres/programs.js'
import { testPostgres, urlFor } from './databases.js'
import { type PostgresServer, unprivilegedAccount } from './servers/postgres.js'
import { ownFolder } from './servers/server.js'

const run = promisify(execFile)

/** A little more than an empty database with our schema. */
const megabytes = 48

const untilFull = async (file: FileHandle, block: Buffer): Promise<void> => {
  try {
    await file.write(block)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return
    throw error
  }
  await untilFull(file, block)
}

/** In large blocks, and then in small ones. */
const fillFile = async (path: string) => {
  const file = await open(path, 'w')
  try {
    for (const size of [1 << 20, 1 << 12]) await untilFull(file, Buffer.alloc(size))
  } finally {
    await file.close()
  }
}

export type SmallDisk = {
  /** False where the full disk is only simulated. */
  isReal: boolean
  url: string
  fill(): Promise<void>
  free(): Promise<void>
  remove(): Promise<void>
}

const asAdministrator = async (url: string, ...statements: string[]) => {
  const admin = testPostgres(url)
  try {
    for (const statement of statements) await admin.query(statement)
  } finally {
    await admin.close()
  }
}

/** A folder on a disk of its own with this many megabytes: mounting one needs root, and without it there is none. */
export const smallFolder = async (size: number) => {
  if (process.getuid?.() !== 0) return undefined
  const folder = await ownFolder('small-folder')
  await run('mount', ['-t', 'tmpfs', '-o', `size=${size}m`, 'latchkey-test', folder])
  return { folder, remove: () => unmount(folder) }
}

const unmount = async (folder: string) => {
  await run('umount', ['--lazy', folder])
  await rmdir(folder)
}

/** A database whose tables are on a disk of their own in memory, which can be filled: mounting one needs root. */
const mountedDisk = async ({ url }: PostgresServer): Promise<SmallDisk> => {
  const folder = await ownFolder('small-disk')
  await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'latchkey-test', folder])
  // In a user namespace of its own, PostgreSQL has the files of root.
  const other = (await usualAccount()) ? undefined : await unprivilegedAccount()
  if (other) await chown(folder, other.uid, other.gid)
  await asAdministrator(url, `create tablespace small location '${folder}'`, 'create database small tablespace small')
  const filling = join(folder, 'filling')
  return {
    isReal: true,
    url: urlFor(url, { database: 'small' }),
    fill: () => fillFile(filling),
    free: () => rm(filling),
    remove: () => unmount(folder),
  }
}

/** Without root: every new session is refused as a full disk refuses it. */
const refusingDatabase = async ({ url }: PostgresServer): Promise<SmallDisk> => ({
  isReal: false,
  url,
  fill: () =>
    asAdministrator(
      url,
      `create function refuse_as_full() returns trigger language plpgsql as
         $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`,
      'create trigger refuse_as_full before insert on sessions execute function refuse_as_full()',
    ),
  free: () => asAdministrator(url, 'drop function refuse_as_full() cascade'),
  remove: async () => undefined,
})

export const smallDisk = (server: PostgresServer) =>
  process.getuid?.() === 0 ? mountedDisk(server) : refusingDatabase(server)
