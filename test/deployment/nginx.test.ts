import { execFile } from 'node:child_process'
import { request as requestPlain } from 'node:http'
import { connect as connectTls } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { securityHeaders } from '../../src/http/headers.js'
import { createVisitor } from '../support/site/https-client.js'
import { addPeople, password, type Site, startSite } from '../support/site/site.js'
import { until } from '../support/until.js'
import { expectPlainRefused } from './proxy-answers.js'

const run = promisify(execFile)
const hsts = 'max-age=31536000; includeSubDomains'

describe('the TLS front end', () => {
  let site: Site
  beforeAll(async () => {
    site = await startSite({ instances: 2, settings: { LOGIN_LIMIT: '5/15m' } })
    await addPeople(site.databaseUrl, ['ada'])
  })
  afterAll(() => site?.stop())

  /** What a handshake of exactly this version ends with. OpenSSL itself must not be the one who refuses. */
  const handshake = async (version: string, name = 'localhost') => {
    const place = ['-connect', `127.0.0.1:${site.front.port}`, '-servername', name]
    const asked = run('openssl', ['s_client', ...place, `-${version}`, '-cipher', 'ALL:@SECLEVEL=0'], { timeout: 5000 })
    asked.child.stdin?.end()
    return asked.then(
      ({ stdout }) => /Protocol *: (\S+)|New, (TLSv[\d.]+), /.exec(stdout)?.slice(1).find(Boolean) ?? 'none',
      () => 'refused',
    )
  }

  /** Writes these bytes after a handshake, and reads one answer, or what comes until the end. */
  const speak = (bytes: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls({ port: site.front.port, servername: 'localhost', ca: site.front.certificate })
      let heard = ''
      socket.setEncoding('utf8').on('data', (text: string) => {
        heard += text
        const [head = '', body] = heard.split('\r\n\r\n')
        if (body?.length === Number(/content-length: (\d+)/i.exec(head)?.[1])) socket.destroy()
      })
      socket.once('secureConnect', () => socket.write(bytes))
      socket.once('close', () => resolve(heard))
      socket.once('error', reject)
      socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')))
    })

  const speakPlain = (path: string, headers: Record<string, string>) =>
    new Promise<{ status: number; location: string; server: string; hsts: string | undefined }>((resolve, reject) => {
      const asked = requestPlain({ host: '127.0.0.1', port: site.front.ports.plain, path, headers }, (answer) => {
        answer.resume()
        const { location = '', server, 'strict-transport-security': sent } = answer.headers
        resolve({ status: answer.statusCode ?? 0, location, server: String(server), hsts: sent })
      })
      asked.once('error', reject).end()
    })

  it('speaks TLS 1.2 and 1.3 and nothing older', async () => {
    expect(await handshake('tls1')).toBe('refused')
    expect(await handshake('tls1_1')).toBe('refused')
    expect(await handshake('tls1_2')).toBe('TLSv1.2')
    expect(await handshake('tls1_3')).toBe('TLSv1.3')
  })

  it('shows no certificate to a client that asks for another name', async () => {
    expect(await handshake('tls1_3', 'elsewhere.example')).toBe('refused')
    expect(await speak('GET / HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n')).toBe('')
  })

  it.each(['/', '/login?returnTo=%2Fx&a=1', '//evil.example/x', 'http://evil.example/login'])(
    'sends plain HTTP for %s to its own name with 301, whatever Host says',
    async (path) => {
      const asked = path.startsWith('http') ? '/login' : path
      const answer = await speakPlain(path, { host: 'evil.example' })
      const location = `https://localhost:${site.front.port}${asked}`
      expect(answer).toEqual({ status: 301, location, server: 'nginx', hsts: undefined })
    },
  )

  it('refuses what should have been encrypted, on both ports', async () => {
    for (const port of [site.front.ports.plain, site.front.port])
      await expectPlainRefused(port, `https://localhost:${site.front.port}`)
  })

  it('turns plain HTTP on the TLS port away to TLS as well', async () => {
    const status = await new Promise((resolve, reject) =>
      requestPlain({ host: 'localhost', family: 4, port: site.front.port, path: '/login' }, (answer) => {
        answer.resume()
        resolve(`${answer.statusCode} ${answer.headers.location}`)
      })
        .once('error', reject)
        .end(),
    )
    expect(status).toBe(`301 https://localhost:${site.front.port}/login`)
  })

  const own = Object.keys(securityHeaders(true))
  const expectSingle = (lines: [string, string][]) => {
    const count = (name: string) => lines.filter(([each]) => each === name).length
    expect(Object.fromEntries(own.map((name) => [name, count(name)]))).toEqual(
      Object.fromEntries(own.map((name) => [name, 1])),
    )
    expect(lines).toContainEqual(['strict-transport-security', hsts])
    expect(lines.filter(([name]) => name === 'server')).toEqual([['server', 'nginx']])
    expect(lines.filter(([name]) => name === 'x-powered-by' || name === 'via')).toEqual([])
  }

  it.each(['/login', '/health', '/api/auth/me', '/api/none', '/none', '/'])(
    'sends every security header exactly once for %s',
    async (path) => {
      expectSingle((await site.visitor().get(path)).lines)
    },
  )

  const linesOf = (answer: string) =>
    (answer.split('\r\n\r\n', 1)[0] ?? '')
      .split('\r\n')
      .slice(1)
      .map((line): [string, string] => {
        const [name = '', ...value] = line.split(': ')
        return [name.toLowerCase(), value.join(': ')]
      })

  it.each([
    ['400', 'no request at all\r\n\r\n'],
    ['400', 'GET / HTTP/1.1\r\nHost: localhost\r\nBad Header\r\n\r\n'],
    ['404', 'GET /.latchkey/unavailable HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['404', 'GET /api/service/users/1 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['404', 'GET //%61pi/service/users/1 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['400', 'GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n'],
    ['431', `GET / HTTP/1.1\r\nHost: localhost\r\nCookie: a=${'a'.repeat(9000)}\r\n\r\n`],
    ['431', `GET /${'a'.repeat(9000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    ['501', 'POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\nConnection: close\r\n\r\n'],
    ['505', 'GET / HTTP/7.0\r\nHost: localhost\r\n\r\n'],
    ['413', 'POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000\r\nConnection: close\r\n\r\n'],
  ])('answers %s itself as the service would, with the same headers', async (status, bytes) => {
    const answer = await speak(bytes)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    const lines = linesOf(answer)
    expectSingle(lines)
    const sent = new Map(lines)
    for (const [name, value] of Object.entries(securityHeaders(true))) {
      if (name !== 'strict-transport-security') expect([name, sent.get(name)]).toEqual([name, value])
    }
    expect(sent.get('content-type')).toBe('application/json; charset=utf-8')
    expect(Object.keys(JSON.parse(answer.split('\r\n\r\n')[1] ?? ''))).toEqual(['error', 'message', 'code'])
  })

  it('counts a client by its own address, whatever it writes into its headers', async () => {
    const statuses: number[] = []
    for (let guess = 0; guess < 7; guess += 1) {
      const forged = `203.0.113.${guess}`
      const { status } = await site.visitor('127.0.0.7').post(
        '/login',
        { username: 'ada', password: `wrong ${guess}` },
        {
          'x-forwarded-for': `${forged}, 127.0.0.1`,
          forwarded: `for=${forged}`,
          'x-real-ip': forged,
          'x-client-ip': forged,
          'true-client-ip': forged,
          'cf-connecting-ip': forged,
        },
      )
      statuses.push(status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429])

    const other = site.visitor('127.0.0.8')
    expect((await other.post('/login', { username: 'ada', password })).status).toBe(200)
    const { body } = await other.get('/api/auth/sessions')
    expect(body.sessions).toMatchObject([{ ip: '127.0.0.8' }])
  })

  it('has one id for a request in its log, in the answer and for the instance, and takes none from a client', async () => {
    const forged = '5f0c3a52-7d1e-4b8a-9c36-e2f40d715a98'
    const { headers } = await site.visitor().get('/login', { 'x-request-id': forged })
    expect(headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
    await until('it is logged', async () =>
      (await site.front.logs()).includes(`"request":"${headers['x-request-id']}"`),
    )
    expect(await site.front.logs()).not.toContain(forged)
  })

  it('spreads requests over the instances and keeps query strings out of its logs', async () => {
    const secret = 'code-that-nobody-may-log'
    for (let index = 0; index < 4; index += 1) await site.visitor().get(`/api/auth/me?code=${secret}`)
    const spare = site.instances.map(({ port }) => `127.0.0.1:${port}`)
    const logs = await site.front.logs()
    for (const address of spare) expect(logs).toContain(`"instance":"${address}"`)
    expect(logs).toContain('"path":"/api/auth/me"')
    expect(logs).not.toContain(secret)
  })

  it('answers by itself when no instance is there, without a word about the query', async () => {
    for (const instance of site.instances) instance.signal('SIGKILL')
    const answer = await createVisitor(site.front).get('/api/auth/me?code=lost-with-the-instances')
    expect(answer).toMatchObject({ status: 503, body: { error: 'Temporarily unavailable' } })
    expect(answer.headers['retry-after']).toBe('5')
    expectSingle(answer.lines)
    expect(await site.front.logs()).not.toContain('lost-with-the-instances')
  })
})
