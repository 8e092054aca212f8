import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hours, minutes } from '../../src/lib/durations.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

const newPassword = 'amber-Meadow-27-kettle'

describe('asking for a new password', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey()
  })
  afterAll(() => latchkey.stop())

  const ask = (username: string) => latchkey.browser().post('/reset-password', { email: `${username}@example.com` })
  const tokensTo = async (username: string, count: number) => {
    const mails = () =>
      latchkey.mails().filter(({ to, text }) => to === `${username}@example.com` && text.includes('/reset-password#'))
    await expect.poll(() => mails().length, { timeout: 10_000 }).toBe(count)
    return mails()
      .map(({ text }) => /#token=([\w-]+)/.exec(text)?.[1])
      .reverse()
  }
  const check = (token: string | undefined) => latchkey.browser().post('/api/auth/reset-password/check', { token })
  const confirm = (token: string | undefined) =>
    latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: newPassword })
  const resetsOf = (username: string) =>
    latchkey.sql.query(
      `select 1 from one_time_tokens t join users u on u.id = t.user_id where u.username = $1 and purpose = 'reset_password'`,
      [username],
    )

  it('the last mailed link stays good when the address has had its mails, and the next one comes when it has expired', async () => {
    await latchkey.signedUp('ann')
    const answers = []
    for (let round = 0; round < 7; round++) answers.push(await ask('ann'))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    const tokens = await tokensTo('ann', 5)
    expect((await check(tokens[3])).body.error).toBe('Invalid or expired link')
    expect(await check(tokens[4])).toMatchObject({ status: 200, body: { username: 'ann' } })
    // Looking uses nothing up.
    expect((await confirm(tokens[4])).status).toBe(204)
    expect((await check(tokens[4])).status).toBe(400)

    latchkey.clock.advance(31 * minutes)
    await ask('ann')
    expect((await check((await tokensTo('ann', 6))[5])).status).toBe(200)
  })

  it('several requests at once leave one link that works, and using it leaves none', async () => {
    await latchkey.signedUp('bob')
    let tokens: (string | undefined)[] = []
    for (let round = 1; round <= 3; round++) {
      await Promise.all(Array.from({ length: 5 }, () => ask('bob')))
      expect(await resetsOf('bob')).toHaveLength(1)
      tokens = (await tokensTo('bob', 5 * round)).slice(-5)
      if (round < 3) latchkey.clock.advance(1 * hours)
    }
    const good = []
    for (const token of tokens) if ((await check(token)).status === 200) good.push(token)
    expect(good).toHaveLength(1)
    expect((await confirm(good[0])).status).toBe(204)
    expect(await resetsOf('bob')).toEqual([])
  })

  it('a confirmed reset voids every other one, also one that an earlier release left behind', async () => {
    const tab = await latchkey.signedUp('cas')
    await ask('cas')
    const [token] = await tokensTo('cas', 1)
    await latchkey.sql.query(
      `insert into one_time_tokens (hash, purpose, user_id, expires_at)
       select $1, purpose, user_id, expires_at from one_time_tokens where user_id = (select id from users where username = 'cas')`,
      [Buffer.alloc(32, 7)],
    )
    expect(await resetsOf('cas')).toHaveLength(2)
    expect((await confirm(token)).status).toBe(204)
    expect(await resetsOf('cas')).toEqual([])
    expect((await tab.post('/login', { username: 'cas', password: goodPassword })).status).toBe(401)
    expect((await tab.post('/login', { username: 'cas', password: newPassword })).status).toBe(200)
  })
})
