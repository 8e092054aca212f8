import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AdminEvent, type AdminUserDetails, adminPath } from '#contract/admin/admin-bodies.js'
import { createServiceClient, ServiceError } from '#service/service.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { days } from '../../src/lib/durations.js'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import { addAuthenticator } from '../support/authenticator.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { createMailLogins } from '../support/mail-login.js'

const chosenPassword = 'umbrella-Canyon-62-flute'

const serviceKey = newServiceKey('hr', { scopes: ['users:write'] })

let folder: string
let latchkey: Latchkey
let root: Awaited<ReturnType<typeof signedUpInGroup>>
let helper: Awaited<ReturnType<typeof signedUpInGroup>>
let changes: ReturnType<typeof createEmailChanges>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-keys-'))
  await writeFile(join(folder, 'keys'), serviceKey.line)
  const groups = { ADMIN_GROUP: 'admins', SUPPORT_GROUP: 'helpdesk' }
  const settings = { ...groups, SERVICE_KEYS_FILE: join(folder, 'keys'), MAIL_SIGN_IN: 'on' }
  latchkey = await startLatchkey({ settings })
  root = await signedUpInGroup(latchkey, 'root1', 'admins')
  helper = await signedUpInGroup(latchkey, 'helper', 'helpdesk')
  await root.prove()
  changes = createEmailChanges(latchkey)
})
afterAll(async () => {
  await latchkey?.stop()
  await rm(folder, { recursive: true, force: true })
})

const act = (id: string, action: string, body: object = { reason: 'asked by phone' }, by = root) =>
  by.tab.send('POST', `${adminPath}/users/${id}/${action}`, body, { csrf: true })
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
    + (select count(*) from sessions where user_id = $1) + (select count(*) from trusted_devices where user_id = $1)
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
  expect(shown).toMatchObject({ lockedDown: true, enablingSendsReset: false, formerOwner: 'mia@example.com' })
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

it('support and programs with a key do not lift a lock-down, and enable an account that is only disabled', async () => {
  await latchkey.signedUp('olga')
  const id = await idOf(latchkey, 'olga')
  const service = createServiceClient({ url: latchkey.url, key: serviceKey.key })
  const enableBySupport = async () => (await act(id, 'enable', {}, helper)).body.code
  const enableByKey = () =>
    service.users.enable(id).catch((error) => (error instanceof ServiceError ? `${error.status} ${error.code}` : error))
  expect((await act(id, 'lock-down', { reason: 'called' }, helper)).status).toBe(204)
  expect([await enableBySupport(), await enableByKey()]).toEqual(['locked_down', '409 locked_down'])
  expect(await detailsOf(id)).toMatchObject({ disabled: true, lockedDown: true })
  expect(await eventsOf(id, 'user_enabled')).toEqual([])
  expect((await act(id, 'enable', {})).status).toBe(204)
  await act(id, 'disable')
  expect(await enableByKey()).toEqual({ id, disabled: false })
  await act(id, 'disable')
  expect((await act(id, 'enable', {}, helper)).status).toBe(204)
})

describe('an account that is enabled while the owner of a former address can take it back', () => {
  /** A thief has changed the address before the lock-down. */
  const moved = async (name: string) => {
    const [owner, thief] = [`${name}@example.com`, `${name}-thief@example.net`]
    await changes.change(await latchkey.signedUp(name), thief)
    const id = await idOf(latchkey, name)
    await act(id, 'lock-down')
    return { id, owner, thief, undoToken: await changes.undoToken(owner, /was changed/) }
  }
  const resets = (address: string) =>
    latchkey.mails().filter(({ to, text }) => to === address && /reset-password#token=/.test(text)).length
  const askForReset = async (address: string) => {
    await latchkey.browser().post('/api/auth/reset-password', { email: address })
    await latchkey.advance(0)
  }

  it('lets no mail to the present address in, and its former owner with “This was not me”', async () => {
    const { id, owner, thief, undoToken } = await moved('pia')
    expect(await detailsOf(id)).toMatchObject({ enablingSendsReset: false, formerOwner: owner })
    expect((await act(id, 'enable', {})).status).toBe(204)
    for (const address of [owner, thief]) await latchkey.mailTo(address, /can be used again/)
    await askForReset(thief)
    expect([resets(owner), resets(thief)]).toEqual([0, 0])
    await createMailLogins(latchkey).ask(latchkey.browser(), thief)
    expect((await latchkey.mailTo(thief, /sign in/)).text).not.toMatch(/login#mail=/)
    expect((await act(id, 'send-reset', {}, helper)).body.code).toBe('locked_down')
    expect((await detailsOf(id)).why).toMatchObject([
      { code: 'owner_in_doubt', subject: owner, solvedBy: 'send-reset' },
    ])

    const takenBack = { token: undoToken, password: chosenPassword }
    expect((await latchkey.browser().post('/api/auth/email/undo', takenBack)).status).toBe(204)
    expect(await signIn('pia', chosenPassword)).toBe(200)
    expect(await detailsOf(id)).toMatchObject({ email: owner, formerOwner: null, why: [] })
    await askForReset(owner)
    expect(resets(owner)).toBe(1)
  })

  it('gets a link to the present address if an administrator says so, and any link once a password is chosen', async () => {
    const { id, thief: own } = await moved('quinn')
    await act(id, 'enable', {})
    expect((await act(id, 'send-reset', {})).status).toBe(204)
    const chosen = { token: await changes.resetToken(own), password: chosenPassword }
    expect((await latchkey.browser().post('/api/auth/reset-password/confirm', chosen)).status).toBe(204)
    await askForReset(own)
    expect(resets(own)).toBe(2)
  })

  it('stays in doubt when nobody can take it back any more, until an administrator mails a link or an operator sets its address', async () => {
    const [late, set] = [await moved('rosa'), await moved('sven')]
    for (const { id } of [late, set]) expect((await act(id, 'enable', {})).status).toBe(204)
    const email = { email: 'sven@example.org', key: 'sven@example.org' }
    await latchkey.app.rooms.operatorChanges.setEmail(
      { userId: set.id, client: operatorClient('root') },
      { from: set.thief, email, isFinal: false },
    )
    await askForReset(email.email)
    expect(resets(email.email)).toBe(1)
    await latchkey.advance(8 * days)
    await askForReset(late.thief)
    // Not by a round through disabling, either.
    const { operatorChanges, resetLinks } = latchkey.app.rooms
    const byOperator = { userId: late.id, client: operatorClient('root') }
    await operatorChanges.disable(byOperator)
    await operatorChanges.enable(byOperator)
    await askForReset(late.thief)
    expect(resets(late.thief)).toBe(0)
    await resetLinks.sendByOperator(byOperator)
    await expect.poll(() => resets(late.thief)).toBe(1)
  })
})
