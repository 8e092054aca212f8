import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { methodsCountingAs } from '#contract/factors.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { minutes, seconds } from '../../src/lib/durations.js'
import { createExpiredRows } from '../../src/service/background.js'
import { applicationChangesOf } from '../support/applications.js'
import { addAuthenticator } from '../support/authenticator.js'
import { basic, callerOf, postForm, tokensApart } from '../support/authorizations.js'
import type { Browser } from '../support/client.js'
import { whileAway } from '../support/databases.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type OpenidApplication, openidApplication } from '../support/openid-application.js'
import { until } from '../support/until.js'

let latchkey: Latchkey
let notes: OpenidApplication
beforeAll(async () => {
  latchkey = await startLatchkey()
  notes = await openidApplication(latchkey, { algorithm: 'ES256' })
})
afterAll(() => latchkey.stop())

const tables = [
  'authorization_requests',
  'application_sessions',
  'authorization_codes',
  'application_tokens',
  'application_access_tokens',
  'application_secrets',
  'events',
]

/** Every row of the provider as text, with binary columns in all the ways in which they are written. */
const everythingStored = async () => {
  const rows = await Promise.all(
    tables.map((table) => latchkey.sql.query<{ row: string }>(`select t::text as row from ${table} as t`)),
  )
  return rows.flat().map(({ row }) => row)
}

describe('what is stored of an application and its user', () => {
  it('are hashes: no id of a request, code, token or secret', async () => {
    const tab = await latchkey.signedUp('ada')
    const asked = await notes.ask(tab, { prompt: 'consent' })
    const done = await notes.answer(tab, asked, 'continue')
    const { code = '' } = notes.told(done)
    const tokens = await notes.redeem(done)
    const next = await notes.refresh(tokens)
    const secrets = [
      asked.state.request ?? '',
      tab.jar.get('attempt_browser') ?? '',
      code,
      notes.application.secret,
      ...[tokens, next].flatMap(({ access_token, refresh_token = '', id_token }) => [
        access_token,
        refresh_token,
        id_token,
      ]),
    ]
    const stored = (await everythingStored()).join('\n')
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(40)
      for (const text of [
        secret,
        Buffer.from(secret).toString('hex'),
        Buffer.from(secret, 'base64url').toString('hex'),
      ])
        expect(stored.includes(text), secret.slice(0, 8)).toBe(false)
    }
    // The same search does find a hash that is stored.
    const hash = createHash('sha256').update(next.access_token).digest('hex')
    expect(stored).toContain(hash)
  })

  it('is one authorization of a session, with one event, however many codes there were', async () => {
    const tab = await latchkey.signedUp('bea')
    const first = await notes.signIn(tab)
    const second = await notes.signIn(tab, { scope: 'openid email' })
    expect(second.claims.sid).toBe(first.claims.sid)
    const sub = [first.claims.sub]
    const sessions = 'select scopes from application_sessions where user_id = $1'
    expect(await latchkey.sql.query(sessions, sub)).toEqual([{ scopes: ['openid', 'email'] }])
    const events = "select reason, session_id from events where user_id = $1 and kind = 'application_used'"
    expect(await latchkey.sql.query(events, sub)).toEqual([{ reason: 'Notes', session_id: first.claims.sid }])
    expect((await notes.userInfo(first)).sub).toBe(first.claims.sub)
  })

  it('lasts as long as the contract says, by the clock of the database', async () => {
    const tab = await latchkey.signedUp('cy')
    const asked = await notes.ask(tab, { prompt: 'consent' })
    const done = await notes.answer(tab, asked, 'continue')
    await notes.redeem(done)
    const sinceWritten = async (table: string, written: string) => {
      const lifetime = `extract(epoch from t.expires_at - ${written})::float8 as seconds`
      const [row] = await latchkey.sql.query<{ seconds: number }>(
        `select ${lifetime} from ${table} as t order by t.expires_at desc limit 1`,
      )
      return Math.round(row?.seconds ?? 0)
    }
    expect(await sinceWritten('authorization_requests', 't.created_at')).toBe(3_600)
    expect(await sinceWritten('authorization_codes', 't.created_at')).toBe(60)
    const rotated = '(select max(rotated_at) from application_tokens)'
    expect(await sinceWritten('application_access_tokens', rotated)).toBe(900)
  })

  it('ends with the session: tokens of a code, and those of a refresh after the browser has refreshed', async () => {
    const tab = await latchkey.signedUp('ed')
    const tokens = await notes.redeem(await notes.answer(tab, await notes.ask(tab, { prompt: 'consent' }), 'continue'))
    expect(await tokensApart(latchkey, 'ed')).toEqual([0])
    await latchkey.advance(2 * minutes)
    await tab.post('/api/auth/refresh')
    const [apart = 0] = await tokensApart(latchkey, 'ed')
    expect(apart).toBeGreaterThanOrEqual(120)
    await notes.refresh(tokens)
    expect(await tokensApart(latchkey, 'ed')).toEqual([0])
  })

  it('is kept of a used code for ten minutes: until then a second use ends the tokens', async () => {
    const tab = await latchkey.signedUp('dan')
    const asked = await notes.ask(tab)
    const tokens = await notes.redeem(asked)
    const purge = async () => {
      const jobs = createExpiredRows({ clock: latchkey.clock }).filter(
        ({ name }) => name === 'purge authorization_codes',
      )
      for (const { run } of jobs) await run(latchkey.sql, 100)
    }
    await latchkey.advance(10 * minutes)
    await purge()
    expect((await notes.userInfo(tokens)).sub).toBe(tokens.claims.sub)
    const again = await notes.exchange(asked.sent, asked.state.location ?? '')
    expect([again.status, (await again.json()).error]).toEqual([400, 'invalid_grant'])
    await expect(notes.userInfo(tokens)).rejects.toMatchObject({ status: 401 })
    await latchkey.advance(2 * minutes)
    await purge()
    expect(await latchkey.sql.query('select 1 from authorization_codes')).toEqual([])
  })
})

describe('a request', () => {
  it('has at most 8 KB', async () => {
    const tab = latchkey.browser()
    const { parameters } = await notes.request({ state: 'x'.repeat(7_000) })
    const ask = (text: string) => tab.post('/api/auth/authorization', { parameters: text })
    expect((await ask(parameters.toString())).status).toBe(200)
    const { parameters: longer } = await notes.request({ state: 'x'.repeat(8_000) })
    expect(longer.toString().length).toBeGreaterThan(8_192)
    expect((await ask(longer.toString())).status).toBe(400)
  })

  it('that waits is over when its redirect address is no longer registered', async () => {
    const moved = await openidApplication(latchkey, { name: 'Moved', algorithm: 'ES256' })
    const tab = await latchkey.signedUp('eve')
    const asked = await moved.ask(tab, { prompt: 'consent' })
    expect(asked.state.next).toBe('consent')
    const redirectAddresses = ['https://notes.example.com/moved']
    await applicationChangesOf(latchkey).change(moved.application.id, { redirectAddresses }, operatorClient('root'))
    expect((await moved.resume(tab, asked)).state).toEqual({
      next: 'start_again',
      application: { name: 'Moved', home: 'https://notes.example.com' },
    })
    expect((await moved.answer(tab, asked, 'continue')).state.next).toBe('start_again')
  })

  it('for two factors is met by a second step, which the ID token tells', async () => {
    const vault = await openidApplication(latchkey, { name: 'Vault', algorithm: 'ES256', factors: 2 })
    const tab = await latchkey.signedUp('fay')
    const asked = await vault.ask(tab)
    expect(asked.state.next).toBe('enrol')
    const { code } = await addAuthenticator(tab, latchkey)
    await latchkey.advance(1 * seconds)
    const proving = await vault.resume(tab, asked)
    // An authenticator that was added is not one that was used, and a password is no second step.
    expect(proving.state).toMatchObject({ next: 'prove', methods: ['totp', 'recovery_code'] })
    expect((await tab.act('/api/auth/step-up', { password: goodPassword })).status).not.toBe(200)
    expect((await tab.act('/api/auth/step-up', { code: code() })).status).toBe(200)
    const done = await vault.resume(tab, proving)
    const { claims } = await vault.redeem(done)
    expect([claims.acr, claims.amr]).toEqual(['2', expect.arrayContaining(['otp', 'mfa'])])
    expect((await notes.signIn(tab)).claims.acr).toBe('2')
  })

  it('with an essential acr gets one of its values or fails (OpenID Connect Core 1.0, 5.5.1.1)', async () => {
    const [one, two] = [await latchkey.signedUp('one'), await latchkey.signedUp('two')]
    await latchkey.sql.query('update sessions set methods = $2 where id = $1', [
      (await callerOf(latchkey, 'two')).sessionId,
      [...methodsCountingAs('both')],
    ])
    const outcome = async (tab: Browser, acr: object) => {
      const asked = await notes.ask(tab, { claims: JSON.stringify({ id_token: { acr } }) })
      if (asked.state.next !== 'done') return asked.state.next
      return notes.told(asked).error ?? (await notes.redeem(asked)).claims.acr
    }
    const unmet = 'unmet_authentication_requirements'
    const cases: [acr: object, withOneFactor: string, withTwo: string][] = [
      [{ essential: true }, '1', '2'],
      [{ essential: true, value: '2' }, 'enrol', '2'],
      [{ essential: true, values: ['2', 'phr'] }, 'enrol', '2'],
      [{ essential: true, values: ['phr', '2', '1'] }, '1', '2'],
      [{ essential: true, value: '1' }, '1', '1'],
      [{ essential: true, values: ['1', 'phr'] }, '1', '1'],
      [{ essential: true, value: 2 }, unmet, unmet],
      [{ essential: true, values: [1, 2] }, unmet, unmet],
      [{ essential: true, value: 'phr' }, unmet, unmet],
      [{ essential: true, values: ['urn:mace:incommon:iap:silver'] }, unmet, unmet],
      [{ essential: true, values: [] }, unmet, unmet],
      [{ essential: true, values: '2' }, unmet, unmet],
      [{ essential: true, value: '1', values: ['2'] }, unmet, unmet],
      [{ value: 'phr' }, '1', '2'],
      [{ essential: false, values: ['2'] }, '1', '2'],
    ]
    for (const [acr, ...expected] of cases)
      expect([acr, await outcome(one, acr), await outcome(two, acr)]).toEqual([acr, ...expected])
  })
})

it('an application that asks in silence while the database is away is told so, and any other user waits', async () => {
  const tab = await latchkey.signedUp('gil')
  await notes.signIn(tab)
  const { parameters } = await notes.request({ prompt: 'none', state: 'quiet' })
  const ask = (text: URLSearchParams) => tab.post('/api/auth/authorization', { parameters: text.toString() })
  await whileAway(latchkey.config.databaseUrl, async () => {
    const { status, body } = await ask(parameters)
    expect([status, body.next]).toEqual([200, 'done'])
    const told = Object.fromEntries(new URL(String(body.location)).searchParams)
    expect(told).toMatchObject({ error: 'temporarily_unavailable', state: 'quiet', iss: notes.issuer })
    const { parameters: loud } = await notes.request()
    expect((await ask(loud)).status).toBe(503)
    const { parameters: evil } = await notes.request({ prompt: 'none', redirect_uri: 'https://evil.example/' })
    expect((await ask(evil)).status).toBe(503)
  })
  await until('the database is back', async () => (await ask((await notes.request()).parameters)).status === 200)
})

it('no cache keeps what is answered about a user, a token or an error', async () => {
  const { id, secret } = notes.application
  const answers = await Promise.all([
    postForm(latchkey.url, '/api/auth/token', {}, basic(id, secret)),
    postForm(latchkey.url, '/api/auth/token', {}),
    postForm(latchkey.url, '/api/auth/revoke', { token: 'x' }, basic(id, secret)),
    postForm(latchkey.url, '/api/auth/userinfo', { access_token: 'x' }),
    fetch(`${notes.issuer}/userinfo`),
    fetch(`${notes.issuer}/authorize`),
    fetch(`${notes.issuer}/end-session`),
    latchkey.browser().post('/api/auth/authorization', { request: 'x' }),
  ])
  expect(answers.map(({ headers }) => headers.get('cache-control'))).toEqual(answers.map(() => 'no-store'))
})
