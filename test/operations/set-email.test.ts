import { afterAll, beforeAll, expect, it } from 'vitest'
import type { DatabaseRole } from '../../src/commands/command.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'

import { addAuthenticator } from '../support/authenticator.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addPasskey, signInWith } from '../support/passkey.js'
import { latchkey as run } from '../support/terminal.js'

const secret = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
let latchkey: Latchkey
const store = { openRooms: (role: DatabaseRole) => openRoomsForCommand(latchkey.config, role) }

beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { JWT_SECRET: secret, PRODUCT_LOGO_URL: '/logo.png' } })
})
afterAll(() => latchkey.stop())

it('gives a user another address after --yes, tells the old one, and refuses one that is taken or reserved', async () => {
  const set = (...args: string[]) => run(store, ['user', 'set-email', ...args])
  const changes = createEmailChanges(latchkey)
  const tab = await latchkey.signedUp('ada')
  await latchkey.signedUp('ben')

  expect(await set('ada', 'no address', '--yes')).toMatchObject({ code: 1, err: expect.stringContaining('name@') })
  expect(await set('ada', 'ada@example.org')).toMatchObject({ code: 1, err: expect.stringContaining('Add --yes') })
  expect(await set('ada', 'Ben@example.com', '--yes')).toMatchObject({
    code: 1,
    err: expect.stringContaining('Another'),
  })
  const withoutSecret = {
    openRooms: (role: DatabaseRole) => openRoomsForCommand({ ...latchkey.config, jwtSecret: [] }, role),
  }
  expect(await run(withoutSecret, ['user', 'set-email', 'ada', 'ada@example.org', '--yes'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('Nothing was changed'),
  })
  expect(await changes.emailOf('ada')).toBe('ada@example.com')
  expect(await latchkey.sql.query("select 1 from undos where kind = 'email'")).toEqual([])

  const done = await set('ada', 'ada@example.org', '--yes', '--json')
  expect(JSON.parse(done.out)).toMatchObject({
    username: 'ada',
    email: 'ada@example.org',
    previousEmail: 'ada@example.com',
    endedSessions: 1,
  })
  expect((await run(store, ['user', 'show', 'ada'])).out).toMatch(
    /^email proven +no: applications are told email_verified = false$/m,
  )
  expect((await tab.post('/api/auth/refresh')).status).toBe(401)
  expect(await set('ben', 'ada@example.com', '--yes')).toMatchObject({
    code: 1,
    err: expect.stringContaining('7 days'),
  })
  const adding = ['user', 'add', '--username', 'cam', '--email', 'ada@example.com', '--password-stdin']
  expect((await run(store, adding, { input: goodPassword })).err).toContain('kept for a user')
  const file = 'email,username\nada@example.com,cam\n'
  expect((await run(store, ['user', 'import', '--dry-run', '-'], { input: file })).err).toContain('is kept for')
  expect(
    await latchkey.sql.query("select kind, user_agent <> '' as named from events where kind = 'email_set'"),
  ).toEqual([{ kind: 'email_set', named: true }])

  latchkey.app.rooms.mails.nudge()
  const mail = await latchkey.mailTo('ada@example.com', /was changed/)
  expect(mail.html).toContain(`src="${latchkey.url}/logo.png"`)
  expect((await changes.undoEmail(await changes.undoToken('ada@example.com'))).status).toBe(204)
  expect(await changes.emailOf('ada')).toBe('ada@example.com')
})

it('with --final, no mailbox of a thief takes the account back', async () => {
  const changes = createEmailChanges(latchkey)
  const thief = await latchkey.signedUp('dan')
  await changes.change(thief, 'thief@example.net')
  await changes.ask(thief, 'thief2@example.net')
  const undo = await changes.undoToken('thief@example.net', /about to change/)
  const done = await run(store, ['user', 'set-email', 'dan', 'dan@example.com', '--final', '--yes'])
  expect(done).toMatchObject({ code: 0, out: expect.not.stringContaining('sends the mail') })
  expect((await changes.undoEmail(undo)).body.code).toBe('invalid_link')
  expect(await changes.emailOf('dan')).toBe('dan@example.com')
})

it('user recover leaves nothing to a thief, also of what is older than the undo links', async () => {
  const changes = createEmailChanges(latchkey)
  const recover = (...args: string[]) => run(store, ['user', 'recover', ...args])
  const thief = await latchkey.signedUp('eve')
  const { users, identityLinks } = latchkey.app.rooms
  const id = (await users.findByLogin('eve'))?.id ?? ''
  const { passkey } = await addPasskey(thief, latchkey.url)
  const identity = { provider: 'provider_a', subject: 'thief' } as const
  await identityLinks.linkProvider(latchkey.sql, id, identity)
  await changes.change(thief, 'eve1@example.net')
  const ofOwner = await changes.undoToken('eve@example.com', /was changed/)
  // Seven days later.
  await latchkey.sql.query("update undos set expires_at = now() - interval '1 second' where user_id = $1", [id])
  await changes.change(thief, 'eve2@example.net')
  await thief.send('PATCH', '/api/auth/account', { username: 'thief' }, { csrf: true })
  await addAuthenticator(thief, latchkey)
  await latchkey.browser().post('/reset-password', { email: 'eve2@example.net' })
  const reset = await changes.resetToken('eve2@example.net')
  const undo = await changes.undoToken('eve1@example.net', /was changed/)

  const shown = JSON.parse((await run(store, ['user', 'show', 'thief', '--json'])).out)
  expect(shown.formerEmails).toEqual(
    ['eve@example.com', 'eve1@example.net'].map((email) => ({ email, replacedAt: expect.any(String) })),
  )
  expect((await run(store, ['user', 'show', 'thief'])).out).toMatch(/changed \S+, before: eve1@.*\n.*before: eve@/)
  expect(await recover('eve', 'eve@example.com', '--yes')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/eve.*thief/s),
  })
  expect(await recover('thief', 'no address', '--yes')).toMatchObject({
    code: 1,
    err: expect.stringContaining('name@'),
  })
  expect(await recover('thief', 'eve@example.com')).toMatchObject({
    code: 1,
    err: expect.stringContaining('Add --yes'),
  })
  expect(await recover('thief', 'ben@example.com', '--yes')).toMatchObject({
    code: 1,
    err: expect.stringContaining('Another user'),
  })
  expect(await changes.emailOf('thief')).toBe('eve2@example.net')

  const before = latchkey.mails().length
  const done = await recover('thief', 'eve@example.com', '--yes', '--json')
  expect(JSON.parse(done.out)).toEqual({
    id,
    username: 'eve',
    email: 'eve@example.com',
    previousEmail: 'eve2@example.net',
    previousUsername: 'thief',
    totpRemoved: true,
    passkeysRemoved: 1,
    providersRemoved: ['provider_a'],
    endedSessions: 1,
  })
  latchkey.app.rooms.mails.nudge()
  const mail = await latchkey.mailTo('eve@example.com', /administrator has given your account eve/)
  expect(latchkey.mails().slice(0, -before)).toEqual([mail])
  const login = (username: string, password: string) =>
    latchkey
      .browser()
      .post('/login', { username, password })
      .then(({ status }) => status)
  for (const name of ['eve', 'thief', 'eve@example.com', 'eve2@example.net'])
    expect(await login(name, goodPassword)).toBe(401)
  expect((await thief.post('/api/auth/refresh')).status).toBe(401)
  expect((await signInWith(latchkey.browser(), passkey)).status).toBe(401)
  expect(await users.findByIdentity(identity)).toBeUndefined()
  expect(await identityLinks.isUndone(latchkey.sql, id, identity)).toBe(true)
  for (const token of [ofOwner, undo]) expect((await changes.undoEmail(token)).body.code).toBe('invalid_link')
  const choose = (token: string) =>
    latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: 'amber-Meadow-27-kettle' })
  expect((await choose(reset)).status).toBe(400)
  expect((await choose(await changes.resetToken('eve@example.com'))).status).toBe(204)
  expect(await login('eve', 'amber-Meadow-27-kettle')).toBe(200)
  expect(await latchkey.sql.query("select user_id, ip from events where kind = 'account_recovered'")).toEqual([
    { user_id: id, ip: 'command line' },
  ])

  // The same address: everything else is taken back. Without the secret for the mail nothing is.
  const tab = await latchkey.signedUp('fay')
  const withoutSecret = {
    openRooms: (role: DatabaseRole) => openRoomsForCommand({ ...latchkey.config, jwtSecret: [] }, role),
  }
  expect(await run(withoutSecret, ['user', 'recover', 'fay', 'fay@example.com', '--yes'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('Nothing was changed'),
  })
  expect((await tab.get('/api/auth/account')).status).toBe(200)
  expect((await recover('fay', 'fay@example.com', '--yes')).out).toContain('ended 1 session')
  expect((await tab.post('/api/auth/refresh')).status).toBe(401)
})

it('user providers unlink removes one link for good, and tells the user', async () => {
  const unlink = (...args: string[]) => run(store, ['user', 'providers', 'unlink', 'gil', ...args])
  const { users, identityLinks } = latchkey.app.rooms
  const tab = await latchkey.signedUp('gil')
  const id = (await users.findByLogin('gil'))?.id ?? ''
  const identity = { provider: 'provider_b', subject: '7' } as const
  await identityLinks.linkProvider(latchkey.sql, id, identity)
  expect(await unlink('provider_a', '--yes')).toMatchObject({
    code: 1,
    err: expect.stringContaining('Linked: provider_b'),
  })
  expect(await unlink('provider_b')).toMatchObject({ code: 1, err: expect.stringContaining('Add --yes') })
  expect(await users.findByIdentity(identity)).toMatchObject({ id })
  const second = await latchkey.browser().post('/login', { username: 'gil', password: goodPassword })
  expect(second.status).toBe(200)
  const [begun] = await latchkey.sql.query<{ id: string }>(
    `update sessions set provider = 'provider_b'
     where id = (select id from sessions where user_id = $1 order by id desc limit 1) returning id`,
    [id],
  )
  const done = await unlink('provider_b', '--yes', '--json')
  expect(JSON.parse(done.out)).toEqual({ id, username: 'gil', provider: 'provider_b', endedSessions: 1 })
  // Only the one that began with it.
  expect(await latchkey.sql.query('select 1 from sessions where id = $1', [begun?.id])).toEqual([])
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  expect(await users.findByIdentity(identity)).toBeUndefined()
  expect(await identityLinks.isUndone(latchkey.sql, id, identity)).toBe(true)
  latchkey.app.rooms.mails.nudge()
  await latchkey.mailTo('gil@example.com', /disconnected from GitHub/)
  expect(
    await latchkey.sql.query("select reason, ip from events where kind = 'provider_unlinked' and user_id = $1", [id]),
  ).toEqual([{ reason: 'provider_b', ip: 'command line' }])
})
