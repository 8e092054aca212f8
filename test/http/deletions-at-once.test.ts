import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import type { Browser } from '../support/client.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { latchkey as run } from '../support/terminal.js'
import { overtaken } from '../support/waits-for-lock.js'

let latchkey: Latchkey
let changes: ReturnType<typeof createEmailChanges>

beforeAll(async () => {
  latchkey = await startLatchkey()
  changes = createEmailChanges(latchkey)
})
afterAll(() => latchkey?.stop())

const deleteAccount = async (tab: Browser, username: string) =>
  (await tab.act('/api/auth/delete-account', { username })).status

afterEach(() => {
  expect(latchkey.logLines.filter((line) => line.includes('deadlock'))).toEqual([])
})

it('deletions do not happen when a reset ends the session first', async () => {
  const tab = await latchkey.signedUp('overtaken')
  const answer = await overtaken(
    latchkey,
    'overtaken',
    () => deleteAccount(tab, 'overtaken'),
    (sql, id) => sql.query('delete from sessions where user_id = $1', [id]),
  )
  expect(answer).toBe(401)
  const login = { username: 'overtaken', password: goodPassword }
  expect((await latchkey.browser().post('/login', login)).status).toBe(200)
})

it('deletions are told to an operator who changes the account at that moment', async () => {
  const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
  for (const command of [['disable'], ['enable'], ['expire-password', '--yes']]) {
    const [name = ''] = command
    await latchkey.signedUp(name)
    const { code, out, err } = await overtaken(
      latchkey,
      name,
      () => run(store, ['user', ...command, name]),
      (sql, id) => sql.query('delete from users where id = $1', [id]),
    )
    expect({ code, out, err }).toEqual({ code: 1, out: '', err: `${name} was deleted in the meantime.\n` })
  }
})

it('deletions do not wait for each other when each has asked for the addresses of the others', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `crossed-${index}`)
  const tabs = await Promise.all(names.map((name) => latchkey.signedUp(name)))
  const asking = tabs.map(async (tab, index) => {
    for (const step of [1, 2, 3, 4]) {
      const address = `crossed-${(index + step) % names.length}@example.com`
      const { status } = await changes.ask(tab, address)
      expect(status).toBe(202)
    }
  })
  await Promise.all(asking)
  const deleted = await Promise.all(tabs.map((tab, index) => deleteAccount(tab, names[index] ?? '')))
  expect(deleted).toEqual(names.map(() => 204))
})

it('deletions do not wait for a registration at a former address that waits for them', async () => {
  for (const round of [1, 2, 3, 4, 5]) {
    const name = `moved-${round}`
    const tab = await latchkey.signedUp(name)
    await changes.change(tab, `${name}@example.net`)
    const newcomer = latchkey.browser()
    const registration = { username: `new-${round}`, email: `${name}@example.com`, password: goodPassword }
    expect((await newcomer.post('/api/auth/register', registration)).status).toBe(202)
    const resend = async () => {
      const { status, body } = await newcomer.post('/api/auth/verify-email/resend', {})
      return status === 202 ? 'sent' : body.code
    }
    const [deleted, ...resent] = await Promise.all([deleteAccount(tab, name), ...[1, 2, 3].map(resend)])
    expect(deleted).toBe(204)
    // The registration goes with the reserved address.
    for (const answer of resent) expect(['sent', 'no_registration_waiting']).toContain(answer)
    const left = 'select 1 from pending_registrations where username = $1'
    expect(await latchkey.sql.query(left, [registration.username])).toEqual([])
  }
})
