import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshPostgres } from '../harness/databases.js'
import { testProgram } from '../services/programs.js'
import { freePort, ownFolder, startServer } from '../services/server.js'
import { type Application, startApplication } from './application.js'
import { freePorts, listens, makeCertificate } from './front.js'
import { startInstance } from './instance.js'
import { addPeople, password } from './site.js'
import { createVisitor, type Door } from './visitor.js'

const file = fileURLToPath(new URL('../../deploy/forward-auth/Caddyfile', import.meta.url))

const startCaddy = async (ports: { plain: number; tls: number }, instance: number, application: number) => {
  const folder = await ownFolder('caddy')
  const certificate = await makeCertificate(folder)
  const shipped = await readFile(file, 'utf8')
  const site = shipped
    .replace('auth.example.com {', `localhost:${ports.tls} {\n\ttls ${folder}/fullchain.pem ${folder}/privkey.pem`)
    .replaceAll('127.0.0.1:3001 127.0.0.1:3002', `127.0.0.1:${instance}`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${application}`)
  const global = `{\n\tadmin off\n\thttp_port ${ports.plain}\n\thttps_port ${ports.tls}\n\tskip_install_trust\n}\n`
  await writeFile(join(folder, 'Caddyfile'), global + site)
  const server = await startServer({
    command: testProgram('caddy'),
    args: ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
    folder,
    env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    ready: () => listens(ports.tls),
  })
  return { ...server, port: ports.tls, certificate }
}

describe('an application behind Caddy and the access check', () => {
  const leftovers: (() => Promise<void>)[] = []
  let application: Application
  let door: Door
  beforeAll(async () => {
    const database = await freshPostgres()
    leftovers.push(database.drop)
    await addPeople(database.url, ['ada'])
    application = await startApplication()
    leftovers.push(application.stop)
    const ports = await freePorts()
    const instance = await startInstance(await freePort(), {
      DATABASE_URL: database.url,
      REDIS_URL: process.env.TEST_REDIS_URL ?? '',
      REDIS_PREFIX: `test:${Math.random().toString(36).slice(2)}:`,
      SMTP_URL: 'smtp://127.0.0.1:2525',
      PUBLIC_URL: `https://localhost:${ports.tls}`,
      LOGIN_LIMIT: '5/15m',
    })
    leftovers.push(instance.stop)
    const caddy = await startCaddy(ports, instance.port, application.port)
    leftovers.push(caddy.stop)
    door = caddy
  }, 90_000)
  afterAll(async () => {
    for (const leave of leftovers.reverse()) await leave()
  })

  const forged = { 'x-auth-user-id': 'forged', 'x-auth-username': 'forged', 'x-forwarded-for': '203.0.113.9' }
  const navigation = (site: string) => ({ accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': site })

  it('is told who asks, by Caddy alone, and gets no token', async () => {
    const visitor = createVisitor(door)
    expect((await visitor.post('/login', { username: 'ada', password })).status).toBe(200)
    visitor.jar.set('theme', 'dark')
    const answer = await visitor.post('/reports?a=1', { some: 'body' }, forged)
    expect(answer.status).toBe(200)
    expect(answer.lines.filter(([name]) => name === 'strict-transport-security')).toHaveLength(1)
    const heard = application.last()
    expect(heard).toMatchObject({ method: 'POST', url: '/reports?a=1', body: '{"some":"body"}' })
    expect(heard?.headers['x-auth-username']).toBe('ada')
    expect(heard?.headers['x-auth-user-id']).toMatch(/^[\da-f-]{36}$/)
    expect(heard?.headers.cookie).toBe('access_token=; refresh_token=; theme=dark')
  })

  it('tells a program, shows a person the way, and bounces once', async () => {
    const before = application.heard.length
    const visitor = createVisitor(door)
    const program = await visitor.get('/reports', forged)
    expect([program.status, program.body.error]).toEqual([401, 'Not authenticated'])
    const person = await visitor.get('/reports', navigation('none'))
    expect([person.status, person.headers.refresh]).toEqual([401, undefined])
    expect(person.text).toContain("location.replace('/login?returnTo='")
    const first = await visitor.get('/reports', navigation('cross-site'))
    expect([first.status, first.headers.refresh]).toEqual([401, '0'])
    const second = await visitor.get('/reports', navigation('cross-site'))
    expect([second.status, second.headers.refresh]).toEqual([401, undefined])
    expect(application.heard).toHaveLength(before)
  })

  it('cannot be told another address by a client', async () => {
    const statuses: number[] = []
    for (let guess = 0; guess < 6; guess += 1) {
      const headers = { 'x-forwarded-for': `203.0.113.${guess}`, forwarded: `for=203.0.113.${guess}` }
      const answer = await createVisitor(door).post('/login', { username: 'ada', password: 'wrong' }, headers)
      statuses.push(answer.status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })
})
