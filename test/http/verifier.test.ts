import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Revocations } from '#contract/schemas.js'
import { createVerifier, type Verifier, type VerifierOptions } from '#verify/verify.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { minutes } from '../../src/lib/durations.js'
import { uuidv7 } from '../../src/lib/uuid.js'
import { newServiceKey } from '../../src/programs/service-keys.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { unknownSession } from '../support/unknown-session.js'

const secret = 'c5a1f09e3b7d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const older = '0c7d19e6a85f32b4d60ea97c15fb83d2704e9b6a8df13c5207ee49b16ad8f350'
const service = newServiceKey('application')
let folder: string
let latchkey: Latchkey
const opened: Verifier[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-verifier-'))
  const file = join(folder, 'keys')
  await writeFile(file, service.line)
  latchkey = await startLatchkey({ settings: { JWT_SECRET: `${secret},${older}`, SERVICE_KEYS_FILE: file } })
})
afterEach(() => {
  for (const verifier of opened.splice(0)) verifier.close()
})
afterAll(async () => {
  await latchkey?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** A verifier beside the service, on its clock. */
const open = (options: Partial<VerifierOptions> = {}) => {
  const now = () => latchkey.clock.now().getTime()
  const all = { publicUrl: latchkey.url, secret, now, onProblem: () => {}, ...options } as VerifierOptions
  const verifier = createVerifier(all)
  opened.push(verifier)
  return verifier
}
const follow = async (more: Partial<VerifierOptions> = {}) => {
  const verifier = open({ revocations: { serviceKey: service.key }, ...more })
  await verifier.ready()
  return verifier
}
const requestOf = (tab: Browser) => ({ headers: { cookie: tab.jar.header() } })
const codeOf = async (verifier: Verifier, tab: Browser) => {
  const result = await verifier.verify(requestOf(tab))
  return result.ok ? 'accepted' : result.code
}

describe('a token of the service', () => {
  it('is read as the service reads it', async () => {
    const tab = await latchkey.signedUp('ada')
    const [me, checked] = [await tab.get('/api/auth/me'), await tab.get('/api/auth/verify')]
    const result = await open().verify(requestOf(tab))
    expect(result).toMatchObject({
      ok: true,
      user: { ...(me.body.user as object), name: null, email: checked.headers.get('x-auth-email') },
      sessionId: me.body.sessionId,
      expiresAt: new Date(String(me.body.expiresAt)),
      authTime: new Date(Number(checked.headers.get('x-auth-time')) * 1000),
      factors: Number(checked.headers.get('x-auth-factors')),
      amr: ['pwd'],
    })
  })

  it('is refused as an access token if it is a refresh token, and by another secret or address', async () => {
    const tab = await latchkey.signedUp('grace')
    expect(await open().verifyToken(tab.jar.get('refresh_token'))).toEqual({ ok: false, code: 'unknown_key' })
    expect(await codeOf(open({ secret: older }), tab)).toBe('unknown_key')
    expect(await codeOf(open({ secret: [older, secret] }), tab)).toBe('accepted')
    expect(await codeOf(open({ publicUrl: 'https://auth.example.org' }), tab)).toBe('wrong_issuer')
  })

  it('is refused when it has expired, also if it was seen before', async () => {
    const tab = await latchkey.signedUp('hopper')
    const verifier = open()
    expect(await codeOf(verifier, tab)).toBe('accepted')
    await latchkey.advance(15 * minutes)
    expect(await codeOf(verifier, tab)).toBe('expired')
    await tab.post('/api/auth/refresh')
    expect(await codeOf(verifier, tab)).toBe('accepted')
  })
})

describe('a session that ends', () => {
  it('is refused within two seconds, and the others are not', async () => {
    const [leaving, staying] = [await latchkey.signedUp('lovelace'), await latchkey.signedUp('mary')]
    const [verifier, alone] = [await follow(), open()]
    expect(await codeOf(verifier, leaving)).toBe('accepted')
    await leaving.copy().act('/api/auth/logout')
    await expect.poll(() => codeOf(verifier, leaving)).toBe('ended')
    expect(await codeOf(verifier, staying)).toBe('accepted')
    // Without the list, it is good until it expires.
    expect(await codeOf(alone, leaving)).toBe('accepted')
    // One that starts later knows it too.
    expect(await codeOf(await follow(), leaving)).toBe('ended')
  })

  it('is refused by its generation only, if the session goes on', async () => {
    const tab = await latchkey.signedUp('noether')
    const verifier = await follow()
    const before = tab.copy()
    await tab.post('/api/auth/refresh')
    const result = await verifier.verify(requestOf(tab))
    if (!result.ok) throw new Error(result.code)
    await latchkey.sql.query('insert into ended_sessions (sid, min_generation) values ($1, $2)', [
      result.sessionId,
      result.claims.gen,
    ])
    await expect.poll(() => codeOf(verifier, before)).toBe('ended')
    expect(await codeOf(verifier, tab)).toBe('accepted')
  })

  it('is refused together with all sessions of its user, if the service does not know it', async () => {
    await latchkey.signedUp('perlman')
    const { tab, userId } = await unknownSession(latchkey, 'perlman')
    const verifier = await follow()
    expect(await codeOf(verifier, tab)).toBe('accepted')
    await latchkey.app.rooms.operatorChanges.endSessions({ userId, client: operatorClient('root') })
    await expect.poll(() => codeOf(verifier, tab)).toBe('ended')
    expect(await codeOf(await follow(), tab)).toBe('ended')
    const again = latchkey.browser()
    await again.post('/login', { username: 'perlman', password: goodPassword })
    expect(await codeOf(verifier, again)).toBe('accepted')
    // For verifiers of earlier releases, an entry about a user is not among those about sessions.
    const headers = { authorization: `Bearer ${service.key}` }
    const answer = await fetch(`${latchkey.url}/api/service/revocations`, { headers })
    const { entries, users } = (await answer.json()) as Revocations
    expect(users?.map((each) => each.userId)).toContain(userId)
    expect(entries.map(({ sid }) => sid)).not.toContain(userId)
  })

  it('is refused among 10,500 others', async () => {
    const tab = await latchkey.signedUp('turing')
    const ids = Array.from({ length: 10_500 }, () => uuidv7(new Date()))
    await latchkey.sql.query('insert into ended_sessions (sid) select unnest($1::uuid[])', [ids])
    await tab.copy().act('/api/auth/logout')
    const verifier = await follow()
    expect(verifier.revocations()?.entries).toBeGreaterThan(10_500)
    expect(await codeOf(verifier, tab)).toBe('ended')
  })
})

describe('a service that is away', () => {
  /** A door to the service that can be closed. */
  const openDoor = async () => {
    let isOpen = true
    const server = createServer((request, response) => {
      if (!isOpen) return void request.socket.destroy()
      const { url: path, headers } = request
      const { hostname: host, port } = new URL(latchkey.url)
      const asked = forward({ host, port, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      asked.on('error', () => response.destroy())
      response.once('close', () => asked.destroy())
      asked.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      shut: () => {
        isOpen = false
        server.closeAllConnections()
      },
      open: () => {
        isOpen = true
      },
      stop: () => {
        server.closeAllConnections()
        server.close()
      },
    }
  }

  it('stops no good token once the list was read, and all of them before', async () => {
    const [tab, leaving] = [await latchkey.signedUp('curie'), await latchkey.signedUp('meitner')]
    const door = await openDoor()
    try {
      const problems: string[] = []
      const onProblem = (message: string) => problems.push(message)
      const verifier = await follow({ serviceUrl: door.url, onProblem })
      door.shut()
      expect(await codeOf(verifier, tab)).toBe('accepted')
      const later = open({ serviceUrl: door.url, revocations: { serviceKey: service.key } })
      const trusting = open({ serviceUrl: door.url, revocations: { serviceKey: service.key, whileUnknown: 'accept' } })
      expect([await codeOf(later, tab), await codeOf(trusting, tab)]).toEqual(['unavailable', 'accepted'])
      await leaving.copy().act('/api/auth/logout')
      await expect.poll(() => problems).toEqual([expect.stringContaining('ended sessions cannot be read')])
      door.open()
      await later.ready()
      expect([await codeOf(later, tab), await codeOf(later, leaving)]).toEqual(['accepted', 'ended'])
      await expect.poll(() => codeOf(verifier, leaving)).toBe('ended')
    } finally {
      door.stop()
    }
  })

  it('refuses a list that is too old, if asked', async () => {
    const tab = await latchkey.signedUp('germain')
    const door = await openDoor()
    try {
      const verifier = await follow({ serviceUrl: door.url, revocations: { serviceKey: service.key, maxAge: 120 } })
      door.shut()
      await latchkey.advance(3 * minutes)
      expect(await codeOf(verifier, tab)).toBe('unavailable')
    } finally {
      door.stop()
    }
  })

  it('does not take a wrong key for an empty list', async () => {
    const tab = await latchkey.signedUp('kovalevskaya')
    const problems: string[] = []
    const revocations = { serviceKey: newServiceKey('other').key }
    const verifier = open({ revocations, onProblem: (message) => problems.push(message) })
    await expect.poll(() => problems).toEqual([expect.stringContaining('does not know the service key (401)')])
    await expect(verifier.ready()).rejects.toThrow('does not know the service key (401)')
    expect(await codeOf(verifier, tab)).toBe('unavailable')
    expect(problems.join()).not.toContain(revocations.serviceKey)
    verifier.close()
    await expect(verifier.ready()).rejects.toThrow('closed')
  })
})
