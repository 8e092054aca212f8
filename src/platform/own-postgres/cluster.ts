import { randomBytes } from 'node:crypto'
import { type Dirent, existsSync } from 'node:fs'
import { chmod, chown, cp, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { home } from '../../lib/home.js'
import { OperatorError } from '../../lib/operator-error.js'
import { syncFolder } from '../sync-folder.js'
import { DataDirectoryUnreadable, DataDirectoryUnwritable } from './folder-lock.js'
import { type Account, type Programs, runProgram } from './programs.js'

import { placeFor, type ServerAddress, startServer } from './server.js'

export const databaseName = 'latchkey'
/** The role of the service cannot change tables. The owner of the tables migrates them. */
export const roles = { owner: 'latchkey_owner', service: 'latchkey' } as const
export type Passwords = Record<keyof typeof roles, string>

class ClusterNotMade extends OperatorError {
  override name = 'ClusterNotMade'
}

/** The major version of PostgreSQL that made the cluster; undefined if there is none. Creates nothing. */
export const clusterMajor = async (folder: string): Promise<number | undefined> => {
  const text = await readFile(join(folder, 'PG_VERSION'), 'utf8').catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code === 'EACCES') throw new DataDirectoryUnreadable(dirname(folder), { cause })
    return undefined
  })
  if (text === undefined) return undefined
  const major = Number.parseInt(text, 10)
  if (!(major > 0)) throw new OperatorError(`The database in ${folder} is damaged: restore it from a backup.`)
  return major
}

/** A new cluster that an image brings. Programs of PostgreSQL cannot make one for a user number without a name. */
const broughtCluster = fileURLToPath(new URL('postgres-cluster', home))

const accessRules = (rules: string) =>
  process.platform === 'win32' ? rules.replace(/^local(.*?)(\S+)$/gm, 'host$1127.0.0.1/32 $2') : rules

const usualRules = accessRules(`local ${databaseName} ${roles.owner},${roles.service} scram-sha-256\n`)
const rulesOfFirstMinute = accessRules('local all postgres trust\n')

type ClusterParts = {
  programs: Programs
  account: Account
  folder: string
  holdsSockets: boolean
  passwords: Passwords
}

/**
 * Makes the cluster with its roles and its database under another name, and renames it when it is complete and on disk: PostgreSQL
 * starts on a cluster that was half made, too. The caller holds the lock on the folder.
 */
export const makeCluster = async (parts: ClusterParts) => {
  const { programs, account, folder } = parts
  const draft = `${folder}.new-${randomBytes(6).toString('hex')}`
  try {
    await mkdir(draft, { mode: 0o700 })
    if (account.uid !== undefined && account.gid !== undefined) await chown(draft, account.uid, account.gid)
    await initialize(parts, draft)
    await addRoles(parts, draft)
    await runProgram(account, programs, 'initdb', ['--sync-only', '-D', draft])
    await removeEmptyFolder(folder)
    await rename(draft, folder)
    await syncFolder(dirname(folder))
  } catch (cause) {
    await rm(draft, { recursive: true, force: true })
    if (cause instanceof OperatorError) throw cause
    throw whyNotMade(folder, cause)
  }
}

/** Removes what interrupted starts have left. The caller holds the lock on the folder. */
export const removeDrafts = async (folder: string) => {
  const parent = dirname(folder)
  const drafts = (await readdir(parent)).filter((name) => name.startsWith(`${basename(folder)}.new-`))
  await Promise.all(
    drafts.map((name) => rm(join(parent, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })),
  )
}

/** PostgreSQL refuses a folder that others may enter, and some platforms open all folders of a volume to a group. */
export const closeToOthers = async (folder: string) => {
  const { mode } = await stat(folder)
  if ((mode & 0o077) !== 0) await chmod(folder, 0o700)
}

const initialize = (parts: ClusterParts, draft: string) =>
  existsSync(broughtCluster) ? copyBroughtCluster(draft) : runInitdb(parts, draft)

/** A container may run as any user, so everybody may read the cluster of its image. The copy is for this user alone. */
const copyBroughtCluster = async (draft: string) => {
  await cp(broughtCluster, draft, { recursive: true })
  const entries = await readdir(draft, { recursive: true, withFileTypes: true })
  const close = (entry: Dirent) => chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600)
  await Promise.all([chmod(draft, 0o700), ...entries.map(close)])
}

/** Makes the cluster that an image brings, in a folder that is there and empty. A user with a name must do it. */
export const makeBroughtCluster = (programs: Programs) =>
  runInitdb({ programs, account: { prefix: [] } }, broughtCluster)

const runInitdb = async ({ programs, account }: Pick<ClusterParts, 'programs' | 'account'>, folder: string) => {
  // Text is compared byte by byte, and upper and lower case are those of Unicode, on each machine alike.
  const locales =
    programs.major >= 17
      ? [['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']]
      : [['--locale=C', '--lc-ctype=C.UTF-8'], ['--locale=C']]
  const usual = [
    '-D',
    folder,
    '--username=postgres',
    '--encoding=UTF8',
    '--data-checksums',
    '--auth=reject',
    '--no-sync',
  ]
  let failure: unknown
  for (const locale of locales) {
    try {
      await runProgram(account, programs, 'initdb', [...usual, ...locale])
      return
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

const addRoles = async (parts: ClusterParts, draft: string) => {
  const rules = join(draft, 'pg_hba.conf')
  await writeFile(rules, rulesOfFirstMinute)
  const place = await placeFor(draft, parts.holdsSockets)
  const server = await startServer({ ...parts, folder: draft, place, settings: ['fsync=off'], maxConnections: 20 })
  try {
    await asSuperuser(place.address, 'postgres', setUpServer(parts.passwords))
    await asSuperuser(place.address, databaseName, [
      'revoke create on schema public from public',
      `grant create on schema public to ${roles.owner}`,
    ])
  } finally {
    await server.stop()
    await place.remove()
  }
  await writeFile(rules, usualRules)
}

// The passwords are hexadecimal, so they can stand in the statement.
const setUpServer = ({ owner, service }: Passwords) => [
  `create role ${roles.owner} login password '${owner}'`,
  `create role ${roles.service} login password '${service}'`,
  `create database ${databaseName} owner ${roles.owner}`,
  `revoke all on database ${databaseName} from public`,
  `grant connect on database ${databaseName} to ${roles.service}`,
]

const asSuperuser = async (address: ServerAddress, database: string, statements: readonly string[]) => {
  const client = new Client({ ...address, user: 'postgres', password: '', database, ssl: false })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

/** An operator may have made the folder. */
const removeEmptyFolder = async (folder: string) => {
  if (!existsSync(folder)) return
  if ((await readdir(folder)).length > 0)
    throw new OperatorError(`${folder} holds files, but no database: name another DATA_DIR, or remove them.`)
  await rmdir(folder)
}

const whyNotMade = (folder: string, cause: unknown) => {
  const said = [cause instanceof Error ? cause.message : '', stderrOf(cause)].join('\n')
  if (/No space left on device|ENOSPC/.test(said))
    return new DataDirectoryUnwritable(dirname(folder), { cause: Object.assign(new Error('full'), { code: 'ENOSPC' }) })
  if (/EACCES|EROFS|EPERM|Permission denied|Read-only file system/.test(said))
    return new DataDirectoryUnwritable(dirname(folder), { cause })
  if (/could not look up effective user ID/.test(said))
    return new ClusterNotMade(
      `PostgreSQL makes no database for the user number ${process.getuid?.() ?? ''}, which has no name on this machine: add the user, or use the image of Latchkey.`,
      { cause },
    )
  if (/could not fsync/.test(said))
    return new ClusterNotMade(
      `The file system of ${dirname(folder)} cannot write files to disk for certain (fsync): choose a DATA_DIR on another one.`,
      { cause },
    )
  const [reason = 'no reason was given'] =
    said.match(/(?<=error: |FATAL: +|PANIC: +).+/) ?? said.trim().split('\n').slice(-1)
  return new ClusterNotMade(`The database in ${folder} could not be made: ${reason}`, { cause })
}

const stderrOf = (error: unknown) => (error instanceof Error && 'stderr' in error ? String(error.stderr) : '')
