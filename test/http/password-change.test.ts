import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seconds } from '../../src/lib/durations.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

const newPassword = 'copper-Willow-83-anchor'

describe('a change of the password', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey()
  })
  afterAll(() => latchkey.stop())

  const change = (tab: Browser, currentPassword = goodPassword) =>
    tab.act('/api/auth/change-password', { currentPassword, newPassword })
  const refresh = (tab: Browser) => tab.post('/api/auth/refresh')

  it('sets new tokens; the old one is refused at once, and for 30 seconds without ending the session', async () => {
    const tab = await latchkey.signedUp('ada')
    const [thief, otherTab] = [tab.copy(), tab.copy()]
    const { status, setCookies, text } = await change(tab)
    expect([status, text]).toEqual([204, ''])
    expect(setCookies.map((cookie) => cookie.replace(/=[\w.-]+;/, '=…;'))).toEqual([
      'access_token=…; Max-Age=900; Path=/; HttpOnly; SameSite=Strict',
      'refresh_token=…; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict',
    ])
    for (const each of [thief, otherTab]) {
      const refused = await refresh(each)
      expect([refused.status, refused.body.error, refused.setCookies]).toEqual([401, 'Not authenticated', []])
    }
    expect((await refresh(tab)).status).toBe(200)
    // Refused without ending the session even after the new token was used.
    await latchkey.advance(25 * seconds)
    expect((await refresh(thief)).setCookies).toEqual([])
    expect((await refresh(tab)).status).toBe(200)

    await latchkey.advance(6 * seconds)
    const theft = await refresh(thief)
    expect(theft.setCookies.map((cookie) => cookie.split(';')[0])).toEqual(['access_token=', 'refresh_token='])
    expect((await refresh(tab)).status).toBe(401)
    const [last] = await latchkey.sql.query(
      `select kind from events where user_id = (select id from users where username = 'ada') and kind not like 'mail_%'
       order by id desc limit 1`,
    )
    expect(last).toEqual({ kind: 'refresh_theft' })
  })

  it('is no change to the same password', async () => {
    const tab = await latchkey.signedUp('same')
    const same = { currentPassword: goodPassword, newPassword: goodPassword }
    const { status, body, setCookies } = await tab.act('/api/auth/change-password', same)
    expect([status, body.code, setCookies]).toEqual([409, 'password_unchanged', []])
    // It tells nothing to a caller who does not know the password.
    const guess = { currentPassword: newPassword, newPassword }
    expect((await tab.act('/api/auth/change-password', guess)).body.code).toBe('wrong_current_password')
  })

  it('leaves a copied access token without the power to change the ways into the account', async () => {
    const tab = await latchkey.signedUp('dot')
    const thief = tab.copy()
    expect((await change(tab)).status).toBe(204)
    const again = { currentPassword: newPassword, newPassword: goodPassword }
    expect((await thief.act('/api/auth/change-password', again)).status).toBe(401)
    const unlink = (by: Browser) => by.remove('/api/auth/providers/provider-a')
    expect((await unlink(thief)).status).toBe(401)
    expect((await unlink(tab)).status).toBe(404)
    await refresh(tab)
    expect((await unlink(tab)).status).toBe(404)
  })

  it('never signs out the tabs whose refresh meets the change', async () => {
    const tab = await latchkey.signedUp('bea')
    for (let round = 0; round < 4; round++) {
      const [current, next] = round % 2 ? [newPassword, goodPassword] : [goodPassword, newPassword]
      const csrf = await tab.csrfToken()
      const changing = tab.send(
        'POST',
        '/api/auth/change-password',
        { currentPassword: current, newPassword: next },
        { headers: { 'x-csrf-token': csrf } },
      )
      const others = Array.from({ length: 6 }, async (_, turn) => {
        const other = tab.copy()
        // Spread over the time that the change takes, so that some come before it, some during it and some after it.
        await new Promise((resolve) => setTimeout(resolve, turn * 40))
        return refresh(other)
      })
      const [changed, ...refreshed] = await Promise.all([changing, ...others])
      expect(changed.status).toBe(204)
      for (const { status, setCookies } of refreshed) {
        if (status === 401) expect(setCookies).toEqual([])
        else expect(status).toBe(200)
      }
      expect((await refresh(tab)).status).toBe(200)
    }
  })

  it('a session that ended meanwhile changes nothing', async () => {
    const tab = await latchkey.signedUp('cy')
    const csrf = await tab.csrfToken()
    await latchkey.sql.query("delete from sessions where user_id = (select id from users where username = 'cy')")
    const body = { currentPassword: goodPassword, newPassword }
    const late = await tab.send('POST', '/api/auth/change-password', body, { headers: { 'x-csrf-token': csrf } })
    expect([late.status, late.setCookies]).toEqual([401, []])
    expect((await latchkey.browser().post('/login', { username: 'cy', password: goodPassword })).status).toBe(200)
  })

  it('changes a password, ends the other sessions and keeps this one', async () => {
    const tab = await latchkey.signedUp('hal')
    const other = latchkey.browser()
    await other.post('/login', { username: 'hal', password: goodPassword })
    const newPassword = 'copper-Willow-83-anchor'
    expect((await tab.act('/api/auth/change-password', { currentPassword: 'wrong', newPassword })).status).toBe(401)
    expect(
      (await tab.act('/api/auth/change-password', { currentPassword: goodPassword, newPassword: 'short' })).status,
    ).toBe(422)
    expect((await tab.act('/api/auth/change-password', { currentPassword: goodPassword, newPassword })).status).toBe(
      204,
    )
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    expect((await other.post('/api/auth/refresh')).status).toBe(401)
    await latchkey.mailTo('hal@example.com', /password/i)
  })
})
