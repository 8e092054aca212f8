import { decodeJwt, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { days } from '../../src/lib/durations.js'
import type { Transaction } from '../../src/platform/database/database.js'
import type { Browser } from '../support/client.js'
import { testPostgres } from '../support/databases.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type OpenidApplication, openidApplication } from '../support/openid-application.js'
import type { Tokens } from '../support/openid-client.js'
import { overtaken, untilBlocked } from '../support/waits-for-lock.js'

let latchkey: Latchkey
let notes: OpenidApplication
let other: OpenidApplication
let ofStaff: OpenidApplication
beforeAll(async () => {
  latchkey = await startLatchkey()
  await latchkey.app.rooms.groups.add('staff', operatorClient('root'))
  notes = await openidApplication(latchkey, { algorithm: 'ES256' })
  other = await openidApplication(latchkey, { name: 'Other', algorithm: 'ES256' })
  ofStaff = await openidApplication(latchkey, {
    name: 'Staff',
    algorithm: 'ES256',
    access: 'groups',
    groups: ['staff'],
  })
})
afterAll(() => latchkey.stop())

const silently = async (tab: Browser, changed: Record<string, string> = {}, application = notes) =>
  application.told(await application.ask(tab, { prompt: 'none', ...changed }))

const staffed = async (username: string) => {
  const tab = await latchkey.signedUp(username)
  await latchkey.sql.query("update users set groups = '{staff}' where username = $1", [username])
  return tab
}

describe('an ID token as a hint', () => {
  let ada: Browser
  let bea: Browser
  let hint: string
  beforeAll(async () => {
    ada = await latchkey.signedUp('ada')
    bea = await latchkey.signedUp('bea')
    hint = (await notes.signIn(ada)).id_token
  })

  it('of the signed-in user is answered in silence, also long after it has expired and in another session', async () => {
    expect(await silently(ada, { id_token_hint: hint })).toHaveProperty('code')
    await latchkey.advance(20 * days)
    const tab = latchkey.browser()
    await tab.post('/login', { username: 'ada', password: goodPassword })
    const asked = await notes.ask(tab, { prompt: 'none', id_token_hint: hint })
    expect((await notes.redeem(asked)).claims.sub).toBe(decodeJwt(hint).sub)
    bea = latchkey.browser()
    await bea.post('/login', { username: 'bea', password: goodPassword })
    ada = tab
  })

  it('of another user gets no code: neither in silence nor by who continues', async () => {
    expect(await silently(bea, { id_token_hint: hint })).toMatchObject({ error: 'login_required' })
    const asked = await notes.ask(bea, { id_token_hint: hint })
    expect(asked.state).toMatchObject({ next: 'choose', user: { username: 'bea' } })
    const continued = await notes.answer(bea, asked, 'continue')
    expect(notes.told(continued)).toMatchObject({ error: 'login_required' })
    // The user who was meant signs in, and goes on with the same request.
    const again = await notes.ask(bea, { id_token_hint: hint })
    await bea.post('/login', { username: 'ada', password: goodPassword })
    const resumed = await notes.resume(bea, again)
    expect((await notes.redeem(resumed)).claims.sub).toBe(decodeJwt(hint).sub)
  })

  it('that is not ours, or for another application, names nobody', async () => {
    const claims = decodeJwt(hint)
    const forged = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: 'x' }).sign(Buffer.alloc(64))
    const hints = {
      'of another application': (await other.signIn(ada)).id_token,
      unsigned: new UnsecuredJWT(claims).encode(),
      forged: await forged,
      altered: `${hint.slice(0, -4)}AAAA`,
      'an access token of ours': ada.jar.get('access_token') ?? '',
      garbage: 'x',
    }
    for (const [name, id_token_hint] of Object.entries(hints)) {
      expect([name, await silently(ada, { id_token_hint })]).toEqual([
        name,
        expect.objectContaining({ error: 'login_required' }),
      ])
      // It is a hint, and the user is there: without silence the request goes on.
      expect([name, (await notes.ask(ada, { id_token_hint })).state.next]).toEqual([name, 'done'])
    }
  })

  it('of a key that was withdrawn names nobody', async () => {
    await latchkey.sql.query('delete from application_keys')
    await expect
      .poll(async () => (await silently(ada, { id_token_hint: hint })).error, { interval: 200 })
      .toBe('login_required')
    expect(await silently(ada)).toHaveProperty('code')
  })
})

const endSessions = (sql: Transaction, userId: string) => sql.query('delete from sessions where user_id = $1', [userId])
const leaveGroup = async (sql: Transaction, userId: string) => {
  await sql.query("update users set groups = '{}' where id = $1", [userId])
  await latchkey.app.rooms.usedApplications.endWithoutRight(sql, { userId }, operatorClient('root'))
}

describe('what ends while an application asks in silence', () => {
  it.each<[string, string, (sql: Transaction, userId: string) => Promise<unknown>]>([
    ['the session', 'login_required', endSessions],
    ['the group', 'access_denied', leaveGroup],
    [
      'the account',
      'login_required',
      (sql, id) => sql.query('update users set disabled_at = now() where id = $1', [id]),
    ],
  ])('%s: the answer is %s, and there is no code', async (what, error, end) => {
    const name = what.replaceAll(' ', '-')
    const tab = await staffed(name)
    const codes = () => latchkey.sql.query('select 1 from authorization_codes')
    const before = await codes()
    const asked = await overtaken(latchkey, name, () => ofStaff.ask(tab, { prompt: 'none' }), end)
    const { code, error_description: _, ...told } = ofStaff.told(asked)
    expect([code, told]).toEqual([undefined, { error, state: asked.sent.state, iss: ofStaff.issuer }])
    expect(await codes()).toHaveLength(before.length)
  })
})

describe('what ends while its code or refresh token is exchanged', () => {
  /** The answer to a request that waits for an ending that is not committed yet. */
  const during = async <Result>(username: string, end: typeof endSessions, request: () => Promise<Result>) => {
    const [user] = await latchkey.sql.query<{ id: string }>('select id from users where username = $1', [username])
    const database = testPostgres(String(latchkey.config.databaseUrl), { statementTimeoutMs: 120_000 })
    const { sent } = await database.transaction(async (sql) => {
      await end(sql, String(user?.id))
      const waiting = request()
      await untilBlocked(latchkey.sql)
      return { sent: waiting }
    })
    await database.close()
    return sent
  }

  it.each<[string, typeof endSessions]>([
    ['the session', endSessions],
    ['the group', async (sql, id) => leaveGroup(sql, id).then(() => [])],
  ])('%s: there are no tokens', async (what, end) => {
    const name = `exchange-${what.replaceAll(' ', '-')}`
    const tab = await staffed(name)
    const asked = await ofStaff.ask(tab)
    const location = asked.state.location ?? ''
    const exchanged = await during(name, end, () => ofStaff.exchange(asked.sent, location))
    expect([exchanged.status, (await exchanged.json()).error]).toEqual([400, 'invalid_grant'])

    const second = await staffed(`${name}-2`)
    const tokens: Tokens = await ofStaff.signIn(second)
    const refreshed = await during(`${name}-2`, end, () =>
      ofStaff.refresh(tokens).catch(({ error }: { error: string }) => error),
    )
    expect(refreshed).toBe('invalid_grant')
    await expect(ofStaff.userInfo(tokens)).rejects.toMatchObject({ status: 401 })
  })
})
