import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { chown, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import {
  type Account as BroughtAccount,
  findPrograms,
  isRoot,
  asAccount as prefixed,
  programIn,
  runProgram,
  usualAccount,
} from '../../../src/platform/own-postgres/programs.js'

import { childrenOf, hasEnded, sendSignal } from './processes.js'
import { testProgram } from './programs.js'
import { type Account, freePort, ownFolder, type RunningServer, startServer } from './server.js'

const run = promisify(execFile)

export type PostgresServer = RunningServer & { port: number; url: string }

export type PostgresOptions = {
  settings?: Record<string, string>
  /** The PostgreSQL of this machine instead of the one that the package brings, which has neither `pg_dump` nor standbys. */
  ofMachine?: boolean
  /** Start as a streaming standby of this server of the machine, under this name (for `synchronous_standby_names`). */
  standby?: { of: PostgresServer; name: string }
}

// Nothing here outlives the run, so the disk need not be waited for. A commit still reaches the operating system before
// it is answered, and therefore outlives a kill -9 of the server.
const testSettings = {
  fsync: 'off',
  full_page_writes: 'off',
  // It would visit every database of every test.
  autovacuum: 'off',
  max_connections: '300',
  shared_buffers: '64MB',
  unix_socket_directories: '',
  listen_addresses: '127.0.0.1',
}

/** The folder of all programs of the machine's PostgreSQL: a folder of the PATH may have a link to `initdb` alone. */
export const postgresFolder = () => dirname(realpathSync(testProgram('initdb')))

type Server = {
  folder: string
  data: string
  account: Account | undefined
  /** The program and its arguments. */
  command(args: readonly string[]): [string, string[]]
  env: Record<string, string>
  initialize(): Promise<void>
}

const initdbArguments = (data: string) => [
  ...['--pgdata', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--no-sync', '--no-instructions'],
]

/** The PostgreSQL of the machine, as a user who is not root. */
const machineServer = async (folder: string): Promise<Server> => {
  const account = await unprivilegedAccount()
  if (account) await chown(folder, account.uid, account.gid)
  const data = join(folder, 'data')
  const locale = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'
  return {
    folder,
    data,
    account,
    command: (args) => [join(postgresFolder(), 'postgres'), [...args]],
    env: {},
    initialize: async () => {
      await run(testProgram('initdb'), [...initdbArguments(data), `--locale=${locale}`], { ...account, cwd: folder })
    },
  }
}

/** The PostgreSQL that the package brings. */
const broughtServer = async (folder: string): Promise<Server> => {
  const account: BroughtAccount = (await usualAccount()) ?? { prefix: [], ...(await unprivilegedAccount()) }
  const { uid, gid } = account
  const usual = uid === undefined || gid === undefined ? undefined : { uid, gid }
  if (usual) await chown(folder, usual.uid, usual.gid)
  const search = { account, chosenFolder: undefined, clusterMajor: undefined }
  const programs = await findPrograms({ ...search, librariesFolder: join(folder, 'libraries') })
  const data = join(folder, 'data')
  const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  return {
    folder,
    data,
    account: usual,
    command: (args) => prefixed(account, programIn(programs.folder, 'postgres'), args),
    env: programs.environment,
    initialize: async () => {
      await runProgram(account, programs, 'initdb', [...initdbArguments(data), ...locale])
    },
  }
}

const copyOfPrimary = async (
  { data, account, folder }: Server,
  { of, name }: NonNullable<PostgresOptions['standby']>,
) => {
  const from = `host=127.0.0.1 port=${of.port} user=postgres application_name=${name}`
  const copy = ['--pgdata', data, '--dbname', from, '--write-recovery-conf', '--checkpoint=fast', '--no-sync']
  await run(join(postgresFolder(), 'pg_basebackup'), copy, { ...account, cwd: folder })
}

/** A PostgreSQL server of its own, on a free port, in a temporary folder. Every user of this machine may connect. */
export const startPostgres = async ({
  settings = {},
  standby,
  ofMachine = standby !== undefined,
}: PostgresOptions = {}): Promise<PostgresServer> => {
  const ownServer = ofMachine ? machineServer : broughtServer
  const { folder, data, account, command, env, ...parts } = await ownServer(await ownFolder('postgres'))
  const template = ofMachine ? undefined : process.env.TEST_POSTGRES_TEMPLATE

  if (standby) await copyOfPrimary({ folder, data, account, command, env, ...parts }, standby)
  else if (template) await run('cp', ['-Rp', template, data], { ...account, cwd: folder })
  else await parts.initialize()

  const port = await freePort()
  const all = { ...testSettings, ...settings, port: String(port) }
  const [program, args] = command([
    '-D',
    data,
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ])
  const server = await startServer({
    command: program,
    args,
    folder,
    account,
    env,
    endSignal: 'SIGQUIT',
    ready: () => isReady(port),
  })
  let killed: number[] = []
  const signal: RunningServer['signal'] = (name) => {
    if (!server.alive()) return
    // It accepts no connection while its processes are listed: the process of a new one would be missed.
    sendSignal(server.pid(), 'SIGSTOP')
    const processes = [server.pid(), ...childrenOf(server.pid())]
    if (name === 'SIGKILL') killed = processes
    // Each connection is a process: pausing or killing only the first one would leave the others answering.
    for (const pid of processes) sendSignal(pid, name)
    if (name !== 'SIGSTOP') sendSignal(server.pid(), 'SIGCONT')
  }
  const restart = async () => {
    // PostgreSQL refuses a data folder as long as one process of the killed server still holds its memory.
    while (!killed.every(hasEnded)) await sleep(10)
    await server.restart()
  }
  return { ...server, signal, restart, port, url: `postgres://postgres@127.0.0.1:${port}/postgres` }
}

/** Once for a run: the servers of the test processes begin with a copy of it, which takes a tenth of the time. */
export const preparePostgresTemplate = async () => {
  const server = await broughtServer(await ownFolder('postgres'))
  await server.initialize()
  return { data: server.data, remove: () => rm(server.folder, { recursive: true, force: true }) }
}

const isReady = async (port: number): Promise<boolean> => {
  const client = new Client({ host: '127.0.0.1', port, user: 'postgres', password: '', connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

// PostgreSQL refuses to run as root, and rightly.
export const unprivilegedAccount = async (): Promise<Account | undefined> => {
  if (!isRoot()) return undefined
  const [uid, gid] = await idsOf('postgres').catch(() => idsOf('nobody'))
  return { uid, gid }
}

const idsOf = async (user: string): Promise<[number, number]> => {
  const [uid, gid] = await Promise.all([run('id', ['-u', user]), run('id', ['-g', user])])
  return [Number(uid.stdout), Number(gid.stdout)]
}
