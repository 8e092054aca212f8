import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStores } from '../../src/commands/open-stores.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { latchkey as run } from '../support/terminal.js'

const secret = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
let latchkey: Latchkey

beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { JWT_SECRET: secret, PRODUCT_LOGO_URL: '/logo.png' } })
})
afterAll(() => latchkey.stop())

it('gives a user another address after --yes, tells the old one, and refuses one that is taken or reserved', async () => {
  const store = { openStores: (role: 'service' | 'owner') => openStores(latchkey.config, role) }
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
    openStores: (role: 'service' | 'owner') => openStores({ ...latchkey.config, jwtSecret: [] }, role),
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

  latchkey.app.nouns.mails.nudge()
  const mail = await latchkey.mailTo('ada@example.com', /was changed/)
  expect(mail.html).toContain(`src="${latchkey.url}/logo.png"`)
  expect((await changes.undoEmail(await changes.undoToken('ada@example.com'))).status).toBe(204)
  expect(await changes.emailOf('ada')).toBe('ada@example.com')
})

it('with --final, no mailbox of a thief takes the account back', async () => {
  const store = { openStores: (role: 'service' | 'owner') => openStores(latchkey.config, role) }
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
