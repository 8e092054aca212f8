import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey()
})
afterAll(() => latchkey.stop())

type Tab = Awaited<ReturnType<Latchkey['signedUp']>>

const claimsIn = (tab: Tab, cookie: 'access_token' | 'refresh_token') =>
  JSON.parse(Buffer.from(tab.jar.get(cookie)?.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>

const now = () => Math.floor(latchkey.clock.now().getTime() / 1000)

describe('access tokens', () => {
  it('say who the user is and how that was proven, and refresh tokens say no more than before', async () => {
    const tab = await latchkey.signedUp('ada')
    const { userId, sid } = claimsIn(tab, 'refresh_token')
    const common = { userId, username: 'ada', sid, gen: 0, iat: expect.any(Number), auth_time: expect.any(Number) }
    expect(claimsIn(tab, 'refresh_token')).toEqual({ ...common, exp: expect.any(Number) })
    expect(claimsIn(tab, 'access_token')).toEqual({
      ...common,
      exp: Number(claimsIn(tab, 'access_token').iat) + 900,
      sub: userId,
      iss: latchkey.url,
      aud: latchkey.url,
      email: 'ada@example.com',
      amr: ['pwd'],
      groups: [],
    })
  })

  it('have the current names after a rotation and the time of the sign-in; a refresh token keeps its claims', async () => {
    const tab = await latchkey.signedUp('bea')
    const signedInAt = now()
    await latchkey.advance(10 * minutes)
    await latchkey.sql.query(
      "update users set username = 'beate', name = 'Beate', email = 'b@example.com' where username = 'bea'",
    )
    const { body } = await tab.post('/api/auth/refresh')
    expect(body.user).toMatchObject({ username: 'beate', name: 'Beate', email: 'b@example.com' })
    const renewed = { username: 'beate', name: 'Beate', email: 'b@example.com', gen: 1, amr: ['pwd'] }
    expect(claimsIn(tab, 'access_token')).toMatchObject(renewed)
    expect(Number(claimsIn(tab, 'access_token').auth_time)).toBeLessThan(signedInAt + 60)
    expect(claimsIn(tab, 'refresh_token')).toMatchObject({ username: 'bea', gen: 1 })
    expect(Object.keys(claimsIn(tab, 'refresh_token'))).toHaveLength(7)
  })
})
