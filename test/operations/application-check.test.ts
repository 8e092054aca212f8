import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkSite } from '../../src/commands/applications/site-check.js'
import { checkApplications } from '../../src/commands/doctor/applications.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { startCaddyStandIn } from '../deployment/one-line/stand-ins.js'
import { makeCertificate } from '../support/certificate.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { freePort, ownFolder } from '../support/servers/server.js'
import { latchkey as run } from '../support/terminal.js'
import { until } from '../support/until.js'

let latchkey: Latchkey
const leftovers: (() => unknown)[] = []
const command = (...args: string[]) =>
  run({ openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }, args)

beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { TRUST_PROXY: '127.0.0.1' } })
})
afterAll(async () => {
  for (const leave of leftovers.reverse()) await leave()
  await latchkey.stop()
})

const listen = async (server: ReturnType<typeof createServer>, port = 0) => {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  leftovers.push(
    () => server.closeAllConnections(),
    () => server.close(),
  )
  return (server.address() as AddressInfo).port
}
const serve = (listener: RequestListener, port?: number) => listen(createServer(listener), port)

/** A proxy that was set up badly, in front of an application that shows what it was sent. */
const startOddProxy = ({ host, hidden = [] }: { host?: string; hidden?: string[] }) =>
  serve(async (incoming, outgoing) => {
    const kept = Object.entries(incoming.headers).filter(([name]) => !hidden.includes(name))
    const asked = {
      'x-forwarded-method': incoming.method,
      'x-forwarded-proto': 'http',
      'x-forwarded-host': host ?? incoming.headers.host,
      'x-forwarded-uri': incoming.url,
    }
    const headers = { ...Object.fromEntries(kept), ...asked, host: `127.0.0.1:${latchkey.config.port}` }
    const check = request(`${latchkey.url}/api/auth/forward`, { headers }).end()
    const [answer] = (await once(check, 'response')) as [IncomingMessage]
    const text = await buffer(answer)
    if (answer.statusCode !== 200) return outgoing.writeHead(answer.statusCode ?? 0, answer.headers).end(text)
    return outgoing.end(JSON.stringify(incoming.headers))
  })

let count = 0
/** Registers the site, and asks it as an operator does. */
const checked = async (origin: string, ...options: string[]) => {
  count += 1
  const name = `Site ${count}`
  const added = await command('application', 'add', name, '--proxy', origin, '--everyone', ...options)
  expect(added).toMatchObject({ code: 0, err: '' })
  await until('the service knows it', async () => latchkey.app.rooms.protectedApplications.find(origin) !== undefined)
  const { code, out } = await command('application', 'check', name)
  return { code, lines: out.trim().split('\n') }
}
const sitePort = (port: number) => `http://localhost:${port}`

describe('a site that is asked from outside', () => {
  it('is good', async () => {
    const application = await serve((_, outgoing) => void outgoing.end('hello'))
    const place = { port: await freePort(), hosts: ['localhost'], latchkey: latchkey.config.port, application }
    const proxy = await startCaddyStandIn(place)
    leftovers.push(proxy.stop)
    const origin = sitePort(place.port)
    expect(await checked(origin, '--open', '/public/')).toEqual({
      code: 0,
      lines: [`ok  ${origin}/ asks Latchkey, and leads strangers to ${latchkey.url}`],
    })
  })

  it('is not behind the check', async () => {
    const port = await serve((_, outgoing) => void outgoing.end('hello'))
    const { code, lines } = await checked(sitePort(port))
    expect(code).toBe(1)
    expect(lines).toEqual([expect.stringMatching(/^error .* answers a stranger with 200: it is not behind the check$/)])
  })

  it('cannot be reached, or not with TLS', async () => {
    const silent = await checked(sitePort(await freePort()))
    expect(silent).toEqual({ code: 1, lines: [expect.stringContaining('nothing listens there')] })
    const plain = await serve((_, outgoing) => void outgoing.end('hello'))
    expect((await checked(`https://localhost:${plain}`)).lines.join()).toContain('does not speak TLS')
    const folder = await ownFolder('certificate')
    leftovers.push(() => rm(folder, { recursive: true, force: true }))
    const { key, cert } = await makeCertificate(folder, 'site')
    const files = { key: await readFile(key), cert: await readFile(cert) }
    const certified = createTlsServer(files, (_, outgoing) => void outgoing.end('hello'))
    const unknown = await listen(certified)
    expect((await checked(`https://localhost:${unknown}`)).lines.join()).toContain('its certificate cannot be used')
    expect((await checked('https://wiki.invalid')).lines.join()).toContain('its name is not known on this machine')
  })

  it('leads elsewhere', async () => {
    for (const [location, shown] of [
      ['https://www.example.com/start', 'https://www.example.com'],
      [`${latchkey.url}.evil.example/login`, `${latchkey.url}.evil.example/login`],
      ['http://[', 'http://['],
    ]) {
      const port = await serve((_, outgoing) => void outgoing.writeHead(302, { location }).end())
      const { code, lines } = await checked(sitePort(port))
      expect([code, lines.join()]).toEqual([1, expect.stringContaining(`leads strangers to ${shown}, and not to`)])
    }
  })

  it('is asked about under another port', async () => {
    const { code, lines } = await checked(sitePort(await startOddProxy({ host: 'localhost:8443' })))
    expect([code, lines.join()]).toEqual([1, expect.stringContaining('asks Latchkey about another address')])
  })

  it('has a proxy that hides headers, gives every name to it, and passes our cookies on', async () => {
    const port = await startOddProxy({ hidden: ['x-auth-user-id'] })
    const { code, lines } = await checked(sitePort(port), '--open', '/public/')
    expect(code).toBe(1)
    expect(lines).toEqual([
      expect.stringMatching(/^ok /),
      expect.stringMatching(/^warning .* does not reach the check/),
      expect.stringMatching(/^warning .* to every host name/),
      expect.stringMatching(/^error .*\/public\/ was sent a cookie of Latchkey/),
    ])
  })

  it('has a part that is not behind the check', async () => {
    const proxy = await startOddProxy({})
    const partly = await serve((incoming, outgoing) => {
      if (incoming.url?.startsWith('/api/')) return void outgoing.end('hello')
      const headers = { ...incoming.headers }
      request({ port: proxy, host: '127.0.0.1', path: incoming.url, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(outgoing)
      }).end()
    })
    const { code, lines } = await checked(sitePort(partly))
    expect([code, lines.join()]).toEqual([1, expect.stringContaining('part of the site is not behind the check')])
  })

  it('leads to a sign-in page that is not there', async () => {
    const elsewhere = await serve((_, outgoing) => void outgoing.end('another program'))
    const publicUrl = sitePort(elsewhere)
    const port = await serve((_, outgoing) => void outgoing.writeHead(302, { location: `${publicUrl}/login` }).end())
    const findings = await checkSite({ openPaths: [] }, sitePort(port), publicUrl)
    expect(findings.map(({ level }) => level).slice(0, 2)).toEqual(['ok', 'error'])
    expect(findings[1]?.says).toContain('nobody can sign in')
    const silent = sitePort(await freePort())
    const toSilent = await serve((_, outgoing) => void outgoing.writeHead(302, { location: `${silent}/login` }).end())
    expect((await checkSite({ openPaths: [] }, sitePort(toSilent), silent))[1]).toMatchObject({ level: 'unreachable' })
  })

  it('is asked by the doctor too', async () => {
    const { level, says } = await checkApplications(latchkey.sql, latchkey.config)
    expect([level, says]).toEqual(['error', expect.stringMatching(/Site \d+: .*it is not behind the check/)])
    expect(says).toMatch(/Site \d+: .* does not reach the check/)
  })

  it('never answers', async () => {
    const port = await serve(() => undefined)
    expect((await checked(sitePort(port))).lines.join()).toContain('it does not answer (ETIMEDOUT)')
  })
})

describe('the lines for the proxy', () => {
  it.each([
    ['caddy', 'news.example.com {\n\timport latchkey\n'],
    ['nginx', '    server_name news.example.com;\n    include snippets/latchkey.nginx.conf;\n'],
    ['traefik', '  - traefik.http.routers.news-example-com.middlewares=latchkey@file\n'],
    ['haproxy', 'backend news-example-com from latchkey\n'],
  ])('of %s are printed, and no secret is made', async (proxy, line) => {
    const site = ['--proxy', 'https://news.example.com', '--everyone', '--open', '/feed', '--open-preflight']
    const { code, out } = await command('application', 'add', `News by ${proxy}`, ...site, '--for', proxy)
    expect([code, out.includes(line), out.includes('client_secret')]).toEqual([0, true, false])
    expect(out).toContain(`latchkey application check 'News by ${proxy}'`)
    await command('application', 'delete', `News by ${proxy}`)
  })

  it('need the address of the site', async () => {
    const { code, err } = await command('application', 'add', 'News', '--for', 'caddy', '--everyone')
    expect([code, err]).toEqual([2, expect.stringContaining('--for caddy needs the address of the site')])
    await command('application', 'add', 'Plain', '--redirect', 'https://plain.example.com/cb', '--everyone')
    const checkedPlain = await command('application', 'check', 'Plain')
    expect([checkedPlain.code, checkedPlain.err]).toEqual([1, expect.stringContaining('Plain is not behind a proxy')])
  })
})
