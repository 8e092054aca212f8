import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/lib/clock.js'
import { uuidv7 } from '../../src/lib/uuid.js'
import { createTokens } from '../../src/sessions/tokens.js'
import { createBrowser } from '../support/client.js'
import { freshPostgres, whileAway } from '../support/databases.js'
import { goodPassword } from '../support/latchkey.js'
import { isLongRun } from '../support/long-run.js'
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

// One program for all of these, because the first start takes seconds.
describe('a start without settings', () => {
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
    // On a busy machine the port may open before the database is ready.
    await until('it is healthy', async () => (await fetch(`${url}/health`)).status === 200)
  })
  afterAll(async () => {
    for (const each of started) await each.stop()
    await rm(place, { recursive: true, force: true })
  })

  it('prints one line with the address, says where the database is, and serves both development providers', async () => {
    const { stdout } = first.output
    expect(stdout).toContain(`its database is in ${place}`)
    expect(stdout).toContain(`mails are shown at ${url}/dev/mailbox`)
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^\S+ info {2}starting version=\d+\.\d+\.\d+(?:\+[\da-f]{12}(?:-dirty)?)? /)
    expect(lines.filter((line) => !/^\d\d:\d\d:\d\d (info |warn ) \S/.test(line))).toEqual([])
    expect(await (await fetch(`${url}/login`)).text()).toMatch(/GitHub/)
    const { mode } = await stat(join(place, 'secrets', 'jwt_secret'))
    expect(mode & 0o777).toBe(0o600)
    first.signal('SIGHUP')
    await first.says(/nothing was read again: SERVICE_KEYS_FILE is not set/)
  })

  const signUp = async () => {
    const tab = createBrowser(url)
    await tab.post('/api/auth/register', { username: 'ada', email: 'ada@example.com', password: goodPassword })
    const mailbox = async () => (await fetch(`${url}/dev/mailbox.json`)).text()
    await expect.poll(mailbox).toContain('#token=')
    const token = /#token=([\w-]+)/.exec(await mailbox())?.[1]
    expect((await tab.post('/api/auth/verify-email', { token })).status).toBe(200)
    return tab
  }

  it(`ends on SIGTERM with 0 after health has said no${isLongRun ? ', and finds everything again' : ''}`, async () => {
    const tab = isLongRun ? await signUp() : createBrowser(url)
    first.signal('SIGTERM')
    await expect.poll(async () => (await fetch(`${url}/health`)).status).toBe(503)
    const ready = await fetch(`${url}/health/ready`)
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'draining' }])
    expect(await first.exited).toBe(0)

    // In every run, operations/backup starts a service on a copy of the data, and own-postgres kills one that writes.
    if (!isLongRun) return
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

describe('a database that cannot be reached at the start', () => {
  let early: Promise<number>[]
  it('is waited for: the log says so, health is 503, and access goes on once it is there', async () => {
    const port = await freePort()
    const JWT_SECRET = secretOf('a')
    const METRICS_PORT = String(await freePort())
    const program = run({ DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/latchkey`, JWT_SECRET, METRICS_PORT })
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
    expect(await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text()).toMatch(/^latchkey_ready 0$/m)
    // It does not know yet which sessions have ended.
    const iat = Math.floor(Date.now() / 1000)
    const [userId, sid] = [uuidv7(new Date()), uuidv7(new Date())]
    const who = { userId, username: 'ada', email: 'ada@example.com', name: null, amr: ['pwd'], groups: [] }
    const tokens = createTokens({ secrets: [JWT_SECRET], clock: systemClock, issuer: url })
    const token = tokens.signAccess({ ...who, sid, gen: 0, iat, exp: iat + 900, auth_time: iat })
    const headers = { cookie: `access_token=${token}` }
    for (const path of ['/api/auth/verify', '/api/auth/me', '/login', '/api/nothing']) {
      const answer = await fetch(`${url}${path}`, { headers })
      expect([path, answer.status, answer.headers.get('retry-after')]).toEqual([path, 503, '5'])
      expect(await answer.json()).toMatchObject({ code: 'unavailable' })
    }
    const login = await createBrowser(url).post('/login', { username: 'ada', password: 'x' })
    expect([login.status, login.headers.get('retry-after')]).toEqual([503, '5'])
    program.signal('SIGTERM')
    expect(await program.exited).toBe(0)
  })

  it('is no reason to restart the process, and no request is lost while the start goes on', async () => {
    const database = await freshPostgres()
    const [port, redis] = [await freePort(), await freePort()]
    const url = `http://127.0.0.1:${port}`
    const program = runLatchkey(folder, {
      ...{ DATABASE_URL: database.url, REDIS_URL: `redis://127.0.0.1:${redis}`, PORT: String(port) },
      DRAIN_DELAY: '60s',
    })
    running.push({ stop: program.stop }, { stop: database.drop })
    const status = (path: string) =>
      fetch(`${url}${path}`).then(
        (answer) => answer.status,
        () => 0,
      )
    await whileAway(database.url, async () => {
      await program.says(/starting/)
      await until('the process answers', async () => (await status('/health/live')) === 200)
      expect(await Promise.all(['/health', '/health/ready'].map(status))).toEqual([503, 503])
      expect(program.output.stdout).not.toMatch(/listening at|ready at/)
      early = [status('/login'), status('/api/auth/me')]
    })
    // They wait for the end of the start; on a busy machine it may be later than they wait (src/service/serving.test.ts).
    expect([
      [200, 401],
      [503, 503],
    ]).toContainEqual(await Promise.all(early))
    await program.says(/Server listening at [\s\S]*Latchkey is ready at/)
    program.signal('SIGKILL')
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
