import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { chown, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { childrenOf, hasEnded, sendSignal } from './processes.js'
import { testProgram } from './programs.js'
import { type Account, freePort, ownFolder, type RunningServer, startServer } from './server.js'

const run = promisify(execFile)

export type PostgresServer = RunningServer & { port: number; url: string }

export type PostgresOptions = {
  settings?: Record<string, string>
  /** Start as a streaming standby of this server, under this name (for `synchronous_standby_names`). */
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

/** The folder of all programs of PostgreSQL: a folder of the PATH may have a link to `initdb` alone. */
export const postgresFolder = () => dirname(realpathSync(testProgram('initdb')))

/** A PostgreSQL server of its own, on a free port, in a temporary folder. Every user of this machine may connect. */
export const startPostgres = async ({ settings = {}, standby }: PostgresOptions = {}): Promise<PostgresServer> => {
  const programs = postgresFolder()
  const { account, folder, data, asAccount } = await prepareFolder()
  const template = process.env.TEST_POSTGRES_TEMPLATE

  if (standby) {
    const from = `host=127.0.0.1 port=${standby.of.port} user=postgres application_name=${standby.name}`
    const copy = ['--pgdata', data, '--dbname', from, '--write-recovery-conf', '--checkpoint=fast', '--no-sync']
    await run(join(programs, 'pg_basebackup'), copy, asAccount)
  } else if (template) await run('cp', ['-Rp', template, data], asAccount)
  else await initialize(data, asAccount)

  const port = await freePort()
  const all = { ...testSettings, ...settings, port: String(port) }
  const args = ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const server = await startServer({
    command: join(programs, 'postgres'),
    args,
    folder,
    account,
    endSignal: 'SIGQUIT',
    ready: () => isReady(join(programs, 'pg_isready'), port),
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

type AsAccount = Partial<Account> & { cwd: string }

const prepareFolder = async () => {
  const account = await unprivilegedAccount()
  const folder = await ownFolder('postgres')
  if (account) await chown(folder, account.uid, account.gid)
  const asAccount: AsAccount = { ...account, cwd: folder }
  return { account, folder, data: join(folder, 'data'), asAccount }
}

const initialize = async (data: string, asAccount: AsAccount) => {
  const locale = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'
  const make = ['--pgdata', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', `--locale=${locale}`]
  await run(testProgram('initdb'), [...make, '--no-sync', '--no-instructions'], asAccount)
}

/** Once for a run: the servers of the test processes begin with a copy of it, which takes a tenth of the time. */
export const preparePostgresTemplate = async () => {
  const { folder, data, asAccount } = await prepareFolder()
  await initialize(data, asAccount)
  return { data, remove: () => rm(folder, { recursive: true, force: true }) }
}

const isReady = (pgIsReady: string, port: number): Promise<boolean> =>
  run(pgIsReady, ['--quiet', '--host=127.0.0.1', `--port=${port}`]).then(
    () => true,
    () => false,
  )

// PostgreSQL refuses to run as root, and rightly.
export const unprivilegedAccount = async (): Promise<Account | undefined> => {
  if (process.getuid?.() !== 0) return undefined
  const [uid, gid] = await idsOf('postgres').catch(() => idsOf('nobody'))
  return { uid, gid }
}

const idsOf = async (user: string): Promise<[number, number]> => {
  const [uid, gid] = await Promise.all([run('id', ['-u', user]), run('id', ['-g', user])])
  return [Number(uid.stdout), Number(gid.stdout)]
}
