import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { minutes, seconds } from '../../src/lib/durations.js'
import type { Transaction } from '../../src/platform/database/database.js'
import { addApplication } from '../support/applications.js'
import {
  basic,
  callerOf,
  challengeOf,
  createProtocolClient,
  issueCode,
  newVerifier,
  postForm,
} from '../support/authorizations.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { overtaken } from '../support/waits-for-lock.js'

const JWT_SECRET = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
const redirect_uri = 'https://notes.example.com/callback'
const spaRedirect = 'https://spa.example.org/'

let latchkey: Latchkey
let second: Latchkey
type Added = Awaited<ReturnType<typeof addApplication>>
let web: Added
let other: Added
let old: Added
let spa: Added
let staffOnly: Added

beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { JWT_SECRET } })
  const { databaseUrl, redisUrl = '', redisPrefix, publicUrl } = latchkey.config
  const shared = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix, PUBLIC_URL: publicUrl }
  second = await startLatchkey({ settings: { JWT_SECRET, REFRESH_GRACE: '90s', ...shared }, clock: latchkey.clock })
  expect((await postForm(latchkey.url, '/api/auth/token', {})).status).toBe(404)
  await latchkey.advance(2 * seconds)
  await latchkey.sql.query("insert into groups (name, created_at) values ('staff', now())")
  web = await addApplication(latchkey)
  other = await addApplication(latchkey, { name: 'Other' })
  old = await addApplication(latchkey, { name: 'Old', pkce: false })
  spa = await addApplication(latchkey, { name: 'Spa', kind: 'browser', redirectAddresses: [spaRedirect] })
  staffOnly = await addApplication(latchkey, { name: 'Staff', access: 'groups', groups: ['staff'] })
  await latchkey.signedUp('ada')
})
afterAll(async () => {
  await second.stop()
  await latchkey.stop()
})

const secondUrl = () => `http://127.0.0.1:${second.config.port}`

const { readyCode, token, refreshWith, userInfo } = createProtocolClient(() => ({ latchkey, application: web }))
const authorizationsOfApplication = async (id: string) =>
  (await latchkey.sql.query('select 1 from application_sessions where application_id = $1', [id])).length
const events = async (kind: string) => (await latchkey.sql.query('select 1 from events where kind = $1', [kind])).length
describe('a code', () => {
  it('gives an ID token, an access token for UserInfo and a refresh token', async () => {
    const { status, body, headers } = await token(await readyCode())
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 900, scope: 'openid profile email groups' })
    const claims = JSON.parse(Buffer.from(body.id_token?.split('.')[1] ?? '', 'base64url').toString())
    expect(claims).toMatchObject({ aud: web.id, nonce: 'n-0S6', preferred_username: 'ada', acr: '1' })
    const answer = await userInfo(body.access_token)
    expect(await answer.json()).toMatchObject({ sub: claims.sub, preferred_username: 'ada', email_verified: true })
  })

  it.each<
    [string, () => Record<string, string>, (form: Record<string, string>) => Record<string, string>, number, string]
  >([
    ['no client authentication', () => ({}), (form) => ({ ...form, client_id: web.id }), 401, 'invalid_client'],
    ['nobody at all', () => ({}), (form) => form, 401, 'invalid_client'],
    ['another client’s secret', () => basic(web.id, other.secret), (form) => form, 401, 'invalid_client'],
    ['another client', () => basic(other.id, other.secret), (form) => form, 400, 'invalid_grant'],
    ['an unknown client', () => basic('nobody', 'x'), (form) => form, 401, 'invalid_client'],
    ['a public client with a secret', () => basic(spa.id, 'secret'), (form) => form, 401, 'invalid_client'],
    [
      'two ways at once',
      () => basic(web.id, web.secret),
      (form) => ({ ...form, client_id: web.id, client_secret: web.secret }),
      400,
      'invalid_request',
    ],
    [
      'two client ids',
      () => basic(web.id, web.secret),
      (form) => ({ ...form, client_id: other.id }),
      400,
      'invalid_request',
    ],
    ['a bearer token', () => ({ authorization: 'Bearer x' }), (form) => form, 401, 'invalid_client'],
    [
      'another redirect address',
      () => basic(web.id, web.secret),
      (form) => ({ ...form, redirect_uri: `${redirect_uri}/` }),
      400,
      'invalid_grant',
    ],
    [
      'no redirect address',
      () => basic(web.id, web.secret),
      ({ redirect_uri: _, ...form }) => form,
      400,
      'invalid_grant',
    ],
    [
      'a challenge without verifier',
      () => basic(web.id, web.secret),
      ({ code_verifier: _, ...form }) => form,
      400,
      'invalid_grant',
    ],
    [
      '42 characters',
      () => basic(web.id, web.secret),
      (form) => ({ ...form, code_verifier: 'a'.repeat(42) }),
      400,
      'invalid_grant',
    ],
    [
      '129 characters',
      () => basic(web.id, web.secret),
      (form) => ({ ...form, code_verifier: 'a'.repeat(129) }),
      400,
      'invalid_grant',
    ],
    [
      'the challenge as verifier (plain)',
      () => basic(web.id, web.secret),
      (form) => ({ ...form, code_verifier: challengeOf(form.code_verifier ?? '') }),
      400,
      'invalid_grant',
    ],
    [
      'another grant',
      () => basic(web.id, web.secret),
      (form) => ({ ...form, grant_type: 'password' }),
      400,
      'unsupported_grant_type',
    ],
    ['no grant', () => basic(web.id, web.secret), ({ grant_type: _, ...form }) => form, 400, 'invalid_request'],
  ])('is refused with %s, and is good afterwards', async (_, headers, change, status, error) => {
    const form = await readyCode()
    const refused = await token(change(form), headers())
    expect([refused.status, refused.body.error]).toEqual([status, error])
    expect(refused.body.error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
    expect(refused.headers.has('www-authenticate')).toBe(status === 401)
    expect((await token(form)).status).toBe(200)
  })

  it('needs no PKCE for an application that is allowed to do without, and then takes no verifier', async () => {
    const code = () => issueCode(latchkey, 'ada', { application: old })
    const form = async (more = {}) => ({ grant_type: 'authorization_code', code: await code(), redirect_uri, ...more })
    const as = basic(old.id, old.secret)
    expect((await token(await form(), as)).status).toBe(200)
    expect((await token(await form({ code_verifier: newVerifier() }), as)).body.error).toBe('invalid_grant')
    const downgraded = await issueCode(latchkey, 'ada', { application: web })
    const answer = await token({ grant_type: 'authorization_code', code: downgraded, redirect_uri })
    expect(answer.body).toMatchObject({ error: 'invalid_grant', error_description: expect.stringContaining('PKCE') })
  })

  it('of a public client, and by client_secret_post, works', async () => {
    expect((await token({ ...(await readyCode(spa)), client_id: spa.id }, {})).status).toBe(200)
    const posted = { ...(await readyCode()), client_id: web.id, client_secret: web.secret }
    expect((await token(posted, {})).status).toBe(200)
  })

  it('expires after a minute', async () => {
    const form = await readyCode()
    await latchkey.advance(61 * seconds)
    expect((await token(form)).body.error).toBe('invalid_grant')
  })

  it('50 times at once at two instances gives one set of tokens, which live', async () => {
    const form = await readyCode()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => token(form, undefined, index % 2 ? secondUrl() : latchkey.url)),
    )
    const good = answers.filter(({ status }) => status === 200)
    expect(good).toHaveLength(1)
    expect(new Set(answers.filter(({ status }) => status !== 200).map(({ body }) => body.error))).toEqual(
      new Set(['invalid_grant']),
    )
    expect((await userInfo(good[0]?.body.access_token, secondUrl())).status).toBe(200)
    await latchkey.advance(30 * seconds)
    const before = await events('application_token_reused')
    expect((await token(form)).body.error).toBe('invalid_grant')
    expect((await userInfo(good[0]?.body.access_token)).status).toBe(401)
    expect((await refreshWith(good[0]?.body.refresh_token)).body.error).toBe('invalid_grant')
    expect(await events('application_token_reused')).toBe(before + 1)
  })

  it('ends the authorization at a second use without the right verifier, and at none of another client', async () => {
    const form = await readyCode()
    const { body } = await token(form)
    await token(form, basic(other.id, other.secret))
    await token(form)
    expect((await userInfo(body.access_token)).status).toBe(200)
    await token({ ...form, code_verifier: newVerifier() })
    expect((await userInfo(body.access_token)).status).toBe(401)
  })
})

describe('what ends', () => {
  const staffed = async (name: string) => {
    const tab = await latchkey.signedUp(name)
    const { userId } = await callerOf(latchkey, name)
    const client = { ip: '192.0.2.1', userAgent: 'test' }
    await latchkey.app.rooms.groupChanges.change({ userId, client }, { add: ['staff'] })
    // The change has made the tokens of the session invalid.
    await tab.post('/api/auth/refresh')
    return { tab, userId, client }
  }
  const as = () => basic(staffOnly.id, staffOnly.secret)

  it.each<[string, (user: Awaited<ReturnType<typeof staffed>>) => Promise<unknown>]>([
    ['logged out', ({ tab }) => tab.act('/api/auth/logout')],
    ['disabled', ({ userId }) => latchkey.sql.query('update users set disabled_at = now() where id = $1', [userId])],
    ['without the group', ({ userId }) => latchkey.sql.query("update users set groups = '{}' where id = $1", [userId])],
    [
      'at an application that lets nobody in',
      () => latchkey.sql.query("update applications set groups = '{}' where id = $1", [staffOnly.id]),
    ],
  ])('stops codes, refresh tokens and UserInfo of a user %s', async (state, end) => {
    const name = `user${state.length}`
    await latchkey.sql.query("update applications set groups = '{staff}' where id = $1", [staffOnly.id])
    const user = await staffed(name)
    const used = await token(await readyCode(staffOnly, name), as())
    expect(used.status).toBe(200)
    const unused = await readyCode(staffOnly, name)
    await end(user)
    expect((await token(unused, as())).body.error).toBe('invalid_grant')
    const refreshed = await refreshWith(used.body.refresh_token, as())
    expect(refreshed.body).toEqual({
      error: 'invalid_grant',
      error_description: expect.stringMatching(/^The session has ended.*: sign in again$/),
    })
    expect((await userInfo(used.body.access_token)).status).toBe(401)
  })
})

describe('a code that is asked for while', () => {
  it.each<[string, (sql: Transaction, userId: string) => Promise<unknown>]>([
    ['the session ends', (sql, userId) => sql.query('delete from sessions where user_id = $1', [userId])],
    [
      'the user is disabled',
      (sql, userId) => sql.query('update users set disabled_at = now() where id = $1', [userId]),
    ],
    ['the group is taken away', (sql, userId) => sql.query("update users set groups = '{}' where id = $1", [userId])],
  ])('%s is not made', async (state, change) => {
    const name = `while${state.length}`
    await latchkey.signedUp(name)
    await latchkey.sql.query("update users set groups = '{staff}' where username = $1", [name])
    await latchkey.sql.query("update applications set groups = '{staff}' where id = $1", [staffOnly.id])
    const before = await latchkey.sql.query('select 1 from authorization_codes')
    const asked = () => issueCode(latchkey, name, { application: staffOnly }).catch(String)
    expect(await overtaken(latchkey, name, asked, change)).toMatch(/not_authenticated|no_access/)
    expect(await latchkey.sql.query('select 1 from authorization_codes')).toHaveLength(before.length)
  })
})

describe('a refresh token', () => {
  it('50 times at once at two instances has one successor', async () => {
    const { body } = await token(await readyCode())
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        refreshWith(body.refresh_token, undefined, index % 2 ? secondUrl() : latchkey.url),
      ),
    )
    expect(answers.filter(({ status }) => status !== 200).map(({ body: refused }) => refused)).toEqual([])
    const [successor, ...others] = new Set(answers.map(({ body: { refresh_token } }) => refresh_token))
    expect(others).toEqual([])
    await latchkey.advance(20 * seconds)
    expect((await refreshWith(body.refresh_token, undefined, secondUrl())).body.refresh_token).toBe(successor)
    for (const { body: each } of [answers[0], answers[49]].flatMap((answer) => answer ?? []))
      expect((await userInfo(each.access_token)).status).toBe(200)
    expect((await refreshWith(successor)).status).toBe(200)
  })

  it('that is old ends the authorization with an event', async () => {
    const { body } = await token(await readyCode())
    const next = await refreshWith(body.refresh_token)
    await latchkey.advance(31 * seconds)
    const before = await events('application_token_reused')
    expect((await refreshWith(body.refresh_token)).body.error).toBe('invalid_grant')
    expect((await refreshWith(next.body.refresh_token)).body.error).toBe('invalid_grant')
    expect(await events('application_token_reused')).toBe(before + 1)
    expect(await authorizationsOfApplication(web.id)).toBe(0)
  })

  it('gets its successor for longer where REFRESH_GRACE is longer, as for failovers', async () => {
    const { body } = await token(await readyCode())
    const next = await refreshWith(body.refresh_token)
    await latchkey.advance(60 * seconds)
    const again = await refreshWith(body.refresh_token, undefined, secondUrl())
    expect(again.body.refresh_token).toBe(next.body.refresh_token)
  })

  it('that is newer than its row is accepted: the database has lost a write', async () => {
    const { body } = await token(await readyCode())
    const [row] = await latchkey.sql.query<{ id: string }>('select id from application_tokens order by id desc limit 1')
    const saved = await latchkey.sql.query('select refresh_hash, previous_hash from application_tokens where id = $1', [
      row?.id,
    ])
    const next = await refreshWith(body.refresh_token)
    await latchkey.sql.query(
      'update application_tokens set refresh_hash = $2, previous_hash = $3, generation = 0 where id = $1',
      [row?.id, saved[0]?.refresh_hash, saved[0]?.previous_hash],
    )
    expect((await refreshWith(next.body.refresh_token)).status).toBe(200)
  })

  it('may ask for fewer scopes and not for more; its ID token has no nonce', async () => {
    const { body } = await token(await readyCode())
    const fewer = await token({ grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '', scope: 'openid' })
    expect(fewer.body.scope).toBe('openid')
    expect(
      JSON.parse(Buffer.from(fewer.body.id_token?.split('.')[1] ?? '', 'base64url').toString()),
    ).not.toHaveProperty('nonce')
    expect(await (await userInfo(fewer.body.access_token)).json()).toEqual({ sub: expect.any(String) })
    const refresh_token = fewer.body.refresh_token ?? ''
    const more = await token({ grant_type: 'refresh_token', refresh_token, scope: 'admin' })
    expect(more.body.error).toBe('invalid_scope')
    expect((await refreshWith(refresh_token)).body.scope).toBe('openid profile email groups')
  })

  it('of another client is refused and ends nothing', async () => {
    const { body } = await token(await readyCode())
    expect((await refreshWith(body.refresh_token, basic(other.id, other.secret))).body.error).toBe('invalid_grant')
    expect((await refreshWith(body.refresh_token)).status).toBe(200)
  })
})

it('operators read what an application did wrong in plain words', async () => {
  // What was written in the last minute is not written again.
  await latchkey.advance(1 * minutes)
  const form = await readyCode()
  await token({ ...form, redirect_uri: 'http://evil.example/`x' })
  await token(form, basic(web.id, 'wrong'))
  const messages = async () =>
    (
      await latchkey.sql.query<{ message: string }>(
        'select message from application_errors where application_id = $1',
        [web.id],
      )
    ).map(({ message }) => message)
  await expect
    .poll(messages, { timeout: 20_000 })
    .toEqual(
      expect.arrayContaining([
        'redirect_uri `http://evil.example/?x` is not the one of the authorization request',
        'The secret is wrong',
      ]),
    )
  // The refreshes after the end of a session, above, were no errors.
  const kinds = await latchkey.sql.query(
    "select distinct kind from application_errors where message like '%sign in again'",
  )
  expect(kinds).toEqual([{ kind: 'normal_end' }])
})
