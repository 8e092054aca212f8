import { fastify } from 'fastify'
import { describe, expect, it } from 'vitest'
import { createCookieJar } from '../../test/support/cookie-jar.js'
import { newSignIn } from '../../test/support/session-facts.js'
import { beginCeremony } from '../factors/passkey-ceremonies.js'
import { systemClock } from '../lib/clock.js'
import { deriveKey } from '../lib/random.js'
import { createSeal } from '../lib/seal.js'
import { createAttempts } from '../providers/attempts.js'
import { createAttemptCookies, createCeremonyCookies } from '../sign-in/browser-cookies.js'
import { createCookies } from './cookies.js'
import { tabCookieName } from './tab-cookies.js'

const attempts = createAttempts({ seal: createSeal([deriveKey('a secret', 'provider attempt')]), clock: systemClock })
const cookies = createCookies({ secure: true, host: 'auth.example.com' })
const attemptCookies = createAttemptCookies(cookies, attempts)
const ceremonyCookies = createCeremonyCookies({ cookies })
const sealing = { seal: createSeal([deriveKey('a secret', 'passkey')]), clock: systemClock }
const server = fastify()
server.get('/', (request, reply) => {
  const { returnTo = '/dashboard' } = request.query as { returnTo?: string }
  attemptCookies.keep(request, reply, attempts.begin('provider_a', returnTo, newSignIn))
  return reply.send('kept')
})
server.get('/passkey', (request, reply) => {
  ceremonyCookies.keep(request, reply, beginCeremony(sealing, 'sign_in'))
  return reply.send('kept')
})

const begin = async (cookie: string) => {
  const { headers } = await server.inject({ url: '/', headers: { cookie } })
  return [headers['set-cookie'] ?? []].flat()
}
const cookiesOf = (count: number) =>
  Array.from({ length: count }, (_, at) => `__Host-attempt_${String(at).padStart(12, '0')}=x`).join('; ')

describe('the name of an attempt cookie', () => {
  it('comes from the state, does not show it, and is another one for each attempt', () => {
    const [one, two] = [0, 1].map(() => attempts.begin('provider_a', '/', newSignIn))
    if (!one || !two) throw new Error('two attempts were begun')
    expect(tabCookieName('attempt', one.state)).toMatch(/^attempt_[\w-]{12}$/)
    expect(tabCookieName('attempt', one.state)).not.toBe(tabCookieName('attempt', two.state))
    expect(one.state).not.toContain(tabCookieName('attempt', one.state).slice(8))
  })
})

describe('the Cookie header', () => {
  // Tokens of the longest ASCII names and addresses; emoji in all of them need a little more.
  const names = { access_token: 1600, refresh_token: 480, '__Host-csrf_secret': 43, '__Host-registration': 43 }
  const values = { ...names, '__Host-challenge': 43, '__Host-trusted_device': 219, '__Host-known_device': 219 }
  const filled = (lengths: Record<string, number>) =>
    Object.entries(lengths).map(([name, length]): [string, string] => [name, 'x'.repeat(length)])
  const returnTo = `/${'x'.repeat(511)}`

  it('stays under 4 KB with the longest of each, whatever other tabs have begun', async () => {
    const jar = createCookieJar(filled(values))
    for (let tab = 0; tab < 14; tab++) {
      for (const url of ['/passkey', `/?returnTo=${returnTo}`]) {
        const { headers } = await server.inject({ url, headers: { cookie: jar.header() } })
        jar.keep([headers['set-cookie'] ?? []].flat())
        expect(jar.header().length).toBeLessThan(4096)
      }
    }
    expect(jar.header()).toContain('__Host-attempt_')
  })

  it('has room for the attempts and passkeys of several tabs otherwise', async () => {
    const jar = createCookieJar(filled({ ...values, access_token: 700 }))
    for (const url of ['/passkey', '/passkey', '/passkey', '/', '/', '/']) {
      const { headers } = await server.inject({ url, headers: { cookie: jar.header() } })
      jar.keep([headers['set-cookie'] ?? []].flat())
    }
    expect([jar.header().match(/__Host-attempt_/g), jar.header().match(/__Host-passkey_/g)]).toMatchObject([
      { length: 3 },
      { length: 3 },
    ])
  })
})

describe('attempt cookies that an attacker planted', () => {
  it('are cleared a few at a time, so that the answer stays small', async () => {
    const set = await begin(cookiesOf(400))
    expect(set.filter((line) => line.includes('Max-Age=0'))).toHaveLength(8)
    expect(set).toHaveLength(9)
  })

  it('are left alone when the name is none of ours', async () => {
    expect(
      await begin(
        `__Host-attempt_; __Host-attempt_${'x'.repeat(3000)}=1; __Host-attempt_a b c d e f=1; attempt_aaaaaaaaaaaa=1`,
      ),
    ).toHaveLength(1)
  })

  it.each([
    ['one name again and again', '__Host-attempt_;'.repeat(700)],
    ['very many names', cookiesOf(500)],
  ])('cost no more than their length: %s', async (_, header) => {
    await begin(header)
    const before = process.cpuUsage()
    for (let round = 0; round < 20; round++) await begin(header)
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(500)
  })
})
