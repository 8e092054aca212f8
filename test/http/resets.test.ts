import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hours, minutes } from '../../src/lib/durations.js'
import { startApp } from '../../src/service/open-service.js'
import { addApplication } from '../support/applications.js'
import { createBrowser } from '../support/client.js'
import { whileRefused } from '../support/databases.js'
import { goodPassword, type Latchkey, sharedParts, startLatchkey } from '../support/latchkey.js'

const newPassword = 'amber-Meadow-27-kettle'

describe('asking for a new password', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey()
  })
  afterAll(() => latchkey.stop())

  const ask = (username: string, application?: string) =>
    latchkey.browser().post('/reset-password', { email: `${username}@example.com`, application })
  const tokensTo = async (username: string, count: number) => {
    const mails = () =>
      latchkey.mails().filter(({ to, text }) => to === `${username}@example.com` && text.includes('/reset-password#'))
    await expect.poll(() => mails().length).toBe(count)
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

    await latchkey.advance(31 * minutes)
    const { id, name, home } = await addApplication(latchkey)
    await ask('ann', id)
    // Another browser learns from which application the user came.
    const [sixth] = (await tokensTo('ann', 6)).slice(-1)
    expect((await check(sixth)).body).toEqual({ username: 'ann', application: { name, home } })
    await ask('ann', 'unknown')
    const [seventh] = (await tokensTo('ann', 7)).slice(-1)
    expect((await check(seventh)).body).toEqual({ username: 'ann' })
  })

  it('takes a username, sends to the address of its account, and counts the mails of that address', async () => {
    await latchkey.signedUp('una')
    const byName = (email: string) => latchkey.browser().post('/reset-password', { email })
    const names = ['una', ' UNA', 'una@example.com', 'una', 'una', 'una', 'una@example.com']
    const answers = []
    for (const name of [...names, 'nobody-has-this-name', 'u']) answers.push(await byName(name))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(202)
    // Five an hour, whatever was typed.
    const tokens = await tokensTo('una', 5)
    expect(await check(tokens[4])).toMatchObject({ status: 200, body: { username: 'una' } })

    // A name that only waits belongs to no user yet: several people may have typed it.
    await latchkey.browser().post('/api/auth/register', {
      username: 'waiting-una',
      email: 'waiting-una@example.com',
      password: goodPassword,
    })
    await latchkey.mailTo('waiting-una@example.com', /verify-email#/)
    expect((await byName('waiting-una')).status).toBe(202)
    await byName('una@example.com')
    await expect
      .poll(async () => (await latchkey.sql.query('select 1 from outgoing_mail where sent_at is null')).length)
      .toBe(0)
    expect(latchkey.mails().filter(({ to }) => to === 'waiting-una@example.com')).toHaveLength(1)
    expect((await byName('')).status).toBe(400)
  })

  it('several requests at once leave one link that works, and using it leaves none', async () => {
    await latchkey.signedUp('bob')
    let tokens: (string | undefined)[] = []
    for (let round = 1; round <= 3; round++) {
      await Promise.all(Array.from({ length: 5 }, () => ask('bob')))
      expect(await resetsOf('bob')).toHaveLength(1)
      tokens = (await tokensTo('bob', 5 * round)).slice(-5)
      if (round < 3) await latchkey.advance(1 * hours)
    }
    const good = []
    for (const token of tokens) if ((await check(token)).status === 200) good.push(token)
    expect(good).toHaveLength(1)
    expect((await confirm(good[0])).status).toBe(204)
    expect(await resetsOf('bob')).toEqual([])
  })

  it('a confirmed reset voids every other one, however it came into the table', async () => {
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

  const tokenIn = (text: string) => /#token=([\w-]+)/.exec(text)?.[1]

  it('resets a password by mail: once, ends every session, and signs no user in', async () => {
    const tab = await latchkey.signedUp('fay')
    const newPassword = 'amber-Meadow-27-kettle'
    const known = await latchkey.browser().post('/reset-password', { email: 'FAY@example.com' })
    const unknown = await latchkey.browser().post('/api/auth/reset-password', { email: 'nobody@example.com' })
    expect([known.status, known.body]).toEqual([unknown.status, unknown.body])
    expect(known.status).toBe(202)
    const token = tokenIn((await latchkey.mailTo('fay@example.com', /reset-password#/)).text)

    const tries = await Promise.all(
      Array.from({ length: 20 }, () =>
        latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: newPassword }),
      ),
    )
    expect(tries.filter(({ status }) => status === 204)).toHaveLength(1)
    expect(tries.filter(({ status }) => status === 400)).toHaveLength(19)
    for (const { setCookies } of tries)
      expect(setCookies.filter((cookie) => !cookie.startsWith('known_device='))).toEqual([])

    expect((await tab.post('/api/auth/refresh')).status).toBe(401)
    expect((await tab.post('/login', { username: 'fay', password: goodPassword })).status).toBe(401)
    expect((await tab.post('/login', { username: 'fay', password: newPassword })).status).toBe(200)
    await latchkey.mailTo('fay@example.com', /was (reset|changed)|has been/i)
  })

  it('has changed the password although the database gives up on the session that was asked for', async () => {
    await latchkey.signedUp('kim')
    await ask('kim')
    const [token] = await tokensTo('kim', 1)
    const body = { token, password: newPassword, signIn: true }
    await whileRefused(latchkey.sql, 'insert on sessions', async () =>
      expect((await latchkey.browser().post('/api/auth/reset-password/confirm', body)).status).toBe(204),
    )
    expect((await latchkey.browser().post('/login', { username: 'kim', password: newPassword })).status).toBe(200)
  })

  it('signs in if asked to: one of twenty at two instances, in a browser that is known then, and ends every other session', async () => {
    const earlier = await latchkey.signedUp('ida')
    const neighbour = await latchkey.signedUp('jan')
    await ask('ida')
    const [token] = await tokensTo('ida', 1)
    const other = await startApp(
      { ...latchkey.config, port: 0 },
      { clock: latchkey.clock, log: latchkey.app.log, onFatal: () => undefined, ...(await sharedParts()) },
    )
    const headers = { origin: latchkey.url }
    const body = { token, password: newPassword, signIn: true }
    // The session of another user in this browser ends, as at every sign-in.
    const tabs = Array.from({ length: 20 }, (_, at) =>
      createBrowser(at % 2 ? latchkey.url : other.config.publicUrl, neighbour.copy().jar),
    )
    const answers = await Promise.all(
      tabs.map((tab) => tab.post('/api/auth/reset-password/confirm', body, { headers })),
    ).finally(() => other.close())
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(19).fill(400)])
    const winner = answers.findIndex(({ status }) => status === 200)
    expect(answers[winner]?.body).toMatchObject({ user: { username: 'ida' }, accessTokenExpiresAt: expect.any(String) })
    const set = (answers[winner]?.setCookies ?? []).map((cookie) => cookie.split('=')[0]).sort()
    expect(set).toEqual(['access_token', 'known_device', 'refresh_token'])
    for (const [at, { setCookies }] of answers.entries()) if (at !== winner) expect(setCookies).toEqual([])
    const owner = createBrowser(latchkey.url, tabs[winner]?.jar)
    expect((await owner.get('/api/auth/me')).body).toMatchObject({ user: { username: 'ida' } })
    expect((await owner.get('/api/auth/verify?fresh=10m')).status).toBe(204)
    for (const tab of [earlier, neighbour]) expect((await tab.post('/api/auth/refresh')).status).toBe(401)
    const { events } = (await owner.get('/api/auth/events')).body as { events: { kind: string }[] }
    expect(events.map(({ kind }) => kind).slice(0, 2)).toEqual(['signed_in', 'password_reset'])
    // The mail about the reset says who was here: no second one about a new device.
    await latchkey.mailTo('ida@example.com', /was (reset|changed)|has been/i)
    const devices = () =>
      latchkey.sql.query(`select 1 from outgoing_mail where kind = 'new-device' and recipient = $1`, [
        'ida@example.com',
      ])
    expect(await devices()).toEqual([])
  })

  it('forgets a reset after 30 minutes, and when a newer one was asked for', async () => {
    await latchkey.signedUp('gus')
    const tokens: (string | undefined)[] = []
    for (const round of [1, 2]) {
      await latchkey.browser().post('/reset-password', { email: 'gus@example.com' })
      await expect
        .poll(
          () =>
            latchkey.mails().filter(({ to, text }) => to === 'gus@example.com' && text.includes('reset-password#'))
              .length,
        )
        .toBe(round)
      tokens.push(tokenIn((await latchkey.mailTo('gus@example.com', /reset-password#/)).text))
    }
    const confirm = (token: string | undefined) =>
      latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: 'amber-Meadow-27-kettle' })
    expect((await confirm(tokens[0])).status).toBe(400)
    await latchkey.advance(30 * minutes + 1000)
    expect((await confirm(tokens[1])).status).toBe(400)
  })

  it('a change of the password makes a reset mail worthless', async () => {
    const tab = await latchkey.signedUp('lia')
    await latchkey.browser().post('/reset-password', { email: 'lia@example.com' })
    const token = tokenIn((await latchkey.mailTo('lia@example.com', /reset-password#/)).text)
    await tab.act('/api/auth/change-password', {
      currentPassword: goodPassword,
      newPassword: 'copper-Willow-83-anchor',
    })
    const late = await latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: goodPassword })
    expect(late.status).toBe(400)
  })
})
