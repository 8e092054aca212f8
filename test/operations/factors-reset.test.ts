import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkSealedValues } from '../../src/commands/doctor/accounts.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'

import { addAuthenticator, replaceAuthenticator } from '../support/authenticator.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addPasskey, signInWith } from '../support/passkey.js'
import { latchkey as run } from '../support/terminal.js'

const secret = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
let latchkey: Latchkey

beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { JWT_SECRET: secret } })
})
afterAll(() => latchkey.stop())

it('switches two-step sign-in off for a user who lost the phone, after --yes, and tells the user', async () => {
  const config = { ...latchkey.config, secondFactor: 'required' as const }
  const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(config, role) }
  const reset = (...more: string[]) => run(store, ['user', 'factors', 'reset', 'ada', ...more])
  const login = async () =>
    (await latchkey.browser().post('/login', { username: 'ada', password: goodPassword })).status
  const tab = await latchkey.signedUp('ada')
  expect(await reset('--yes')).toMatchObject({ code: 0, out: expect.stringContaining('has no two-step sign-in') })
  await addAuthenticator(tab, latchkey)
  const { passkey } = await addPasskey(tab, latchkey.url)

  expect(await reset()).toMatchObject({ code: 1, err: expect.stringContaining('Add --yes') })
  expect(await login()).toBe(202)
  expect(await reset('--yes')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/removed 1 passkey; ended 1 session.* adds a new factor at the next sign-in/),
  })
  expect(await login()).toBe(200)
  expect((await signInWith(latchkey.browser(), passkey)).status).toBe(401)
  expect((await tab.post('/api/auth/refresh')).status).toBe(401)
  latchkey.app.rooms.mails.nudge()
  expect((await latchkey.mailTo('ada@example.com', /was reset/)).text).toContain('administrator')
  expect(await latchkey.sql.query("select user_agent <> '' as named from events where kind = 'factors_reset'")).toEqual(
    [{ named: true }],
  )
})

it('of every user whose TOTP secret or recovery codes cannot be opened, when the key that sealed them is lost', async () => {
  const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
  const reset = (...more: string[]) => run(store, ['user', 'factors', 'reset', ...more])
  for (const name of ['lost', 'half-lost', 'kept']) await addAuthenticator(await latchkey.signedUp(name), latchkey)
  await latchkey.sql.query(
    `update totp_secrets set secret = 'otherkey.' || split_part(secret, '.', 2)
     where user_id = (select id from users where username = 'lost')`,
  )
  const moved = await latchkey.signedUp('moved')
  await addAuthenticator(moved, latchkey)
  // As if the app were there for longer than an undo link works: then its secret is kept.
  await latchkey.sql.query(`delete from undos where user_id = (select id from users where username = 'moved')`)
  await replaceAuthenticator(moved, latchkey)
  await latchkey.sql.query(`update undos set former_secret = 'otherkey.' || split_part(former_secret, '.', 2)`)
  await latchkey.sql.query(
    `update recovery_codes set sealed = 'otherkey.' || split_part(sealed, '.', 2)
     where user_id = (select id from users where username = 'half-lost')`,
  )
  expect(await checkSealedValues(latchkey.sql, latchkey.config)).toMatchObject({
    level: 'error',
    says: expect.stringContaining('`latchkey user factors reset --unreadable --yes`'),
  })
  expect(await reset('--unreadable')).toMatchObject({ code: 1, err: expect.stringContaining('of 3 users,') })
  for (const wrong of [[], ['kept', '--unreadable']]) expect((await reset(...wrong)).code).toBe(2)
  expect(await reset('--unreadable', '--yes')).toMatchObject({ code: 0, out: expect.stringContaining('of 3 users') })
  const left = 'select username from users as u join totp_secrets as t on t.user_id = u.id'
  expect(await latchkey.sql.query(left)).toEqual([{ username: 'kept' }])
  expect(await checkSealedValues(latchkey.sql, latchkey.config)).toMatchObject({ level: 'ok' })
})
