import { describe, expect, it } from 'vitest'
import { type BrowserName, openBrowser, type Tab, type TestBrowser } from '../support/browsers.js'
import { testPostgres } from '../support/databases.js'
import { inLongRun, isLongRun } from '../support/long-run.js'
import type { FrontEnd, Visitor } from '../support/site/https-client.js'
import type { Instance } from '../support/site/instance.js'
import { password } from '../support/site/site.js'
import { until } from '../support/until.js'
import type { Application } from './application.js'
import { arriveFromElsewhere, arrivesAt, talk } from './browser-journeys.js'
import { expectNothingKeptByCaches } from './caching-proxy.js'
import { expectOutage, navigation } from './proxy-answers.js'

type Place = { application: Application; databaseUrl: string; username: string }

const withDatabase = async <Result>(
  url: string,
  work: (database: ReturnType<typeof testPostgres>) => Promise<Result>,
) => {
  const database = testPostgres(url)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** How often the newest session of the user was rotated, and how many thefts were seen. */
const stateOf = ({ databaseUrl, username }: Place) =>
  withDatabase(databaseUrl, async (database) => {
    const [row] = await database.query<{ generation: number; thefts: number }>(
      `select generation, (select count(*)::int from events where kind = 'refresh_theft') as thefts
       from sessions where user_id = (select id from users where username = $1) order by id desc limit 1`,
      [username],
    )
    return row
  })

/** Runs in a page: thirty requests at once, every third of them a POST. */
const askThirtyTimes = async (path: string) => {
  const one = async (index: number) =>
    (await fetch(`${path}?index=${index}`, index % 3 === 0 ? { method: 'POST', body: `note=${index}` } : {})).status
  return Promise.all(Array.from({ length: 30 }, (_, index) => one(index)))
}

const leaveFor = async (path: string) => {
  location.href = path
}

/** A part that asks for a recent proof sends the person to prove it, and back to the same address. */
const proveAgain = async (tab: Tab, here: string, { databaseUrl, username }: Place) => {
  await withDatabase(databaseUrl, (database) =>
    database.query(
      `update sessions set authenticated_at = now() - interval '11 minutes'
       where user_id = (select id from users where username = $1)`,
      [username],
    ),
  )
  await tab.forgetCookie('access_token')
  await tab.goTo(`${here}/recent/users?a=1&b=%2F#part`)
  await tab.see('Confirm once more that it is you to open this page.')
  await tab.fill('password', password)
  await tab.press('Confirm')
  await arrivesAt(tab, `${here}/recent/users?a=1&b=%2F#part`)
}

/** Everything that a person does after the access token has expired. Each step begins without one, and is one rotation. */
const renewInBrowser = async (browser: TestBrowser, here: string, place: Place, count: number) => {
  const tab = await browser.tab()
  const { application } = place
  let rotations = 0
  const expectRotation = async (step: (tab: Tab) => Promise<void>) => {
    await tab.forgetCookie('access_token')
    await step(tab)
    rotations += 1
    expect(await stateOf(place)).toEqual({ generation: rotations, thefts: 0 })
  }
  const heard = (path: string) => application.heard.filter(({ url }) => url === path)
  try {
    await tab.goTo(`${here}/login?returnTo=/notes`)
    await tab.fill('username', place.username)
    await tab.fill('password', password)
    await tab.press('Sign in')
    await arrivesAt(tab, `${here}/notes`)
    await proveAgain(tab, here, place)
    rotations = (await stateOf(place))?.generation ?? 0

    await expectRotation(async () => {
      await tab.goTo(`${here}/notes?a=1#x`)
      await arrivesAt(tab, `${here}/notes?a=1#x`)
    })
    await tab.fill('note', 'milk')
    await expectRotation(async () => {
      const before = heard('/notes').length
      await tab.press('Send the note')
      await arrivesAt(tab, `${here}/notes`)
      expect(heard('/notes').slice(before)).toMatchObject([{ method: 'POST', body: 'note=milk' }])
    })
    await expectRotation(async () => {
      expect(new Set(await tab.evaluate(askThirtyTimes, '/data'))).toEqual(new Set([200]))
    })
    await expectRotation(async () => {
      expect(await tab.evaluate(talk, '/socket')).toContain('an echo')
    })
    await expectRotation(async () => {
      await tab.goTo(`${here}/many`)
      await tab.see('30 parts')
    })
    const tabs = await Promise.all(Array.from({ length: count }, () => tab.another()))
    await expectRotation(async () => {
      await Promise.all(tabs.map((each) => each.goTo(`${here}/notes`)))
      for (const each of tabs) await arrivesAt(each, `${here}/notes`)
    })
    // The new tokens are lost with the navigation, and the next one gets them again.
    await expectRotation(async () => {
      await tab.evaluate(leaveFor, '/slow')
      await until('the application is asked', () => heard('/slow').length > 0)
      heard('/slow').splice(0)
      await tab.goTo(`${here}/notes`)
      await arrivesAt(tab, `${here}/notes`)
    })
  } finally {
    await tab.close()
  }
}

const tokenCookies = /^(access_token|refresh_token)=[\w.-]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict; Secure$/

/** What the answers look like that carry new tokens: no cache may keep them, and an error carries them too. */
const expectRenewedAnswers = async (visitor: Visitor, place: Place) => {
  const cookiesOf = ({ headers }: { headers: { 'set-cookie'?: string[] } }) => headers['set-cookie'] ?? []
  const { generation = 0 } = (await stateOf(place)) ?? {}
  const kept = await visitor.get('/cached')
  expect(kept.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect(cookiesOf(kept)).toEqual(['theme=dark'])

  visitor.jar.delete('access_token')
  const renewed = await visitor.get('/cached')
  const caching = String(renewed.headers['cache-control']).split(', ')
  expect(caching).toEqual(expect.arrayContaining(['private', 'no-store']))
  expect(caching).not.toContain('public')
  const lines = cookiesOf(renewed).sort()
  expect(lines).toEqual([expect.stringMatching(tokenCookies), expect.stringMatching(tokenCookies), 'theme=dark'])
  expect(renewed.lines.filter(([name]) => name === 'strict-transport-security')).toHaveLength(1)
  const token = lines[0]?.split(/[=;]/)[1] ?? ''
  for (const [name, value] of renewed.lines)
    expect([name, name !== 'set-cookie' && value.includes(token)]).toEqual([name, false])

  visitor.jar.delete('access_token')
  const broken = await visitor.get('/broken', navigation('none'))
  expect(broken.status).toBe(503)
  expect(broken.text).toContain('The application does not answer.')
  expect(cookiesOf(broken)).toEqual([expect.stringMatching(tokenCookies), expect.stringMatching(tokenCookies)])
  expect((await visitor.get('/reports')).status).toBe(200)
  expect(await stateOf(place)).toMatchObject({ generation: generation + 2, thefts: 0 })
}

/**
 * Asks for a page that comes late, without an access token. The tokens come with that page, when the same browser
 * has long gone on with others. The returned function waits for the page, and expects that no user is signed out by it.
 */
export const beginSlowAnswer = async (visitor: Visitor, application: Application) => {
  visitor.jar.delete('access_token')
  const slow = visitor.get('/late')
  await until('the application is asked', () => application.heard.some(({ url }) => url === '/late'))
  return async () => {
    expect((await visitor.get('/reports')).status).toBe(200)
    const { status, text } = await slow
    expect([status, text]).toEqual([200, expect.stringContaining('late page')])
    expect((await visitor.get('/reports')).status).toBe(200)
    visitor.jar.delete('access_token')
    expect((await visitor.get('/reports')).status).toBe(200)
    expect((await visitor.get('/api/auth/me')).status).toBe(200)
  }
}

/**
 * With a domain the cookies are shared by hosts. Without it the browser would keep a second pair, and neither would count. Both
 * are gone when the session is over, which is sooner than usual here. The instance keeps these settings.
 */
export const expectAttributesOfCookies = async (visitor: Visitor, instance: Instance) => {
  const settings = { COOKIE_DOMAIN: 'example.com', PUBLIC_URL: 'https://app.example.com', SESSION_MAX_AGE: '10m' }
  await instance.again(settings)
  visitor.jar.delete('access_token')
  const { headers } = await visitor.get('/reports')
  const lines = (headers['set-cookie'] ?? []).filter((line) => !line.includes('Max-Age=0'))
  const flags = 'Domain=example.com; Path=/; HttpOnly; SameSite=Strict; Secure'
  expect(lines.map((line) => line.replace(/=[^;]+; Max-Age=\d+/, ''))).toEqual([
    `access_token; ${flags}`,
    `refresh_token; ${flags}`,
  ])
  const [left, ...others] = new Set(lines.map((line) => Number(/Max-Age=(\d+)/.exec(line)?.[1])))
  expect(others).toEqual([])
  expect(left).toBeGreaterThan(0)
  expect(left).toBeLessThanOrEqual(600)
}

/** Without the database a page that needs no renewal goes on, and the others are told so: no user is sent to sign in. */
const expectOutageOfDatabase = async (visitor: Visitor, place: Place) => {
  const expired = visitor.copy()
  expired.jar.delete('access_token')
  const [known, person, program] = await withDatabase(place.databaseUrl, (database) =>
    database.transaction(async (sql) => {
      // The service waits for the table, as it waits for a server that hangs, and gives up.
      await sql.query('lock table sessions')
      const asPerson = expired.copy().get('/reports', navigation('none'))
      return Promise.all([visitor.get('/reports'), asPerson, expired.copy().get('/reports')])
    }),
  )
  expectOutage(person, program, 'The sign-in service does not answer.')
  expect(known.status).toBe(200)
  expect((await expired.get('/reports')).status).toBe(200)
}

/** What a proxy in front of an application keeps to when it renews a session. */
export const itRenewsSessions = (
  browsers: readonly BrowserName[],
  at: () => { front: FrontEnd; place: Place; signedIn: () => Promise<Visitor> },
) => {
  describe.each(browsers)('in %s', (name) => {
    it('renews a session for all that it does', async () => {
      const { front, place } = at()
      await renewInBrowser(await openBrowser(name), `https://localhost:${front.port}`, place, inLongRun(10, 2))
    })

    // In every run, forward-auth.test.ts does this in Chromium, and counts the requests.
    if (isLongRun)
      it('is reached from other sites with query and fragment', async () => {
        const { front, place } = at()
        await arriveFromElsewhere(await openBrowser(name), `https://localhost:${front.port}`, place.username)
      })
  })

  it('sends renewed tokens with the answer of the application, and no cache may keep it', async () => {
    const { front, place, signedIn } = at()
    await expectRenewedAnswers(await signedIn(), place)
    await expectNothingKeptByCaches(front, await signedIn())
  })

  it('goes on without the database, and sends no user to sign in', async () =>
    expectOutageOfDatabase(await at().signedIn(), at().place))
}
