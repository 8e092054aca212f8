import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { days, minutes, seconds } from '../../src/lib/durations.js'
import { addApplication, applicationChangesOf } from '../support/applications.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'

// Hosts that get none of our cookies, as a proxy sees them that gives refusals to the visitor whole.

let latchkey: Latchkey
let ada: Browser
let wiki: Awaited<ReturnType<typeof addApplication>>

const operator = { ip: 'command line', userAgent: 'test' }
const hosts = { wiki: 'wiki.other.example', notes: 'notes.third.example', family: 'family.other.example' }
const bank = 'bank.other.example'

beforeAll(async () => {
  latchkey = await startLatchkey()
  ada = await latchkey.signedUp('ada')
  await latchkey.app.rooms.groups.add('family', operator)
  const behind = (host: string) => ({ proxyOrigin: `https://${host}`, home: `https://${host}/`, redirectAddresses: [] })
  wiki = await addApplication(latchkey, { name: 'Wiki', ...behind(hosts.wiki), openPaths: ['/'] })
  await applicationChangesOf(latchkey).change(wiki.id, { openPaths: ['/public/'] }, operator)
  await addApplication(latchkey, { name: 'Notes', ...behind(hosts.notes) })
  await addApplication(latchkey, { name: 'Family', ...behind(hosts.family), access: 'groups', groups: ['family'] })
  await addApplication(latchkey, { name: 'Bank', ...behind(bank), maxAge: 10 * minutes })
  const knows = async () => (await visit(latchkey.browser(), { host: bank })).status === 302
  await until('the applications are known', knows)
})
afterAll(() => latchkey.stop())

const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' }

type Visit = { host?: string; uri?: string; method?: string; headers?: Record<string, string> }

/** What a visitor asks of the host, as Traefik and Caddy pass it on. The browser has the cookies of that host only. */
const visit = (
  of: Browser,
  { host = hosts.wiki, uri = '/page?a=1', method = 'GET', headers = navigation }: Visit = {},
) =>
  of.send('GET', '/api/auth/forward', undefined, {
    headers: {
      'x-forwarded-method': method,
      'x-forwarded-proto': 'https',
      'x-forwarded-host': host,
      'x-forwarded-uri': uri,
      ...headers,
    },
  })

const locationOf = ({ headers }: { headers: Headers }) => headers.get('location') ?? ''
const pathOf = (address: string) => {
  const { pathname, search } = new URL(address)
  return pathname + search
}
const atOurs = (tab: Browser, address: string, headers: Record<string, string> = navigation) =>
  tab.send('GET', pathOf(address), undefined, { headers })

/** From the host to ours and back, until the callback: its address. */
const callbackFor = async (of: Browser, tab: Browser, asked: Visit = {}) =>
  locationOf(await atOurs(tab, locationOf(await visit(of, asked))))

const arrive = async (of: Browser, tab: Browser, asked: Visit = {}) => {
  const callback = await callbackFor(of, tab, asked)
  return visit(of, { ...asked, uri: pathOf(callback) })
}

const arrived = async (tab = ada, asked: Visit = {}) => {
  const of = latchkey.browser()
  await arrive(of, tab, asked)
  return of
}

const signedIn = async (username = 'ada') => {
  const tab = latchkey.browser()
  await tab.post('/api/auth/login', { username, password: goodPassword })
  return tab
}

const statusOf = async (of: Browser, asked: Visit = {}) => (await visit(of, asked)).status
const cookieNames = (of: Browser) => [...of.jar.keys()].sort()
const session = '__Host-latchkey'

describe('a host that gets none of our cookies', () => {
  it('gets one of its own, and leads back to what was asked', async () => {
    const of = latchkey.browser()
    const first = await visit(of)
    expect([first.status, locationOf(first).split('?')[0]]).toEqual([302, `${latchkey.url}/api/auth/forward-sign-in`])
    expect(first.setCookies[0]).toMatch(
      /^__Host-latchkey-attempt=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    )
    const callback = locationOf(await atOurs(ada, locationOf(first)))
    expect(callback).toMatch(/^https:\/\/wiki\.other\.example\/\.latchkey\/callback\?code=[\w.-]+$/)
    const back = await visit(of, { uri: pathOf(callback) })
    expect([back.status, locationOf(back)]).toEqual([302, `https://${hosts.wiki}/page?a=1`])
    expect(back.setCookies[0]).toMatch(
      /^__Host-latchkey=[\w.-]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    )
    expect(cookieNames(of)).toEqual([session])
    of.jar.set('theme', 'dark')
    const admitted = await visit(of)
    expect([admitted.status, admitted.headers.get('x-auth-username'), admitted.headers.get('cookie')]).toEqual([
      200,
      'ada',
      'theme=dark',
    ])
  })

  it('keeps one for at most 30 days, and never longer than the session', async () => {
    const of = latchkey.browser()
    const back = await arrive(of, await signedIn())
    const maxAge = Number(/Max-Age=(\d+)/.exec(back.setCookies[0] ?? '')?.[1])
    expect(maxAge).toBeGreaterThan((29 * days) / seconds)
    expect(maxAge).toBeLessThanOrEqual((30 * days) / seconds)
  })

  it('knows no other cookie of ours: a stolen one opens nothing there', async () => {
    expect(await statusOf(ada)).toBe(302)
    expect(await statusOf(ada, { uri: '/public/a' })).toBe(200)
  })

  it('has a cookie that is worth nothing at another host', async () => {
    const of = await arrived()
    expect(await statusOf(of)).toBe(200)
    expect(await statusOf(of, { host: hosts.notes })).toBe(302)
    for (const value of ['', 'x', `${of.jar.get(session)}x`, `${'a'.repeat(43)}.${'a'.repeat(43)}`]) {
      const other = latchkey.browser()
      other.jar.set(session, value)
      expect(await statusOf(other)).toBe(302)
    }
  })

  it('shares its name with the other ports of that host, which browsers do not tell apart', async () => {
    const other = `${hosts.wiki}:8443`
    const proxyOrigin = `https://${other}`
    const added = { name: 'Other port', proxyOrigin, home: `${proxyOrigin}/`, redirectAddresses: [] }
    const { id } = await addApplication(latchkey, added)
    await until('it is known', async () => latchkey.app.rooms.protectedApplications.find(proxyOrigin) !== undefined)
    const of = await arrived()
    await arrive(of, ada, { host: other })
    expect([await statusOf(of), await statusOf(of, { host: other })]).toEqual([200, 200])
    expect(of.jar.get(session)?.split('~')).toHaveLength(2)
    await visit(of, { host: other, uri: '/.latchkey/sign-out' })
    expect([await statusOf(of), await statusOf(of, { host: other })]).toEqual([200, 302])
    await visit(of, { uri: '/.latchkey/sign-out' })
    expect(cookieNames(of)).toEqual([])
    await applicationChangesOf(latchkey).delete(id, operator, { evenIfUsed: true })
  })

  it('answers a program in words, and leads a visitor without the group to our page', async () => {
    const words = await visit(latchkey.browser(), { headers: { 'sec-fetch-mode': 'cors' } })
    expect([words.status, words.body.code, words.setCookies]).toEqual([401, 'not_authenticated', []])
    const first = await visit(latchkey.browser(), { host: hosts.family })
    const page = locationOf(await atOurs(ada, locationOf(first)))
    expect(page).toContain(`${latchkey.url}/step-up?group=1&returnTo=%2Fapi%2Fauth%2Fforward-sign-in%3F`)
  })

  it('lets ten tabs of one window arrive, whichever comes first', async () => {
    const of = latchkey.browser()
    const addresses = []
    for (let tab = 0; tab < 10; tab += 1) addresses.push(locationOf(await visit(of, { uri: `/${tab}` })))
    const callbacks = []
    for (const address of addresses) callbacks.push(locationOf(await atOurs(ada, address)))
    const ends = []
    for (const callback of callbacks) ends.push(locationOf(await visit(of, { uri: pathOf(callback) })))
    expect(ends).toEqual(addresses.map((_, tab) => `https://${hosts.wiki}/${tab}`))
  })

  it('lets tabs arrive that began together, each with a verifier of its own', async () => {
    const of = latchkey.browser()
    const begun = await Promise.all([1, 2, 3].map((tab) => visit(of.copy(), { uri: `/${tab}` })))
    // The browser keeps what came last.
    for (const { setCookies } of begun) of.jar.keep(setCookies)
    const again = []
    for (const tab of begun.slice(0, 2)) {
      const callback = locationOf(await atOurs(ada, locationOf(tab)))
      again.push(await visit(of, { uri: pathOf(callback) }))
    }
    const signIn = expect.stringContaining('/forward-sign-in?')
    expect(again.map((answer) => [answer.status, locationOf(answer)])).toEqual([
      [302, signIn],
      [302, signIn],
    ])
    for (const [tab, answer] of again.entries()) {
      const next = locationOf(await atOurs(ada, locationOf(answer)))
      expect(locationOf(await visit(of, { uri: pathOf(next) }))).toBe(`https://${hosts.wiki}/${tab + 1}`)
    }
    expect(await statusOf(of)).toBe(200)
  })
})

describe('our page between the hosts', () => {
  it('asks a visitor without a session to sign in, and comes back', async () => {
    const address = locationOf(await visit(latchkey.browser()))
    const login = locationOf(await atOurs(latchkey.browser(), address))
    expect(login).toBe(`${latchkey.url}/login?returnTo=${encodeURIComponent(pathOf(address))}`)
  })

  it('asks for a proof that is young enough', async () => {
    const tab = await signedIn()
    latchkey.clock.advance(11 * minutes)
    await tab.act('/api/auth/refresh')
    const page = locationOf(await atOurs(tab, locationOf(await visit(latchkey.browser(), { host: bank }))))
    expect(page).toContain('/step-up?fresh=600s&returnTo=%2Fapi%2Fauth%2Fforward-sign-in%3F')
    ada = await signedIn()
  })

  it('leads nowhere else', async () => {
    const challenge = 'a'.repeat(43)
    const of = (to: string) => `/api/auth/forward-sign-in?challenge=${challenge}&to=${encodeURIComponent(to)}`
    for (const to of [
      'https://evil.example/',
      'https://wiki.other.example.evil.example/',
      'https://wiki.other.example@evil.example/',
      'javascript:alert(1)//https://wiki.other.example/',
      '//wiki.other.example/',
      '/dashboard',
      'http://wiki.other.example/',
    ])
      expect([to, locationOf(await ada.get(of(to), { headers: navigation }))]).toEqual([
        to,
        latchkey.config.afterSignIn,
      ])
    // Neither a user in an address nor an address of ours is a way back.
    for (const to of [`https://x@${hosts.wiki}/a`, `https://${hosts.wiki}/.latchkey/sign-out`]) {
      const tab = latchkey.browser()
      const attempted = locationOf(await visit(tab)).replace(/to=.*/, `to=${encodeURIComponent(to)}`)
      const callback = locationOf(await atOurs(ada, attempted))
      expect(locationOf(await visit(tab, { uri: pathOf(callback) }))).toBe(`https://${hosts.wiki}/`)
    }
    const start = await visit(latchkey.browser(), { uri: '/.latchkey/start?to=https://evil.example/' })
    expect(new URL(locationOf(start)).searchParams.get('to')).toBe(`https://${hosts.wiki}/`)
  })

  it('begins again without a challenge, and gives a prefetch and a frame nothing', async () => {
    const to = `to=${encodeURIComponent(`https://${hosts.wiki}/a`)}`
    for (const query of [to, `challenge=x&${to}`, `challenge=a&challenge=b&${to}`])
      expect(locationOf(await ada.get(`/api/auth/forward-sign-in?${query}`, { headers: navigation }))).toContain(
        `https://${hosts.wiki}/.latchkey/start?to=`,
      )
    const address = locationOf(await visit(latchkey.browser()))
    for (const headers of [{ 'sec-purpose': 'prefetch' }, { 'sec-fetch-dest': 'iframe' }] as Record<string, string>[])
      expect((await atOurs(ada, address, { ...navigation, ...headers })).status).toBe(400)
    expect((await ada.get('/api/auth/forward-sign-in', { headers: navigation })).status).toBe(302)
  })

  it('stops for a browser that comes again and again', async () => {
    const of = latchkey.browser()
    const tab = ada.copy()
    const statuses = new Set<number>()
    for (let time = 0; time < 22; time += 1) {
      of.jar.clear()
      statuses.add((await atOurs(tab, locationOf(await visit(of)))).status)
    }
    expect([...statuses]).toEqual([302, 400])
  })
})

const pageText = ({ status, text, headers }: { status: number; text: string; headers: Headers }) => ({
  status,
  heading: /<h1>(.*?)<\/h1>/.exec(text)?.[1],
  next: /<a class="button primary" href="(.*?)"/.exec(text)?.[1]?.replaceAll('&amp;', '&'),
  hasScript: /<script/.test(text),
  framed: headers.get('x-frame-options'),
})
const again = 'The sign-in for this application was not finished'
const stopped = 'The sign-in does not reach this application'

describe('a callback that is not in order', () => {
  const bad: Record<string, () => Promise<[Browser, Visit]>> = {
    'the code of a stranger in this browser': async () => [
      latchkey.browser(),
      { uri: pathOf(await callbackFor(latchkey.browser(), ada)) },
    ],
    'without its cookie': async () => {
      const of = latchkey.browser()
      const uri = pathOf(await callbackFor(of, ada))
      of.jar.clear()
      return [of, { uri }]
    },
    'of another host': async () => {
      const of = latchkey.browser()
      return [of, { host: hosts.notes, uri: pathOf(await callbackFor(of, ada)) }]
    },
    'a second time, after the cookie has gone': async () => {
      const of = latchkey.browser()
      const uri = pathOf(await callbackFor(of, ada))
      await visit(of.copy(), { uri })
      return [of, { uri }]
    },
    'cut off': async () => {
      const of = latchkey.browser()
      return [of, { uri: pathOf(await callbackFor(of, ada)).slice(0, -5) }]
    },
    'without a code': async () => [latchkey.browser(), { uri: '/.latchkey/callback' }],
    'after two minutes': async () => {
      const of = latchkey.browser()
      const uri = pathOf(await callbackFor(of, ada))
      latchkey.clock.advance(2 * minutes)
      return [of, { uri }]
    },
  }

  it.each(Object.keys(bad))('%s: offers to begin again, and stops at the second time', async (name) => {
    const [of, asked] = (await bad[name]?.()) ?? [latchkey.browser(), {}]
    const failed = await visit(of, asked)
    expect(pageText(failed)).toEqual({
      status: 400,
      heading: again,
      next: expect.stringContaining('/.latchkey/start?to='),
      hasScript: false,
      framed: 'DENY',
    })
    expect(failed.headers.get('strict-transport-security')).toBeNull()
    expect(of.jar.has(session)).toBe(false)
    expect(pageText(await visit(of, asked))).toMatchObject({ status: 400, heading: stopped, next: undefined })
    // A browser that keeps no cookie is known by the address that it began again with.
    const next = pageText(failed).next ?? ''
    const begun = await visit(latchkey.browser(), { ...asked, uri: pathOf(next) })
    const callback = locationOf(await atOurs(ada, locationOf(begun)))
    const withoutCookie = await visit(latchkey.browser(), { ...asked, uri: pathOf(callback) })
    expect(pageText(withoutCookie)).toMatchObject({ status: 400, heading: stopped })
    // With cookies it works.
    const restarted = await visit(of, { ...asked, uri: pathOf(next) })
    const good = locationOf(await atOurs(ada, locationOf(restarted)))
    expect((await visit(of, { ...asked, uri: pathOf(good) })).status).toBe(302)
    expect(await statusOf(of, { ...asked, uri: '/' })).toBe(200)
  })

  it('goes on if the browser has arrived already', async () => {
    const of = latchkey.browser()
    const uri = pathOf(await callbackFor(of, ada))
    await visit(of, { uri })
    const value = of.jar.get(session)
    const back = await visit(of, { uri })
    expect([back.status, locationOf(back), of.jar.get(session)]).toEqual([302, `https://${hosts.wiki}/`, value])
  })

  it('is for pages only, and all else below the path is not found', async () => {
    const of = latchkey.browser()
    const uri = pathOf(await callbackFor(of, ada))
    for (const asked of [
      { uri, headers: { ...navigation, 'sec-purpose': 'prefetch' } },
      { uri, headers: { ...navigation, 'sec-fetch-dest': 'iframe' } },
      { uri, method: 'POST' },
      { uri: '/.latchkey' },
      { uri: '/.latchkey/' },
      { uri: '/.latchkey/start/' },
      { uri: '/.latchkey/other' },
    ])
      expect([asked, await statusOf(of, asked)]).toEqual([asked, 404])
    expect(await statusOf(await arrived(), { uri: '/.latchkey/other' })).toBe(404)
    expect(await statusOf(of, { uri })).toBe(302)
  })
})

describe('a proxy that hands no answer on', () => {
  const byNginx = (of: Browser, uri = '/page') =>
    of.send('GET', '/api/auth/forward', undefined, {
      headers: { ...navigation, 'x-original-method': 'GET', 'x-original-url': `https://${hosts.wiki}${uri}` },
    })
  const direct = (of: Browser, path: string, headers: object = {}) =>
    of.send('GET', path, undefined, {
      headers: { ...navigation, 'x-forwarded-proto': 'https', 'x-forwarded-host': hosts.wiki, ...headers },
    })

  it('gets the address that sets the cookie, and leads it here', async () => {
    const of = latchkey.browser()
    const refused = await byNginx(of)
    const start = locationOf(refused)
    expect([refused.status, start]).toEqual([
      401,
      `https://${hosts.wiki}/.latchkey/start?to=${encodeURIComponent(`https://${hosts.wiki}/page`)}`,
    ])
    expect(refused.setCookies).toEqual([])
    const begun = await direct(of, pathOf(start))
    const callback = locationOf(await atOurs(ada, locationOf(begun)))
    const back = await direct(of, pathOf(callback), { 'sec-fetch-site': 'cross-site' })
    expect([back.status, locationOf(back)]).toEqual([302, `https://${hosts.wiki}/page`])
    expect((await byNginx(of)).status).toBe(200)
    expect((await byNginx(of, '/.latchkey/start')).status).toBe(404)
    expect(latchkey.logLines.filter((line) => line.includes('lead /.latchkey/ of this host'))).toHaveLength(1)
  })

  it.each([
    ['no host', { 'x-forwarded-host': '' }],
    ['a host that nobody has registered', { 'x-forwarded-host': 'evil.example' }],
    ['http', { 'x-forwarded-proto': 'http' }],
    ['two hosts', { 'x-forwarded-host': `${hosts.wiki}, evil.example` }],
  ])('is not believed with %s', async (_, headers) => {
    const answer = await direct(latchkey.browser(), '/.latchkey/start', headers)
    expect([answer.status, answer.setCookies]).toEqual([404, []])
  })

  it('is not believed from an address that is no proxy, and knows no other path', async () => {
    expect((await latchkey.browser().get('/.latchkey/start', { headers: navigation })).status).toBe(404)
    expect((await direct(latchkey.browser(), '/.latchkey/other')).status).toBe(404)
    expect((await latchkey.browser().post('/.latchkey/start', {})).status).toBe(405)
  })
})

describe('the cookie of a host ends', () => {
  const closes = (of: Browser, asked: Visit = {}) =>
    until('the host is closed', async () => (await statusOf(of, asked)) === 302)

  it('with its session', async () => {
    const tab = await signedIn()
    const of = await arrived(tab)
    expect(await statusOf(of)).toBe(200)
    await tab.act('/api/auth/logout')
    await closes(of)
    expect(
      await latchkey.sql.query(
        'select 1 from host_sessions as h left join sessions as s on s.id = h.sid where s.id is null',
      ),
    ).toEqual([])
  })

  it('with a session that plain SQL ends', async () => {
    const tab = await signedIn()
    const of = await arrived(tab)
    const { sessionId } = (await tab.get('/api/auth/me')).body
    await latchkey.sql.query('delete from sessions where id = $1', [sessionId])
    await closes(of)
  })

  it('with the right, and begins with it', async () => {
    const { groupChanges, users } = latchkey.app.rooms
    const user = await latchkey.signedUp('bob').then(() => users.findByLogin('bob'))
    const context = { userId: user?.id ?? '', client: operator }
    await groupChanges.change(context, { add: ['family'] })
    const of = await arrived(await signedIn('bob'), { host: hosts.family })
    expect(await statusOf(of, { host: hosts.family })).toBe(200)
    await groupChanges.change(context, { remove: ['family'] })
    await closes(of, { host: hosts.family })
  })

  it('alone, from the account page, and the session goes on', async () => {
    const tab = await signedIn()
    const [of, notes] = [await arrived(tab), await arrived(tab, { host: hosts.notes })]
    const { applications } = (await tab.get('/api/auth/applications')).body as { applications: { name: string }[] }
    expect(applications.map(({ name }) => name)).toEqual(expect.arrayContaining(['Wiki', 'Notes']))
    expect(await statusOf(of)).toBe(200)
    expect((await tab.remove(`/api/auth/applications/${wiki.id}`)).status).toBe(204)
    await closes(of)
    expect([await statusOf(notes, { host: hosts.notes }), (await tab.get('/api/auth/me')).status]).toEqual([200, 200])
    ada = await signedIn()
  })

  it('with the user', async () => {
    await latchkey.signedUp('eve')
    const of = await arrived(await signedIn('eve'))
    expect(await statusOf(of)).toBe(200)
    await latchkey.sql.query("delete from users where username = 'eve'")
    await closes(of)
  })

  it('by a link elsewhere at that host only, and everywhere from its own page', async () => {
    const tab = await signedIn()
    const of = await arrived(tab)
    const uri = '/.latchkey/sign-out'
    const asked = await visit(of.copy(), { uri, headers: { ...navigation, 'sec-fetch-site': 'cross-site' } })
    expect(locationOf(asked)).toBe(`${latchkey.url}/api/auth/end-session`)
    expect(asked.setCookies.join()).toContain(`${session}=; Max-Age=0`)
    expect([await statusOf(of), (await tab.get('/api/auth/me')).status]).toEqual([302, 200])
    const notes = await arrived(tab, { host: hosts.notes })
    await arrive(of, tab)
    const left = await visit(of, { uri, headers: { ...navigation, 'sec-fetch-site': 'same-origin' } })
    expect(locationOf(left)).toBe(`${latchkey.url}/login?notice=signed_out`)
    await closes(notes, { host: hosts.notes })
    expect((await tab.get('/api/auth/me')).status).toBe(401)
  })

  it('after the life of its session, also if nobody has signed out', async () => {
    const tab = await signedIn()
    const of = await arrived(tab)
    expect(await statusOf(of)).toBe(200)
    latchkey.clock.advance(31 * days)
    expect(await statusOf(of)).toBe(302)
    ada = await signedIn()
  })
})

describe('freshness', () => {
  it('is that of the session, at once after a new proof', async () => {
    const tab = await signedIn()
    const of = await arrived(tab, { host: bank })
    expect(await statusOf(of, { host: bank })).toBe(200)
    latchkey.clock.advance(11 * minutes)
    const old = await visit(of, { host: bank, headers: { 'sec-fetch-mode': 'cors' } })
    expect([old.status, old.body.code]).toEqual([403, 'step_up_required'])
    await tab.act('/api/auth/refresh')
    expect((await tab.act('/api/auth/step-up', { password: goodPassword })).status).toBe(200)
    latchkey.clock.advance(2 * seconds)
    expect(await statusOf(of, { host: bank })).toBe(200)
  })
})

describe('a database that is away', () => {
  it('lets a known cookie go on for a while, and answers 503 for an unknown one', async () => {
    const tab = await signedIn()
    const [known, unknown] = [await arrived(tab), await arrived(tab)]
    expect(await statusOf(known)).toBe(200)
    await latchkey.sql.query('alter table host_sessions rename to host_sessions_away')
    try {
      const refused = await visit(unknown)
      expect([refused.status, refused.headers.get('retry-after'), refused.setCookies]).toEqual([503, '5', []])
      expect(await statusOf(known)).toBe(200)
      latchkey.clock.advance(6 * minutes)
      expect([await statusOf(known), await statusOf(known)]).toEqual([200, 200])
      latchkey.clock.advance(10 * minutes)
      expect(await statusOf(known)).toBe(503)
    } finally {
      await latchkey.sql.query('alter table host_sessions_away rename to host_sessions')
    }
    expect(await statusOf(unknown)).toBe(200)
  })
})

describe('an address of http', () => {
  it('can only be registered where our cookies are', async () => {
    const changes = applicationChangesOf(latchkey)
    const refused = await changes.change(wiki.id, { proxyOrigin: 'http://wiki.other.example' }, operator)
    expect(refused).toMatchObject({ refused: 'bad_proxy_address', fault: 'not_https' })
    const { hostname } = new URL(latchkey.url)
    const near = await changes.change(wiki.id, { proxyOrigin: `http://${hostname}:7777` }, operator)
    expect(near).not.toHaveProperty('refused')
  })
})
