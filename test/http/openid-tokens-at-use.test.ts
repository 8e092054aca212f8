import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { limiterKey, limiters } from '../../src/http/limiters.js'
import { minutes, seconds } from '../../src/lib/durations.js'
import { addApplication } from '../support/applications.js'
import { basic, createProtocolClient, postForm } from '../support/authorizations.js'
import { whileAway } from '../support/databases.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { freePort } from '../support/servers/server.js'
import { until } from '../support/until.js'

let latchkey: Latchkey
type Added = Awaited<ReturnType<typeof addApplication>>
let web: Added
let other: Added

beforeAll(async () => {
  latchkey = await startLatchkey()
  web = await addApplication(latchkey)
  other = await addApplication(latchkey, { name: 'Other' })
  await latchkey.signedUp('ada')
})
afterAll(() => latchkey.stop())

const { readyCode, token, refreshWith, userInfo } = createProtocolClient(() => ({ latchkey, application: web }))

describe('revocation', () => {
  const revoke = (form: Record<string, string>, headers: Record<string, string> = basic(web.id, web.secret)) =>
    postForm(latchkey.url, '/api/auth/revoke', form, headers)

  it('of an access token ends that one, of a refresh token the set; that of another client is refused and stays', async () => {
    const one = (await token(await readyCode())).body
    const two = (await token(await readyCode())).body
    const revokeAsOther = (token = '') => revoke({ token }, basic(other.id, other.secret))
    const ended = (await token(await readyCode())).body
    await revoke({ token: ended.refresh_token ?? '' })
    for (const unknown of ['nothing', ended.access_token, ended.refresh_token, one.id_token])
      expect((await revokeAsOther(unknown)).status).toBe(200)
    for (const of of [one.access_token, one.refresh_token]) {
      const { status, body } = await revokeAsOther(of)
      expect([status, body.error]).toEqual([400, 'invalid_grant'])
    }
    expect((await userInfo(one.access_token)).status).toBe(200)
    expect((await revoke({ token: one.access_token ?? '' })).status).toBe(200)
    expect((await userInfo(one.access_token)).status).toBe(401)
    const next = (await refreshWith(one.refresh_token)).body
    expect((await revoke({ token: next.refresh_token ?? '', token_type_hint: 'refresh_token' })).status).toBe(200)
    expect((await refreshWith(next.refresh_token)).body.error).toBe('invalid_grant')
    expect((await userInfo(next.access_token)).status).toBe(401)
    expect((await userInfo(two.access_token)).status).toBe(200)
    expect((await revoke({})).body.error).toBe('invalid_request')
    expect((await revoke({ token: 'x' }, {})).status).toBe(401)
  })
})

describe('every kind of token', () => {
  it('is refused where another kind belongs, and cookies mean nothing', async () => {
    const tab = await latchkey.signedUp('grace')
    const form = await readyCode(web, 'grace')
    const { body } = await token(form)
    const unused = await readyCode(web, 'grace')
    const session = { access: tab.jar.get('access_token') ?? '', refresh: tab.jar.get('refresh_token') ?? '' }
    const all = {
      ...session,
      code: unused.code,
      id: body.id_token ?? '',
      opaque: body.access_token ?? '',
      rotating: body.refresh_token ?? '',
    }
    for (const [kind, text] of Object.entries(all)) {
      expect(text.length, kind).toBeGreaterThan(40)
      if (kind !== 'opaque') expect((await userInfo(text)).status, `${kind} at UserInfo`).toBe(401)
      if (kind !== 'rotating')
        expect((await refreshWith(text)).body.error, `${kind} as refresh token`).toBe('invalid_grant')
      if (kind !== 'code')
        expect((await token({ ...unused, code: text })).body.error, `${kind} as code`).toBe('invalid_grant')
      const cookies = { cookie: `access_token=${text}; refresh_token=${text}` }
      if (kind !== 'access')
        expect((await latchkey.browser().get('/api/auth/me', { headers: cookies })).status, `${kind} as cookie`).toBe(
          401,
        )
      if (kind !== 'refresh') {
        const answer = await latchkey.browser().post('/api/auth/refresh', undefined, { headers: cookies })
        expect(answer.status, `${kind} as refresh cookie`).toBe(401)
      }
    }
    const withCookies = await fetch(new URL('/api/auth/userinfo', latchkey.url), {
      headers: { cookie: tab.jar.header() },
    })
    expect(withCookies.status).toBe(401)
    expect(withCookies.headers.get('www-authenticate')).toBe('Bearer realm="latchkey"')
    expect((await token(unused)).status).toBe(200)
  })
})

describe('UserInfo', () => {
  const post = (form: Record<string, string>, headers: Record<string, string> = {}) =>
    postForm(latchkey.url, '/api/auth/userinfo', form, headers)

  it('takes the token in the header or in a form, not both, and not for longer than 15 minutes', async () => {
    const access_token = (await token(await readyCode())).body.access_token ?? ''
    const authorization = `Bearer ${access_token}`
    expect((await post({ access_token })).status).toBe(200)
    expect((await post({}, { authorization })).status).toBe(200)
    const both = await post({ access_token }, { authorization })
    expect([both.status, both.body.error]).toEqual([400, 'invalid_request'])
    expect((await fetch(new URL(`/api/auth/userinfo?access_token=${access_token}`, latchkey.url))).status).toBe(401)
    await latchkey.advance(16 * minutes)
    const late = await userInfo(access_token)
    expect(late.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  it('is limited by authorization, in the words of the protocol', async () => {
    await latchkey.signedUp('often')
    const one = (await token(await readyCode(web, 'often'))).body.access_token
    const another = (await token(await readyCode(other, 'often'), basic(other.id, other.secret))).body.access_token
    const answers = await Promise.all(Array.from({ length: 61 }, () => userInfo(one)))
    const limited = answers.filter(({ status }) => status === 429)
    expect(limited).toHaveLength(1)
    expect(Number(limited[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await limited[0]?.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect((await userInfo(another)).status).toBe(200)
  })
})

describe('UserInfo', () => {
  it('says how to authenticate, and is asked with unknown tokens 600 times a minute from a network', async () => {
    const none = await fetch(new URL('/api/auth/userinfo', latchkey.url))
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="latchkey"'])
    const tab = await latchkey.signedUp('gateway')
    const access_token = (await token(await readyCode(web, 'gateway'))).body.access_token
    const { limit } = limiters.userinfo_refusals
    const key = limiterKey('userinfo_refusals', '127.0.0.1')
    const { cache } = latchkey.app.platform
    await cache.forget(key)
    await Promise.all(Array.from({ length: limit.maximum - 1 }, () => cache.reserve(key, limit)))
    for (let time = 0; time < 3; time += 1) expect((await userInfo(access_token)).status).toBe(200)
    expect((await userInfo('x'.repeat(43))).status).toBe(401)
    const tooMany = await userInfo('y'.repeat(43))
    expect([tooMany.status, await tooMany.json()]).toEqual([
      429,
      expect.objectContaining({ error: 'temporarily_unavailable' }),
    ])
    expect(Number(tooMany.headers.get('retry-after'))).toBeGreaterThan(0)
    // A server that asks for all its users goes on with those that it knows, until they are signed out.
    expect((await userInfo(access_token)).status).toBe(200)
    await tab.act('/api/auth/logout-all')
    expect([(await userInfo(access_token)).status, (await userInfo(access_token)).status]).toEqual([401, 429])
    await latchkey.advance(61 * seconds)
    expect((await userInfo('y'.repeat(43))).status).toBe(401)
  })
})

describe('forms', () => {
  it.each([
    ['a parameter twice', (form: string) => `${form}&code=x`, undefined, 400],
    ['more than 16 KB', (form: string) => `${form}&more=${'x'.repeat(17_000)}`, undefined, 413],
    ['JSON', () => '{}', 'application/json', 415],
    ['another type', (form: string) => form, 'text/plain', 415],
    ['another charset', (form: string) => form, 'application/x-www-form-urlencoded; charset=ISO-8859-1', 415],
    ['a NUL', (form: string) => `${form}&x=%00`, undefined, 400],
  ])('with %s are refused in the words of the protocol', async (_, change, type, status) => {
    const form = await readyCode()
    const sent = change(new URLSearchParams(form).toString())
    const headers = { ...basic(web.id, web.secret), ...(type && { 'content-type': type }) }
    const answer = await token(sent, headers)
    expect([answer.status, answer.body.error]).toEqual([status, 'invalid_request'])
    expect(answer.body.error_description).not.toContain('json')
    expect((await token(form)).status).toBe(200)
  })

  it('may name their charset in quotes, and come by POST only', async () => {
    const type = { 'content-type': 'application/x-www-form-urlencoded; charset="utf-8"' }
    expect((await token(await readyCode(), { ...basic(web.id, web.secret), ...type })).status).toBe(200)
    for (const path of ['/api/auth/token', '/api/auth/revoke']) {
      const answer = await fetch(new URL(path, latchkey.url))
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'OPTIONS, POST'])
      expect(await answer.json()).toEqual({ error: 'invalid_request', error_description: expect.any(String) })
    }
  })
})

describe('limits', () => {
  it('wrong secrets are counted by network, a right one always works, and so do passwords', async () => {
    const port = await freePort()
    const limited = await startLatchkey({ settings: { LOGIN_LIMIT: '3/15m', METRICS_PORT: String(port) } })
    const application = await addApplication(limited)
    const client = createProtocolClient(() => ({ latchkey: limited, application }))
    const wrong = await Promise.all(
      Array.from({ length: 6 }, () => client.refreshWith('x', basic(application.id, 'wrong'))),
    )
    expect(wrong.map(({ status }) => status).sort()).toEqual([401, 401, 401, 429, 429, 429])
    const tooMany = wrong.find(({ status }) => status === 429)
    expect(tooMany?.body).toMatchObject({
      error: 'temporarily_unavailable',
      error_description: expect.stringContaining('Too many wrong secrets'),
    })
    expect(Number(tooMany?.headers.get('retry-after'))).toBeGreaterThan(0)
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    for (const outcome of ['invalid_client', 'rate_limited'])
      expect(metrics).toContain(`latchkey_application_tokens_total{grant="refresh_token",outcome="${outcome}"} 3`)
    await limited.signedUp('ada')
    const password = await limited.browser().post('/login', { username: 'ada', password: goodPassword })
    expect(password.status).toBe(200)
    for (let time = 0; time < 5; time += 1) expect((await client.refreshWith('x')).body.error).toBe('invalid_grant')
    const added = await addApplication(limited, { name: 'Added later' })
    await limited.advance(1 * seconds)
    expect((await client.refreshWith('x', basic(added.id, added.secret))).body.error).toBe('invalid_grant')
    // Operators read which program it was, once. Ids can be invented: together they are one event.
    for (let time = 0; time < 20; time += 1) await client.refreshWith('x', basic(`invented ${time}`, 'wrong'))
    await client.refreshWith('x', basic(added.id, 'wrong'))
    const told = await limited.sql.query("select reason from events where kind = 'application_refused' order by id")
    expect(told.map(({ reason }) => reason)).toEqual([
      'Notes: The secret is wrong',
      'The client_id `invented...` is not known',
      'Added later: The secret is wrong',
    ])
    // What cannot be right does not reach the database any more.
    await whileAway(limited.config.databaseUrl, async () => {
      for (const id of ['nobody', application.id])
        expect((await client.refreshWith('x', basic(id, 'wrong'))).status).toBe(429)
      expect((await client.refreshWith('x')).status).toBe(503)
    })
    await limited.stop()
  })

  it('a secret that comes as client_id is in no log and no event, and operators read what is wrong', async () => {
    const { id, name, secret } = await addApplication(latchkey, { name: 'Swapped' })
    const asked = [
      () => refreshWith('x', basic(secret, id)),
      () => token({ grant_type: 'refresh_token', refresh_token: 'x', client_id: secret }, {}),
      () => latchkey.browser().post('/api/auth/authorization', { parameters: `client_id=${secret}` }),
      () => latchkey.browser().post('/api/auth/authorization', { parameters: `client_id=${secret.slice(1)}` }),
    ]
    const statuses = []
    for (const ask of asked) statuses.push((await ask()).status)
    expect(statuses).toEqual([401, 401, 400, 400])
    const sentence = 'The id and the secret are swapped: the secret was sent as client_id'
    const events = await latchkey.sql.query<{ reason: string }>(
      "select reason from events where reason like 'Swapped:%'",
    )
    expect(events).toEqual([{ reason: `${name}: ${sentence}` }])
    await until('the cause is noted', async () => {
      const rows = await latchkey.sql.query('select 1 from application_errors where message = $1', [sentence])
      return rows.length === 1
    })
    const written = JSON.stringify(await latchkey.sql.query('select reason from events')) + latchkey.logLines.join()
    expect(written).toContain(`The client_id \`${secret.slice(1, 9)}...\` is not known`)
    expect(written).not.toContain(secret.slice(1, 20))
  })

  it('600 requests a minute by application', async () => {
    const often = await addApplication(latchkey, { name: 'Often' })
    const ask = () => refreshWith('x', basic(often.id, often.secret))
    const { limit } = limiters.application
    const key = limiterKey('application', `application:${often.id}`)
    await Promise.all(Array.from({ length: 599 }, () => latchkey.app.platform.cache.reserve(key, limit)))
    expect((await ask()).status).toBe(400)
    const limited = await ask()
    expect([limited.status, limited.body.error]).toEqual([429, 'temporarily_unavailable'])
    expect((await refreshWith('x')).status).toBe(400)
  })
})

describe('a client that authenticated a moment ago', () => {
  const remembered = async (name: string) => {
    const application = await addApplication(latchkey, { name })
    const headers = basic(application.id, application.secret)
    await latchkey.advance(1 * seconds)
    expect((await refreshWith('x', headers)).body.error).toBe('invalid_grant')
    return { application, headers }
  }

  it('is refused once its secret is removed, and uses nothing up', async () => {
    const { application, headers } = await remembered('Loses its secret')
    const form = await readyCode(application)
    const first = (await token(await readyCode(application), headers)).body
    const second = (await refreshWith(first.refresh_token, headers)).body
    await latchkey.advance(31 * seconds)
    expect((await refreshWith('x', headers)).body.error).toBe('invalid_grant')
    const [hash] = await latchkey.sql.query<{ hash: Buffer }>(
      'delete from application_secrets where application_id = $1 returning hash',
      [application.id],
    )
    const asked = [
      () => token(form, headers),
      () => refreshWith(second.refresh_token, headers),
      // Used before: it would end the authorization.
      () => refreshWith(first.refresh_token, headers),
      () => refreshWith('x', headers),
      () => token({ grant_type: 'refresh_token' }, headers),
      () => token({ grant_type: 'unknown' }, headers),
    ]
    for (const ask of asked) {
      const { status, body } = await ask()
      expect([status, body.error]).toEqual([401, 'invalid_client'])
    }
    await latchkey.sql.query(
      'insert into application_secrets (id, application_id, hash, created_at) values (gen_random_uuid(), $1, $2, now())',
      [application.id, hash?.hash],
    )
    expect((await refreshWith(second.refresh_token, headers)).status).toBe(200)
    expect((await token(form, headers)).status).toBe(200)
  })

  it('is treated by its new rules once it is changed', async () => {
    const { application, headers } = await remembered('Changes its rules')
    const form = await readyCode(application)
    const { refresh_token } = (await token(await readyCode(application), headers)).body
    const change = (set: string) => latchkey.sql.query(`update applications set ${set} where id = $1`, [application.id])
    await change("redirect_addresses = '{https://notes.example.com/other}'")
    expect((await token(form, headers)).body.error_description).toBe('redirect_uri is not registered any more')
    await latchkey.advance(1 * seconds)
    expect((await refreshWith('x', headers)).body.error).toBe('invalid_grant')
    await change("kind = 'browser'")
    expect((await refreshWith(refresh_token, headers)).body.error).toBe('invalid_client')
  })
})

it('while the database is away the answer is 503, and no code is lost', async () => {
  const form = await readyCode()
  await whileAway(latchkey.config.databaseUrl, async () => {
    const away = await token(form)
    expect([away.status, away.body.error]).toEqual([503, 'temporarily_unavailable'])
    expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0)
    const noUserInfo = await userInfo('x'.repeat(43))
    expect([noUserInfo.status, noUserInfo.headers.get('www-authenticate')]).toEqual([503, null])
  })
  await until('the code is redeemed', async () => (await token(form)).status === 200)
})
