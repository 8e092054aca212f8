import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AdminEvent, type AdminUserDetails, adminPath } from '#contract/admin/admin-bodies.js'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import { addAuthenticator } from '../support/authenticator.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

const chosenPassword = 'umbrella-Canyon-62-flute'

let latchkey: Latchkey
let root: Awaited<ReturnType<typeof signedUpInGroup>>
let changes: ReturnType<typeof createEmailChanges>
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ADMIN_GROUP: 'admins' } })
  root = await signedUpInGroup(latchkey, 'root1', 'admins')
  changes = createEmailChanges(latchkey)
})
afterAll(() => latchkey.stop())

const act = (id: string, action: string, body: object = { reason: 'asked by phone' }) =>
  root.tab.send('POST', `${adminPath}/users/${id}/${action}`, body, { csrf: true })
const get = async <Body>(path: string) => (await root.tab.get(`${adminPath}${path}`)).body as Body
const detailsOf = (id: string) => get<AdminUserDetails>(`/users/${id}`)
const eventsOf = async (id: string, kind: string) =>
  (await get<{ events: AdminEvent[] }>(`/events?user=${id}&kind=${kind}`)).events
const signIn = async (username: string, password = goodPassword) =>
  (await latchkey.browser().post('/login', { username, password })).status

it('a lock-down: nothing that was begun works any more, and an undo link does not enable the account', async () => {
  const tab = await latchkey.signedUp('cleo')
  const id = await idOf(latchkey, 'cleo')
  await tab.act('/api/auth/change-password', {
    currentPassword: goodPassword,
    newPassword: chosenPassword,
  })
  const { text } = await latchkey.mailTo('cleo@example.com', /undo#/)
  await latchkey.browser().post('/api/auth/reset-password', { email: 'cleo@example.com' })
  await latchkey.mailTo('cleo@example.com', /reset-password#token=/)
  await tab.act('/api/auth/change-email', { email: 'other@example.com' })
  expect((await act(id, 'lock-down', { reason: 'stolen laptop' })).status).toBe(204)
  await latchkey.mailTo('cleo@example.com', /was locked/)
  // Once more: the owner is not told again.
  expect((await act(id, 'lock-down')).status).toBe(204)
  await latchkey.advance(0)
  expect(latchkey.mails().filter(({ subject }) => /was locked/.test(subject))).toHaveLength(1)
  const left = `select (select count(*) from one_time_tokens where user_id = $1) + (select count(*) from email_changes where user_id = $1)
    + (select count(*) from refresh_token_records where user_id = $1) + (select count(*) from trusted_devices where user_id = $1)
    + (select count(*) from mailed_codes where user_id = $1) + (select count(*) from sign_in_challenges where user_id = $1) as rows`
  expect(await latchkey.sql.query(left, [id])).toEqual([{ rows: 0 }])
  const [, token] = /(factor-[\w-]+)/.exec(text) ?? []
  expect((await latchkey.browser().post('/api/auth/factors/undo', { token })).status).toBe(204)
  expect((await detailsOf(id)).disabled).toBe(true)
})

it('a lock-down takes an account out of the reach of a thief who has changed the address, and the owner comes back with a new password', async () => {
  const thief = await latchkey.signedUp('mia')
  const id = await idOf(latchkey, 'mia')
  await changes.change(thief, 'mia-thief@example.net')
  await addAuthenticator(thief, latchkey)
  const [ofOwner, ofThief] = [
    await changes.undoToken('mia@example.com', /was changed/),
    await changes.undoToken('mia-thief@example.net'),
  ]
  expect((await act(id, 'lock-down')).status).toBe(204)
  for (const address of ['mia@example.com', 'mia-thief@example.net']) await latchkey.mailTo(address, /was locked/)
  const takeBack = (path: string, token: string) => latchkey.browser().post(path, { token, password: chosenPassword })
  expect((await takeBack('/api/auth/factors/undo', ofThief)).body.code).toBe('invalid_link')
  const shown = await detailsOf(id)
  expect(shown).toMatchObject({ lockedDown: true, enablingSendsReset: true })
  expect(shown.why).toMatchObject([{ code: 'locked_down', subject: 'root1', detail: 'asked by phone' }])
  expect(shown.undos).toContainEqual(expect.objectContaining({ kind: 'email', email: 'mia@example.com', works: true }))
  expect(shown.undos).toContainEqual(
    expect.objectContaining({ kind: 'totp', email: 'mia-thief@example.net', works: false }),
  )
  const check = await latchkey.browser().post('/api/auth/undo/check', { token: ofOwner })
  expect(check.body).toMatchObject({ disabled: true })
  expect((await takeBack('/api/auth/email/undo', ofOwner)).status).toBe(204)
  // What the thief had added is gone, although the thief's own link was void.
  expect(await detailsOf(id)).toMatchObject({
    lockedDown: true,
    enablingSendsReset: false,
    email: 'mia@example.com',
    totp: null,
  })
  expect((await act(id, 'enable', {})).status).toBe(204)
  expect([await signIn('mia'), await signIn('mia', chosenPassword)]).toEqual([401, 200])
  expect(await eventsOf(id, 'password_expired')).toEqual([])
})

it('users who were locked down choose a new password with a mailed link, once they are enabled', async () => {
  await latchkey.signedUp('nell')
  const id = await idOf(latchkey, 'nell')
  await act(id, 'lock-down')
  expect((await act(id, 'enable', {})).status).toBe(204)
  expect(await signIn('nell')).toBe(401)
  const token = await changes.resetToken('nell@example.com')
  const chosen = { token, password: chosenPassword }
  expect((await latchkey.browser().post('/api/auth/reset-password/confirm', chosen)).status).toBe(204)
  expect(await signIn('nell', chosenPassword)).toBe(200)
  for (const kind of ['user_locked_down', 'user_enabled', 'password_expired', 'reset_requested'])
    expect(await eventsOf(id, kind), kind).toMatchObject([{ actor: 'root1' }])
  // The next time it is only disabled, and the password stays.
  await act(id, 'disable')
  await act(id, 'enable', {})
  expect(await signIn('nell', chosenPassword)).toBe(200)
})
