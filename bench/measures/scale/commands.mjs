// How long the commands of operators take, and how much memory, on the database with very many users.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printTable } from '../../load/rounds.mjs'
import { idOf } from '../../subjects/filled.mjs'
import { environment } from '../../subjects/large.mjs'
import { program } from '../../subjects/latchkey.mjs'

/** @typedef {NonNullable<import('../../subjects/stores.mjs').Stores>} Stores */

/** @type {(users: number) => Record<string, string[]>} */
const commands = (users) => ({
  'doctor (mail and proxy do not answer here)': ['doctor'],
  stats: ['stats'],
  'user show': ['user', 'show', `user-${users - 1}`],
  'user search, a whole address': ['user', 'search', `user-${users - 1}@example.com`],
  'user search, what no user has': ['user', 'search', 'zzzzzz'],
  'user list, the disabled': ['user', 'list', '--disabled'],
  'user list, unused for 30 days': ['user', 'list', '--unused-since', '30d'],
  'group members, one in a thousand': ['group', 'members', 'few'],
  'user disable': ['user', 'disable', idOf('user', users - 3)],
  'user enable': ['user', 'enable', idOf('user', users - 3)],
  'export of one user': ['user', 'export', idOf('user', users - 4)],
  'user delete': ['user', 'delete', idOf('user', users - 5), '--yes'],
  'events of a user': ['events', '--user', `user-${users - 6}`],
})

/** @type {(args: string[], env: Record<string, string>) => Promise<{ seconds: number, bytes: number, peak: number, code: number, said: string }>} */
const run = async (args, env) => {
  const begun = performance.now()
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let bytes = 0
  let said = ''
  child.stdout.on('data', (part) => (bytes += part.length))
  child.stderr.on('data', (part) => (said = `${said}${part}`.slice(-300)))
  let peak = 0
  const look = async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
    peak = Math.max(peak, (Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024) / 1e6)
  }
  const timer = setInterval(() => void look(), 50)
  const code = await new Promise((resolve) => child.on('close', resolve))
  clearInterval(timer)
  return { seconds: (performance.now() - begun) / 1000, bytes, peak, code: Number(code), said }
}

/** @param {Stores} stores @param {import('../../subjects/large.mjs').LargeSizes} sizes */
export const measureCommands = (stores, { users }) =>
  runAll(stores, `Commands, ${users.toLocaleString('en')} users`, commands(users))

/** By itself, because it takes longer than all others. @param {Stores} stores */
export const measureExport = (stores) => runAll(stores, 'Export', { 'export of all users': ['user', 'export'] })

/**
 * A backup of everything, and its restore into an empty database on the same server.
 * @param {Stores} stores
 */
export const measureBackup = async (stores) => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-bench-'))
  try {
    const env = await environment(stores, folder)
    const file = join(folder, 'latchkey.backup')
    const backup = await run(['backup', file], env)
    const target = await stores.database()
    const restore = await run(['restore', file], { ...env, DATABASE_URL: target })
    const size = (await stat(file)).size
    const rowOf = (
      /** @type {string} */ name,
      /** @type {Awaited<ReturnType<typeof run>>} */ { seconds, peak, code, said },
    ) => {
      if (code !== 0) console.log(said)
      return [name, seconds.toFixed(1), `${(size / 1e6).toFixed(0)} MB`, `${peak.toFixed(0)} MB`, String(code)]
    }
    printTable('Backup', [
      ['latchkey', 'seconds', 'file', 'memory', 'exit code'],
      rowOf('backup', backup),
      rowOf('restore', restore),
    ])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @type {(stores: Stores, title: string, named: Record<string, string[]>) => Promise<void>} */
const runAll = async (stores, title, named) => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-bench-'))
  try {
    const env = await environment(stores, folder)
    const rows = [['latchkey', 'seconds', 'printed', 'memory', 'exit code']]
    for (const [name, args] of Object.entries(named)) {
      const { seconds, bytes, peak, code, said } = await run(args, env)
      console.log(`${name}: ${seconds.toFixed(1)} s ${code === 0 ? '' : said.trim()}`)
      const printed = bytes > 1e6 ? `${(bytes / 1e6).toFixed(0)} MB` : `${bytes} bytes`
      rows.push([name, seconds.toFixed(1), printed, `${peak.toFixed(0)} MB`, String(code)])
    }
    printTable(title, rows)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
