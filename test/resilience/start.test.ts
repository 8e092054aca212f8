import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTokens } from '../../src/domain/tokens/tokens.js'
import { systemClock } from '../../src/lib/clock.js'
import { uuidv7 } from '../../src/lib/uuid.js'
import { createBrowser } from '../support/client.js'
import { freshPostgres, migrationNames, testPostgres } from '../support/databases.js'
import { goodPassword } from '../support/latchkey.js'
import { runLatchkey } from '../support/program.js'
import { freePort } from '../support/servers/server.js'
import { secretOf } from '../support/site/instance.js'
import { until } from '../support/until.js'

// Each of these starts whole processes, one after another.
vi.setConfig({ testTimeout: 120_000 })

let folder: string
const running: { stop(): Promise<void> }[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-start-'))
})
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop()
  await rm(folder, { recursive: true, force: true })
})

const run = (settings: Record<string, string> = {}, args?: string[]) => {
  const program = runLatchkey(folder, settings, args)
  running.push(program)
  return program
}

/** Loaded before the program: reading package.json fails, which the program does not expect. */
const fault = `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const { readFileSync } = fs
  fs.readFileSync = (file, ...rest) => {
    if (String(file).endsWith('/package.json')) throw new Error('broken on purpose')
    return readFileSync(file, ...rest)
  }
  syncBuiltinESMExports()`

it('names the lines of the sources when something fails that it does not expect', async () => {
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(fault)}`
  const program = run({ NODE_OPTIONS }, ['--version'])
  expect(await program.exited).toBe(1)
  expect(program.output.stderr).toMatch(
    /^Error: broken on purpose\n.* at programVersion \(\S+\/src\/platform\/version\.ts:\d+:\d+\)/s,
  )
})

// One program for all of these, because the embedded database takes seconds to start.
describe('a start on the embedded defaults', () => {
  let place: string
  let first: ReturnType<typeof runLatchkey>
  let url: string
  const started: { stop(): Promise<void> }[] = []
  const start = (settings: Record<string, string> = {}) => {
    const program = runLatchkey(place, settings)
    started.push(program)
    return program
  }
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'latchkey-start-'))
    first = start({ DRAIN_DELAY: '1s' })
    url = await first.ready()
    // On a busy machine the port may open before the embedded database is ready.
    await until('it is healthy', async () => (await fetch(`${url}/health`)).status === 200)
  })
  afterAll(async () => {
    for (const each of started) await each.stop()
    await rm(place, { recursive: true, force: true })
  })

  it('prints one line with the address, says what the embedded database is for, and serves both development providers', async () => {
    const { stdout } = first.output
    expect(stdout).toMatch(/for development only, not safe against power loss/)
    expect(stdout).toContain(`mails are shown at ${url}/dev/mailbox`)
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^\S+ info {2}starting version=\d+\.\d+\.\d+ /)
    expect(lines.filter((line) => !/^\d\d:\d\d:\d\d (info |warn ) \S/.test(line))).toEqual([])
    expect(await (await fetch(`${url}/login`)).text()).toMatch(/GitHub/)
    const { mode } = await stat(join(place, 'secret'))
    expect(mode & 0o777).toBe(0o600)
  })

  it('tells a second process on the same folder so, and leaves the first alone', async () => {
    const second = start()
    expect(await second.exited).toBe(1)
    expect(second.output.stderr.trim().split('\n')).toHaveLength(1)
    expect(second.output.stderr).toMatch(/another process|in use/i)
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  it('ends on SIGTERM with 0 after health has said no, and finds everything again', async () => {
    const tab = createBrowser(url)
    await tab.post('/api/auth/register', { username: 'ada', email: 'ada@example.com', password: goodPassword })
    const mailbox = async () => (await fetch(`${url}/dev/mailbox.json`)).text()
    await expect.poll(mailbox).toContain('#token=')
    const token = /#token=([\w-]+)/.exec(await mailbox())?.[1]
    expect((await tab.post('/api/auth/verify-email', { token })).status).toBe(200)

    first.signal('SIGTERM')
    await expect.poll(async () => (await fetch(`${url}/health`)).status).toBe(503)
    const ready = await fetch(`${url}/health/ready`)
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'draining' }])
    expect(await first.exited).toBe(0)

    const { port } = new URL(url)
    const again = start({ PORT: port })
    await again.ready()
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)

    again.signal('SIGKILL')
    await again.exited
    await start({ PORT: port }).ready()
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  })
})

describe('a start that cannot succeed says why in one sentence and changes nothing', () => {
  const refusal = async (settings: Record<string, string>, args?: string[]) => {
    const program = run(settings, args)
    expect(await program.exited).not.toBe(0)
    return program.output.stderr.trim()
  }

  it('for each wrong setting a line, without its value', async () => {
    const said = await refusal({ PORT: 'seventy', JWT_SECRET: 'hunter2', LOGIN_LIMIT: 'lots' })
    expect(said.split('\n').map((line) => line.split(':')[0])).toEqual(['PORT', 'JWT_SECRET', 'LOGIN_LIMIT'])
    expect(said).not.toMatch(/seventy|hunter2|lots/)
    expect(await readdir(folder)).toEqual([])
  })

  it('for production on embedded defaults', async () => {
    const said = await refusal({ NODE_ENV: 'production' })
    expect(said).toContain('DATABASE_URL: must be set in production')
    expect(said).toContain('JWT_SECRET: must be set in production')
  })

  it('for a port in use', async () => {
    const { url, drop } = await freshPostgres()
    const port = await freePort()
    const other = createServer().listen(port, '127.0.0.1')
    expect(await refusal({ PORT: String(port), DATABASE_URL: url })).toBe(
      `127.0.0.1:${port} is in use: set PORT to another port, or stop the program that has it.`,
    )
    other.close()
    await drop()
  })

  it('for a HOST that is no address of this machine', async () => {
    const { url, drop } = await freshPostgres()
    for (const host of ['nohost.invalid', '192.0.2.1'])
      expect(await refusal({ HOST: host, DEVELOPMENT_ON_NETWORK: 'true', DATABASE_URL: url })).toBe(
        'HOST cannot be listened on: it must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them.',
      )
    await drop()
  })

  it('for a data directory that is a file', async () => {
    const file = join(folder, 'file')
    await writeFile(file, 'precious')
    const said = await refusal({ DATA_DIR: file })
    expect(said.split('\n')).toHaveLength(1)
    expect(await readFile(file, 'utf8')).toBe('precious')
  })

  it('for a database at a newer schema', async () => {
    const { url, drop } = await freshPostgres()
    const database = testPostgres(url)
    await database.query(
      "insert into schema_migrations (name, checksum, applied_at) values ('9999-future.sql', 'x', now())",
    )
    await database.close()
    const said = await refusal({ DATABASE_URL: url })
    expect(said.split('\n')).toHaveLength(1)
    expect(said).toMatch(/newer/)
    const several = { NODE_ENV: 'test', WORKERS: '4', PORT: String(await freePort()) }
    expect(await refusal({ ...several, DATABASE_URL: url, REDIS_URL: process.env.TEST_REDIS_URL ?? '' })).toBe(said)
    await drop()
  })

  it('for an unknown command', async () => {
    expect(await refusal({}, ['frobnicate'])).toMatch(/There is no command "frobnicate"/)
  })
})

describe('a database at a newer schema that lets this program run', () => {
  it('is served, with a warning', async () => {
    const { url, drop } = await freshPostgres()
    const database = testPostgres(url)
    await database.query(
      `insert into schema_migrations (name, checksum, applied_at, oldest_program)
       values ('9999-future.sql', 'x', now(), (select count(*) from schema_migrations))`,
    )
    await database.close()
    const program = run({ DATABASE_URL: url })
    await program.says(/the database schema is newer than this program, and compatible with it/)
    expect((await fetch(`${await program.ready()}/health`)).status).toBe(200)
    await program.stop()
    await drop()
  })
})

describe('a database that cannot be reached at the start', () => {
  it('is waited for: the log says so, health is 503, and access goes on once it is there', async () => {
    const port = await freePort()
    const JWT_SECRET = secretOf('a')
    const program = run({ DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/latchkey`, JWT_SECRET })
    const [line] = await program.says(/.*The database cannot be used yet; trying again.*/)
    expect(line).toMatch(/reason=.*ECONNREFUSED/)
    expect(line.match(/ECONNREFUSED/g)).toHaveLength(1)
    const [, url = ''] = await program.says(/listening at (http:[^\s;]+); waiting for the database/)
    expect(program.output.stdout).not.toMatch(/ready at|\n\s+at /)
    expect(program.output.stdout).toMatch(/ connections to other servers database="on this machine"/)
    const health = await fetch(`${url}/health`)
    expect([health.status, (await health.json()).checks.database]).toEqual([503, 'error'])
    expect((await fetch(`${url}/health/live`)).status).toBe(200)
    const ready = await fetch(`${url}/health/ready`)
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'starting' }])
    // It does not know yet which sessions have ended.
    const iat = Math.floor(Date.now() / 1000)
    const [userId, sid] = [uuidv7(new Date()), uuidv7(new Date())]
    const who = { userId, username: 'ada', email: 'ada@example.com', name: null, amr: ['pwd'], groups: [] }
    const tokens = createTokens({ secrets: [JWT_SECRET], clock: systemClock, issuer: url })
    const token = tokens.signAccess({ ...who, sid, gen: 0, iat, exp: iat + 900, auth_time: iat })
    for (const [cookie, status] of [
      [`access_token=${token}`, 503],
      ['access_token=garbage', 401],
    ] as const)
      expect((await fetch(`${url}/api/auth/verify`, { headers: { cookie } })).status).toBe(status)
    const login = await createBrowser(url).post('/login', { username: 'ada', password: 'x' })
    expect([login.status, login.headers.get('retry-after')]).toEqual([503, '5'])
    program.signal('SIGTERM')
    expect(await program.exited).toBe(0)
  })

  it('does not keep a signal waiting: it ends with 0 while it starts, and opens no port', async () => {
    const port = await freePort()
    const program = run({ DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/latchkey`, DRAIN_DELAY: '60s' })
    await program.says(/starting/)
    program.signal('SIGTERM')
    expect(await program.exited).toBe(0)
    expect(program.output.stdout).not.toMatch(/listening at|ready at/)
  })
})

describe('the migrate command', () => {
  it('changes nothing when asked for help or for what it would do, and neither does serve --help', async () => {
    const asked = [
      ['migrate', '--help'],
      ['migrate', '--dry-run'],
      ['migrate', '--status'],
      ['serve', '--help'],
    ]
    const programs = asked.map((args) => run({}, args))
    expect(await Promise.all(programs.map(({ exited }) => exited))).toEqual([0, 0, 0, 0])
    const names = await migrationNames()
    expect(programs[1]?.output.stdout).toContain('Would create the tables of the embedded database in ')
    expect(programs[2]?.output.stdout.match(/^\S+ {2}not applied(?=;|$)/gm)).toHaveLength(names.length)
    expect(await readdir(folder)).toEqual([])
  })

  it('applies what is missing once, and says so', async () => {
    const first = run({}, ['migrate'])
    expect(await first.exited).toBe(0)
    expect(first.output.stdout).toMatch(/^Created the tables of the embedded database in .*\/database\.\n$/)
    const second = run({}, ['migrate'])
    expect(await second.exited).toBe(0)
    expect(second.output.stdout).toMatch(/^Nothing to apply: the embedded database in .*\/database is up to date\.\n$/)
  })
})
