import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createServer, type TLSSocket } from 'node:tls'
import { fastify } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCookies } from '../../src/http/cookies.js'
import { type BrowserName, browserNames, openBrowser } from '../support/browsers.js'
import { inLongRun } from '../support/long-run.js'
import { freePort, ownFolder } from '../support/servers/server.js'
import { makeCertificate } from '../support/site/nginx.js'

/** Every name of ours that no other host may set. */
const names = [
  'csrf_secret',
  'registration',
  'pending_link',
  'attempt_aaaaaaaaaaaa',
  'attempt_mail',
  'passkey_aaaaaaaaaaaa',
  'challenge',
  'known_device',
  'trusted_device',
]
const prefix = '__Host-'
/** Where a byte is put: in front of the prefix, inside of it, and behind it. */
const places = [0, 4, prefix.length]
/** All but NUL and the ends of a line: a browser refuses an answer with the first, and the others end the header. */
const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter(
  (byte) => !['\0', '\n', '\r'].includes(byte),
)

/** A browser looks at the byte and not at the rest of the name: one name for each byte, or all of them. */
const namesFor = (at: number) => inLongRun(names, [names[at % names.length] ?? ''])
const spellings = places.flatMap((place) =>
  bytes.flatMap((byte, at) =>
    namesFor(at).map((name) => `${prefix.slice(0, place)}${byte}${prefix.slice(place)}${name}`),
  ),
)
/** A browser keeps fewer cookies for a domain than there are spellings. */
const batchSize = 100
const batches = Array.from({ length: Math.ceil(spellings.length / batchSize) }, (_, at) =>
  spellings.slice(at * batchSize, (at + 1) * batchSize),
)

/** `other` sends these bytes as they are, which no HTTP library does; `auth` reads the cookies as the service does. */
const startHosts = async () => {
  const folder = await ownFolder('planted')
  const cert = await makeCertificate(folder)
  const key = await readFile(join(folder, 'privkey.pem'), 'utf8')
  const cookies = createCookies({ secure: true, host: 'auth.site.test' })
  const reader = fastify()
  reader.get('/', (request) => ({
    sent: (request.headers.cookie ?? '').split(';').length,
    read: names.filter((name) => cookies.read(request, name) !== undefined),
    known: cookies.ownNamesSent(request),
  }))

  const setCookies = (batch: string[], maxAge: number) =>
    batch.map((name) => `Set-Cookie: ${name}=planted; Domain=site.test; Path=/; Secure; Max-Age=${maxAge}\r\n`).join('')
  const answer = async (head: string) => {
    const [, path = '/'] = head.split(' ')
    const [, action, at] = path.split('/')
    const batch = batches[Number(at)] ?? []
    if (/\r\nhost: auth\./i.test(head)) {
      const cookie = /\r\ncookie: ([^\r]*)/i.exec(head)?.[1] ?? ''
      const { body } = await reader.inject({ url: '/', headers: { cookie } })
      return `Content-Type: application/json\r\nAccess-Control-Allow-Origin: https://other.site.test:${port}\r\nAccess-Control-Allow-Credentials: true\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    }
    const lines = action === 'plant' ? setCookies(batch, 600) : action === 'clear' ? setCookies(batch, 0) : ''
    return `${lines}Content-Type: text/html\r\nContent-Length: 2\r\n\r\nok`
  }
  const serve = (socket: TLSSocket) => {
    let received = ''
    socket.setEncoding('latin1').on('error', () => socket.destroy())
    socket.on('data', (text: string) => {
      received += text
      if (!received.includes('\r\n\r\n')) return
      const head = received
      received = ''
      void answer(head).then((rest) => socket.write(`HTTP/1.1 200 OK\r\n${rest}`, 'latin1'))
    })
  }
  const port = await freePort()
  const server = createServer({ cert, key }, serve)
  const sockets = new Set<TLSSocket>()
  server.on('secureConnection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { auth: `https://auth.site.test:${port}`, other: `https://other.site.test:${port}`, stop }
}

describe.each(inLongRun<readonly BrowserName[]>(browserNames, ['chromium']))('in %s', (name) => {
  let hosts: Awaited<ReturnType<typeof startHosts>>
  beforeAll(async () => {
    hosts = await startHosts()
  })
  afterAll(() => hosts?.stop())

  it('a sibling host plants no cookie that we read, whichever byte it puts into the name', async () => {
    const tab = await (await openBrowser(name)).tab()
    await tab.goTo(`${hosts.other}/`)
    const plantAll = async (given: string) => {
      const { auth, count } = JSON.parse(given)
      const seen: { sent: number; read: string[]; known: string[] }[] = []
      for (let at = 0; at < count; at += 1) {
        await fetch(`/plant/${at}`)
        seen.push(await (await fetch(auth, { credentials: 'include' })).json())
        await fetch(`/clear/${at}`)
      }
      return seen
    }
    const seen = await tab.evaluate(plantAll, JSON.stringify({ auth: hosts.auth, count: batches.length }))
    expect(seen).toHaveLength(batches.length)
    // Most of them did arrive: the browser takes them for names without the prefix.
    expect(seen.reduce((sum, { sent }) => sum + sent, 0)).toBeGreaterThan(spellings.length / 3)
    expect(seen.flatMap(({ read }) => read)).toEqual([])
    expect(seen.flatMap(({ known }) => known)).toEqual([])
    await tab.close()
  })
})
