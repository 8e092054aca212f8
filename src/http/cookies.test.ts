import { fastify } from 'fastify'
import { describe, expect, it } from 'vitest'
import { createCookies } from './cookies.js'

const cookies = createCookies({ secure: false, host: 'localhost' })
const server = fastify()
server.get('/', async (request) => ({
  read: cookies.read(request, 'key') ?? null,
  names: cookies.ownNamesSent(request),
}))

const ask = async (cookie?: string) => {
  const answer = await server.inject({ url: '/', headers: cookie === undefined ? {} : { cookie } })
  return answer.json<{ read: string | null; names: string[] }>()
}

describe('reading a cookie', () => {
  it.each([
    ['alone', 'key=value', 'value'],
    ['among others', 'a=1; key=value; b=2', 'value'],
    ['without a space between', 'a=1;key=value;b=2', 'value'],
    ['with spaces around both sides', 'a=1;  key = value ; b=2', 'value'],
    ['with equals signs in the value', 'key=a=b=', 'a=b='],
    ['beside a longer name', 'key2=x; my-key=y; key=value', 'value'],
  ])('finds it %s', async (_, header, value) => {
    expect((await ask(header)).read).toBe(value)
  })

  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['other names only', 'keys=1; ke=2; KEY=3'],
    ['an empty value', 'key='],
    ['a name without a value', 'key'],
    ['two of one name', 'key=one; key=two'],
    ['two of one name and value', 'key=one; a=1; key=one'],
    ['an empty one beside it', 'key=; key=one'],
    ['a bare name beside it', 'key; key=one'],
  ])('finds nothing with %s', async (_, header) => {
    expect((await ask(header)).read).toBeNull()
  })

  it('knows every name', async () => {
    expect((await ask('a=1; b ; c=2=3')).names).toEqual(['a', 'b', 'c'])
  })
})

const production = createCookies({ secure: true, host: 'auth.example.com' })
const front = fastify()
front.get('/', (request, reply) => {
  production.set(reply, 'csrf_secret', 'made')
  return { read: production.read(request, 'csrf_secret') ?? null, names: production.ownNamesSent(request) }
})
front.get('/login', (request, reply) => {
  if (production.hasDoubledSessionCookie(request)) production.clearSession(reply)
  return reply.send('the page')
})
const issued = {
  accessToken: 'new-access',
  refreshToken: 'new-refresh',
  accessTokenMaxAge: 900,
  refreshTokenMaxAge: 2_592_000,
} as Parameters<typeof production.setNewSession>[1]
front.get('/session', (_, reply) => {
  production.setNewSession(reply, issued)
  return reply.send('signed in')
})
front.get('/renewal', (_, reply) => {
  production.renewSession(reply, issued)
  return reply.send('renewed')
})

const linesFor = async (url: string, cookie: string) => {
  const { headers } = await front.inject({ url, headers: { cookie } })
  return [headers['set-cookie'] ?? []].flat()
}

describe('cookies in production', () => {
  it('have a name that no other host can set, unless the specification names them', async () => {
    const answer = await front.inject({ url: '/', headers: { cookie: 'csrf_secret=planted; __Host-csrf_secret=ours' } })
    expect(answer.json()).toEqual({ read: 'ours', names: ['csrf_secret'] })
    expect(answer.headers['set-cookie']).toBe(
      '__Host-csrf_secret=made; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict; Secure',
    )
    expect((await linesFor('/renewal', '')).at(-2)).toMatch(/^access_token=new-access; Max-Age=900; Path=/)
  })

  const cleared = (name: string, domain?: string) =>
    `${name}=; Max-Age=0; ${domain ? `Domain=${domain}; ` : ''}Path=/; HttpOnly; SameSite=Strict; Secure`
  const planted = ['auth.example.com', 'example.com'].flatMap((domain) =>
    ['access_token', 'refresh_token'].map((name) => cleared(name, domain)),
  )

  it.each(['access_token=ours; access_token=planted', 'refresh_token=ours; a=1; refresh_token=ours'])(
    'are cleared in every variant at the sign-in page when one came twice: %s',
    async (header) => {
      const both = [cleared('access_token'), cleared('refresh_token')]
      expect(await linesFor('/login', header)).toEqual([...both, ...planted])
    },
  )

  it('are left alone at the sign-in page when they came once, or not at all', async () => {
    expect(await linesFor('/login', 'access_token=ours; refresh_token=ours; a=1; a=2')).toEqual([])
    expect(await linesFor('/login', '')).toEqual([])
  })

  it.each([
    ['/session', ''],
    ['/renewal', 'access_token=ours; access_token=planted'],
    ['/renewal', 'access_token=ours; refresh_token=ours'],
  ])('replace those of the domains above when a session starts or is renewed: %s', async (url, header) => {
    const lines = await linesFor(url, header)
    expect(lines.slice(0, -2)).toEqual(planted)
    expect(lines.at(-2)).toMatch(/^access_token=new-access; Max-Age=900; Path=\/;/)
  })

  it('of a session are for COOKIE_DOMAIN, and those for this host only are cleared beside them', async () => {
    const shared = createCookies({ secure: true, host: 'auth.example.com', domain: 'example.com' })
    const site = fastify()
    const answers = {
      start: shared.setNewSession,
      renew: shared.renewSession,
      proxy: shared.renewThroughProxy,
      clear: shared.clearSession,
    }
    for (const [name, answer] of Object.entries(answers))
      site.get(`/${name}`, (_, reply) => {
        answer(reply, issued)
        return reply.send('done')
      })
    const lines = async (name: keyof typeof answers) =>
      [(await site.inject({ url: `/${name}` })).headers['set-cookie'] ?? []].flat()
    const ours = ['access_token=new-access; Max-Age=900', 'refresh_token=new-refresh; Max-Age=2592000'].map(
      (beginning) => `${beginning}; Domain=example.com; Path=/; HttpOnly; SameSite=Strict; Secure`,
    )
    const both = (domain?: string) => [cleared('access_token', domain), cleared('refresh_token', domain)]
    expect(await lines('start')).toEqual([...both(), ...both('auth.example.com'), ...ours])
    expect(await lines('renew')).toEqual([...both(), ...both('auth.example.com'), ...ours])
    expect(await lines('proxy')).toEqual([...ours, ...both(), ...both('auth.example.com')])
    expect(await lines('clear')).toEqual([...both('example.com'), ...both(), ...both('auth.example.com')])
  })

  it.each(['localhost', '127.0.0.1', '[::1]'])('have no domain to clear on %s', async (host) => {
    const local = createCookies({ secure: false, host })
    const single = fastify()
    single.get('/', (request, reply) => {
      if (local.hasDoubledSessionCookie(request)) local.clearSession(reply)
      return reply.send('the page')
    })
    const { headers } = await single.inject({ url: '/', headers: { cookie: 'access_token=a; access_token=b' } })
    expect(headers['set-cookie']).toHaveLength(2)
  })
})
