import { chmod, chown, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { unprivilegedAccount } from './postgres.js'
import { testProgram } from './programs.js'
import { freePort, ownFolder, type RunningServer, startServer } from './server.js'

export type PgBouncer = RunningServer & {
  /** The same database as this address names, through the pooler. */
  through(url: string): string
}

/** A PgBouncer of its own in front of the server that the address names. Few connections, so that clients share them. */
export const startPgBouncer = async (
  server: string,
  settings: { pool_mode: 'transaction' | 'session'; default_pool_size: string },
): Promise<PgBouncer> => {
  const { hostname, port: serverPort } = new URL(server)
  const account = await unprivilegedAccount()
  const folder = await ownFolder('pgbouncer')
  const [file, users, port] = [join(folder, 'pgbouncer.ini'), join(folder, 'users.txt'), await freePort()]
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: users,
    max_client_conn: '200',
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  await writeFile(file, `[databases]\n* = host=${hostname} port=${serverPort}\n\n[pgbouncer]\n${lines.join('\n')}\n`)
  await writeFile(users, '"postgres" ""\n')
  for (const each of [file, users]) await chmod(each, 0o644)
  await chmod(folder, 0o755)
  if (account) await chown(folder, account.uid, account.gid)
  const ready = () => accepts(port)
  const running = await startServer({ command: testProgram('pgbouncer'), args: [file], folder, account, ready })
  return { ...running, through: (url) => Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href }
}

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
