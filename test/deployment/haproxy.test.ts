import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshPostgres } from '../support/databases.js'
import { isLongRun } from '../support/long-run.js'
import { testProgram } from '../support/servers/programs.js'
import { type RedisServer, startRedis } from '../support/servers/redis.js'
import { freePort, ownFolder, startServer } from '../support/servers/server.js'
import { createVisitor, type FrontEnd, type Visitor } from '../support/site/https-client.js'
import { type Instance, startInstance } from '../support/site/instance.js'
import { freePorts, listens, makeCertificate } from '../support/site/nginx.js'
import { addPeople, password } from '../support/site/site.js'
import { until } from '../support/until.js'
import { expectPlainRefused } from './proxy-answers.js'

const run = promisify(execFile)
const file = fileURLToPath(new URL('../../deploy/haproxy/haproxy.cfg', import.meta.url))

/** The shipped file with nothing changed but names, ports and places; and a socket to ask it which servers are up. */
const startHaproxy = async (ports: { plain: number; tls: number }, instances: number[]) => {
  const folder = await ownFolder('haproxy')
  const certificate = await makeCertificate(folder)
  await writeFile(join(folder, 'latchkey.pem'), certificate + (await readFile(join(folder, 'privkey.pem'), 'utf8')))
  const [one, two] = instances
  const socket = join(folder, 'stats.sock')
  const localised = (await readFile(file, 'utf8'))
    .replace('global\n', `global\n    stats socket ${socket}\n`)
    .replace('bind :80', `bind 127.0.0.1:${ports.plain}`)
    .replace('bind :443', `bind 127.0.0.1:${ports.tls}`)
    .replace('/etc/ssl/latchkey/', `${folder}/`)
    .replace('https://app.example.com code', `https://localhost:${ports.tls} code`)
    .replaceAll('app.example.com', 'localhost')
    .replace('127.0.0.1:3001', `127.0.0.1:${one}`)
    .replace('127.0.0.1:3002', `127.0.0.1:${two}`)
  const config = join(folder, 'haproxy.cfg')
  await writeFile(config, localised)
  const { stdout } = await run(testProgram('haproxy'), ['-c', '-f', config])
  if (!stdout.includes('valid')) throw new Error(stdout)
  const server = await startServer({
    command: testProgram('haproxy'),
    args: ['-db', '-f', config],
    folder,
    ready: () => listens(ports.tls),
    endSignal: 'SIGTERM',
  })
  /** `UP` or `DOWN`, server by server. */
  const states = () =>
    new Promise<string[]>((resolve, reject) => {
      let text = ''
      const asked = connect(socket, () => asked.write('show stat\n'))
      asked.on('data', (chunk: Buffer) => (text += chunk)).on('error', reject)
      asked.on('close', () => {
        const lines = text.split('\n').map((line) => line.split(','))
        resolve(
          lines.filter(([proxy, name]) => proxy === 'latchkey' && name !== 'BACKEND').map((line) => line[17] ?? ''),
        )
      })
    })
  return {
    ...server,
    port: ports.tls,
    plainPort: ports.plain,
    certificate,
    states,
    log: () => readFile(join(folder, 'server.log'), 'utf8'),
  }
}

describe('two instances behind HAProxy', () => {
  const leftovers: (() => Promise<void>)[] = []
  const later = <Started extends { stop(): Promise<void> }>(started: Started) => {
    leftovers.push(started.stop)
    return started
  }
  let redis: RedisServer
  let instances: Instance[]
  let haproxy: Awaited<ReturnType<typeof startHaproxy>>
  let door: FrontEnd
  let ada: Visitor
  beforeAll(async () => {
    const database = await freshPostgres()
    leftovers.push(database.drop)
    await addPeople(database.url, ['ada'])
    redis = later(await startRedis())
    const ports = await freePorts()
    const settings = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      SMTP_URL: 'smtp://127.0.0.1:2525',
      PUBLIC_URL: `https://localhost:${ports.tls}`,
    }
    instances = await Promise.all([1, 2].map(async () => startInstance(await freePort(), settings)))
    for (const each of instances) later(each)
    haproxy = later(
      await startHaproxy(
        ports,
        instances.map(({ port }) => port),
      ),
    )
    door = haproxy
    await until('both are up', async () => (await haproxy.states()).join() === 'UP,UP')
    ada = createVisitor(door)
    expect((await ada.post('/login', { username: 'ada', password })).status).toBe(200)
  })
  afterAll(async () => {
    for (const leave of leftovers.reverse()) await leave()
  })

  it('refuses what should have been encrypted, and redirects pages', async () => {
    await expectPlainRefused(haproxy.plainPort, `https://localhost:${haproxy.port}`)
  })

  it('is asked with the address that HAProxy saw, one HSTS header, and no query string in its log', async () => {
    const forged = {
      'x-forwarded-for': '203.0.113.9',
      'x-auth-username': 'forged',
      forwarded: 'for=203.0.113.9',
      'x-request-id': '5f0c3a52-7d1e-4b8a-9c36-e2f40d715a98',
    }
    const answer = await ada.get('/api/auth/sessions?secret=in-the-query', forged)
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('"ip":"127.0.0.1"')
    expect(answer.text).not.toContain('203.0.113.9')
    const hsts = answer.lines.filter(([name]) => name === 'strict-transport-security')
    expect(hsts).toEqual([['strict-transport-security', 'max-age=31536000; includeSubDomains']])
    await until('it is logged', async () => (await haproxy.log()).includes('"path":"/api/auth/sessions"'))
    expect(answer.headers['x-request-id']).not.toBe(forged['x-request-id'])
    expect(await haproxy.log()).toContain(`"request":"${answer.headers['x-request-id']}"`)
    expect(await haproxy.log()).not.toContain('in-the-query')
  })

  it('is not asked for what is meant for programs beside it', async () => {
    for (const path of ['/api/service/users/1', '/%61pi/service/users/1'])
      expect((await ada.get(path)).status, path).toBe(404)
  })

  if (isLongRun) {
    it('keeps every instance while Redis is away, because all of them serve', async () => {
      redis.signal('SIGKILL')
      const health = () => Promise.all(instances.map(async ({ url }) => (await fetch(`${url}/health`)).status))
      await until('/health of both says so', async () => (await health()).join() === '503,503')
      // Three checks of each instance, one a second.
      const seen = new Set<string>()
      const statuses = new Set<number>()
      for (let second = 0; second < 6; second += 1) {
        seen.add((await haproxy.states()).join())
        statuses.add((await ada.get('/api/auth/me')).status)
        statuses.add((await createVisitor(door).post('/login', { username: 'ada', password })).status)
        await new Promise((resolve) => setTimeout(resolve, 500))
      }
      expect([...seen]).toEqual(['UP,UP'])
      expect([...statuses]).toEqual([200])
      await redis.restart()
    })

    it('loses no request while one of them shuts down', async () => {
      let going = true
      const statuses: number[] = []
      const ask = async () => {
        while (going) statuses.push((await ada.get('/api/auth/me').catch(() => ({ status: 0 }))).status)
      }
      const work = [ask(), ask()]
      await instances[0]?.terminate()
      going = false
      await Promise.all(work)
      expect(statuses.length).toBeGreaterThan(5)
      expect(statuses.filter((status) => status !== 200)).toEqual([])
      await until('it is out', async () => (await haproxy.states()).join() !== 'UP,UP')
    })
  }
})
