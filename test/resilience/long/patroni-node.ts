import { chown, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { postgresFolder, unprivilegedAccount } from '../../support/servers/postgres.js'
import { childrenOf, sendSignal } from '../../support/servers/processes.js'
import { testProgram } from '../../support/servers/programs.js'
import { freePort, ownFolder, startServer } from '../../support/servers/server.js'

/** Seconds. A primary that is gone is replaced after `ttl` at the latest, and what follows takes about one `loop_wait`. */
export const timing = { ttl: 10, loop_wait: 1, retry_timeout: 3 }

type Place = { name: string; etcd: string; folder: string; port: number; control: number }

// Patroni reads YAML, and JSON is YAML.
const configurationOf = ({ name, etcd, folder, port, control }: Place) => ({
  scope: 'latchkey',
  name,
  restapi: { listen: `127.0.0.1:${control}`, connect_address: `127.0.0.1:${control}` },
  // Not `etcd3`: Patroni before 3.0.3 (Debian 12 has 3.0.2) lets an old primary that wakes up overwrite the leader there.
  etcd: { host: etcd },
  bootstrap: {
    dcs: {
      ...timing,
      synchronous_mode: true,
      postgresql: {
        use_pg_rewind: true,
        parameters: {
          fsync: 'off',
          wal_log_hints: 'on',
          max_connections: 100,
          shared_buffers: '64MB',
        },
      },
    },
    initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, { auth: 'trust' }, 'no-sync'],
  },
  postgresql: {
    listen: `127.0.0.1:${port}`,
    connect_address: `127.0.0.1:${port}`,
    data_dir: join(folder, 'data'),
    bin_dir: postgresFolder(),
    pgpass: join(folder, 'pgpass'),
    authentication: { superuser: { username: 'postgres' }, replication: { username: 'replicator' } },
    pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
    parameters: { unix_socket_directories: folder },
    basebackup: [{ checkpoint: 'fast' }, 'no-sync'],
    remove_data_directory_on_rewind_failure: true,
    remove_data_directory_on_diverged_timelines: true,
  },
})

export type PatroniNode = Awaited<ReturnType<typeof startNode>>

/** A PostgreSQL server under Patroni. Its signals reach both, as if the machine were cut off, frozen or woken. */
export const startNode = async (name: string, etcd: string) => {
  const account = await unprivilegedAccount()
  const folder = await ownFolder('patroni')
  const [port, control] = [await freePort(), await freePort()]
  const file = join(folder, 'patroni.json')
  await writeFile(file, JSON.stringify(configurationOf({ name, etcd, folder, port, control })))
  if (account) await chown(folder, account.uid, account.gid)

  const ask = (path: string) => fetch(`http://127.0.0.1:${control}${path}`, { signal: AbortSignal.timeout(1000) })
  const isGood = (path: string) =>
    ask(path).then(
      ({ ok }) => ok,
      () => false,
    )
  const patroni = await startServer({
    command: testProgram('patroni'),
    args: [file],
    folder,
    account,
    ready: () => isGood('/liveness'),
  })
  /** The server's first process writes its number into its folder. Patroni lets it live when Patroni itself is killed. */
  const postgresProcesses = async () => {
    const [first = ''] = (await readFile(join(folder, 'data/postmaster.pid'), 'utf8').catch(() => '')).split('\n')
    return Number(first) > 0 ? [Number(first), ...childrenOf(Number(first))] : []
  }
  const signal = async (signalName: NodeJS.Signals) => {
    const processes = await postgresProcesses()
    patroni.signal(signalName)
    for (const pid of processes) sendSignal(pid, signalName)
  }
  return {
    name,
    port,
    file,
    ask,
    /** The last lines of Patroni and of its PostgreSQL. */
    log: async () => (await readFile(join(folder, 'server.log'), 'utf8')).split('\n').slice(-15).join('\n'),
    isPrimary: () => isGood('/primary'),
    signal,
    restart: () => patroni.restart(),
    stop: async () => {
      await signal('SIGKILL')
      await patroni.stop()
    },
  }
}
