import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import type { Database } from '../../src/platform/database/database.js'
import { migrateAsOwner } from '../../src/platform/database/open.js'
import { grantsFor } from '../../src/service/tables.js'
import { loadConfig } from '../../src/settings/config.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { emptyPostgres, freshPostgres, migrationsDirectory, testPostgres, urlFor } from '../support/databases.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { read } from '../support/project.js'
import { type PostgresServer, postgresFolder, startPostgres } from '../support/servers/postgres.js'
import { noStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

const run = promisify(execFile)
const secret = randomBytes(48).toString('hex')

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-backup-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** The commands as deploy/README.md prints them. */
const printed = async () => {
  const [, section = ''] = (await read('deploy/README.md')).split("\n## With PostgreSQL's own programs\n")
  const [dump = '', restore = ''] = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, commands = '']) => commands)
  const [prepare = ''] = dump.split(/^umask/m)
  return { dump, restore: `${prepare}${/^pg_restore .*$/m.exec(restore)?.[0] ?? 'false'}` }
}

const runAsOwner = (commands: string, ownerUrl: string) => {
  const PATH = [process.env.PATH, postgresFolder()].join(':')
  return run('sh', ['-euc', commands], { cwd: folder, env: { PATH, DATABASE_OWNER_URL: ownerUrl } })
}

/** The same person's browser, sent to another place: cookies go by name, whatever serves them. */
const movedTo = (service: Latchkey, { jar }: Browser) => {
  const browser = service.browser()
  for (const [name, value] of jar) browser.jar.set(name, value)
  return browser
}

const refreshed = async (browser: Browser) => (await browser.post('/api/auth/refresh')).status
const login = async (service: Latchkey, username: string) =>
  (await service.browser().post('/login', { username, password: goodPassword })).status

/** The steps of docs/operating.md, in its order. */
describe('a dump of PostgreSQL', () => {
  const role = `latchkey_backup_${randomBytes(6).toString('hex')}`
  // `pg_dump` reads servers of its own version and older ones.
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ ofMachine: true })
  })
  afterAll(() => server?.stop())

  /** People of three kinds: gone quiet before the dump, active after it, and new after it. */
  const liveUntilDump = async () => {
    const { url, drop } = await freshPostgres(server.url)
    const service = await startLatchkey({ settings: { DATABASE_URL: url, JWT_SECRET: secret } })
    const quiet = await service.signedUp('quiet')
    const active = await service.signedUp('active')
    const leaving = await service.signedUp('leaving')
    await addAuthenticator(await service.signedUp('careful'), service)
    await runAsOwner((await printed()).dump, url)
    for (const _ of [1, 2]) await refreshed(active)
    const left = leaving.copy()
    await leaving.act('/api/auth/logout')
    await service.signedUp('late')
    await service.stop()
    await drop()
    return { quiet, active, left }
  }

  /** The steps for a lost secret. */
  const withoutSecret = async (url: string, admin: Database) => {
    const settings = { NODE_ENV: 'test', DATABASE_URL: url, JWT_SECRET: randomBytes(48).toString('hex') }
    await expect(startLatchkey({ settings })).rejects.toThrow('cannot be opened: the key that sealed them is missing')
    const store = {
      openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(loadConfig(settings), role),
    }
    const concerned = await admin.query(
      'select username from users join totp_secrets on totp_secrets.user_id = users.id',
    )
    expect(concerned).toEqual([{ username: 'careful' }])
    expect(await latchkey(store, ['keys', 'rotate', '--compromised', '--yes'])).toMatchObject({ code: 0 })
    expect(await latchkey(store, ['user', 'factors', 'reset', 'careful', '--yes'])).toMatchObject({ code: 0 })
    const service = await startLatchkey({ settings })
    expect(await login(service, 'careful')).toBe(200)
    await service.stop()
  }

  it('brings back all users who were there, signed in, and can be used by the least privileged role', async () => {
    const { quiet, active, left } = await liveUntilDump()
    expect((await stat(join(folder, 'latchkey.dump'))).mode & 0o777).toBe(0o600)
    const { url, drop } = await emptyPostgres(server.url)
    await runAsOwner((await printed()).restore, url)

    const admin = testPostgres(url)
    await admin.query(`create role ${role} login password 'only-for-this-test'`)
    const own = urlFor(url, { user: role, password: 'only-for-this-test' })
    expect(await migrateAsOwner({ url: own, ownerUrl: url, directory: migrationsDirectory, grantsFor })).toEqual([])
    const environment = { NODE_ENV: 'test', DATABASE_URL: own, JWT_SECRET: secret }
    const { out: report } = await latchkey(noStore, ['doctor'], { environment })
    expect(report).toMatch(/^ok +database role /m)
    expect(report).toMatch(/^ok +database schema /m)

    const service = await startLatchkey({ settings: { DATABASE_URL: own, JWT_SECRET: secret } })
    expect(await refreshed(movedTo(service, quiet))).toBe(200)
    expect(await login(service, 'active')).toBe(200)
    expect(await login(service, 'late')).toBe(401)
    // Who refreshed after the dump goes on. What the guide warns of: who signed out after it is back.
    expect(await refreshed(movedTo(service, active))).toBe(200)
    expect(await refreshed(movedTo(service, left))).toBe(200)
    // Its remedy.
    await admin.query('truncate sessions')
    expect(await refreshed(movedTo(service, quiet))).toBe(401)
    await service.stop()
    await withoutSecret(own, admin)
    await admin.query(`drop owned by ${role}`)
    await admin.query(`drop role ${role}`)
    await admin.close()
    await drop()
  })
})

describe('a copy of the data directory', () => {
  it('taken while the service is stopped, is a whole installation: users, sessions and secret', async () => {
    const [original, copy] = [join(folder, 'data'), join(folder, 'copy')]
    const first = await startLatchkey({ stores: 'own', settings: { DATA_DIR: original } })
    const ada = await first.signedUp('ada')
    await first.stop()
    await cp(original, copy, { recursive: true, preserveTimestamps: true })

    const second = await startLatchkey({ stores: 'own', settings: { DATA_DIR: copy } })
    expect(await refreshed(movedTo(second, ada))).toBe(200)
    expect(await login(second, 'ada')).toBe(200)
    await second.stop()
  })
})
