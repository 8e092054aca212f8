import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type SecondFactorMethod, secondFactors } from '#contract/second-factors.js'
import { checkAdministrators } from '../../src/commands/doctor/accounts.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { minutes } from '../../src/lib/durations.js'
import { createUserSearch } from '../../src/users/search.js'
import { idOf, joinGroup } from '../support/administrators.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addPasskey } from '../support/passkey.js'
import { latchkey as runCommand } from '../support/terminal.js'

/*
 * An account with a password and only one kind of second factor. What is expected is written here once more, and not taken from the table,
 * so that a row which says something wrong does not agree with itself.
 */

type Expected = {
  add: (tab: Browser, name: string) => Promise<unknown>
  /** Where it is stored. */
  table: string
  asked: boolean
  counts: boolean
  /** What makes a session fresh again. */
  proves: string[]
  trustsBrowser: boolean
  /** Where the page of an undo link names it. */
  shownAs: string
  /** Where the export of the account has it. */
  exportedAs: string
  /** The number in the statistics. */
  statistics: string | null
}

let latchkey: Latchkey
let changes: ReturnType<typeof createEmailChanges>
beforeAll(async () => {
  latchkey = await startLatchkey()
  changes = createEmailChanges(latchkey)
})
afterAll(() => latchkey.stop())

const remove = (table: string, name: string) =>
  latchkey.sql.query(`delete from ${table} where user_id = (select id from users where username = $1)`, [name])

const expectations: Record<SecondFactorMethod, Expected> = {
  totp: {
    add: async (tab, name) => {
      await addAuthenticator(tab, latchkey)
      await remove('recovery_codes', name)
    },
    table: 'totp_secrets',
    asked: true,
    counts: true,
    proves: ['totp'],
    trustsBrowser: true,
    shownAs: 'totp',
    exportedAs: 'totp',
    statistics: 'withTotp',
  },
  recovery_code: {
    // The codes that a lost app left behind. Only their own row takes them back, because the change of the app is forgotten.
    add: async (tab, name) => {
      await addAuthenticator(tab, latchkey)
      await remove('totp_secrets', name)
      await remove('undos', name)
    },
    table: 'recovery_codes',
    asked: false,
    counts: false,
    proves: ['password'],
    trustsBrowser: false,
    shownAs: 'recoveryCodes',
    exportedAs: 'recoveryCodes',
    statistics: null,
  },
  passkey: {
    add: (tab) => addPasskey(tab, latchkey.url),
    table: 'passkeys',
    asked: false,
    counts: true,
    proves: ['passkey'],
    trustsBrowser: false,
    shownAs: 'passkeys',
    exportedAs: 'passkeys',
    statistics: 'withPasskeys',
  },
}

const storedOf = (name: string, table: string) =>
  latchkey.sql.query(`select 1 from ${table} join users as u on u.id = user_id where u.username = $1`, [name])

const operator = operatorClient('root')
const given = () => ({
  openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role),
})
const output = async (...args: string[]) => (await runCommand(given(), args)).out

/** Whether the database takes a session of this user that has only one proof. `device`: the browser is trusted. */
const takesSession = async (name: string, { device = null as string | null, isFactorRequired = false } = {}) => {
  const rows = await latchkey.sql.query(
    `insert into sessions
       (id, user_id, token_hash, generation, issued_at, rotated_at, expires_at, ip, user_agent, created_at,
        last_used_at, trusted_device, second_factor_required, methods, authenticated_at, signed_in_as)
     select gen_random_uuid(), id, '\\x00', 0, now(), now(), now() + interval '1 day', '', '', now(), now(), $2,
       $3, array['pwd'], now(), username
     from users where username = $1 returning id`,
    [name, device, isFactorRequired],
  )
  return rows.length > 0
}

const trustBrowser = async (name: string) => {
  const [device] = await latchkey.sql.query<{ id: string }>(
    `insert into trusted_devices (id, user_id, hash, ip, user_agent, created_at, expires_at)
     select gen_random_uuid(), id, sha256(gen_random_uuid()::text::bytea), '', '', now(), now() + interval '1 day'
     from users where username = $1 returning id`,
    [name],
  )
  return device?.id ?? null
}

/** The properties of a body that say that something is there. */
const namedIn = (body: unknown) =>
  Object.entries(body as Record<string, unknown>)
    .filter(([, value]) => !['[]', 'false', 'null', '{"left":0}'].includes(JSON.stringify(value)))
    .map(([name]) => name)

const methods = Object.keys(secondFactors) as SecondFactorMethod[]

describe.each(methods)('an account with nothing but this beside its password: %s', (method) => {
  const row = expectations[method]
  let accounts = 0
  const withFactor = async () => {
    accounts += 1
    const name = `${method.replace('_', '-')}-${accounts}`
    const tab = await latchkey.signedUp(name)
    await row.add(tab, name)
    expect((await storedOf(name, row.table)).length).toBeGreaterThan(0)
    return { name, tab }
  }

  it('is asked for it at a sign-in, or not', async () => {
    const { name } = await withFactor()
    const { status, body } = await latchkey.browser().post('/login', { username: name, password: goodPassword })
    expect([status, body.next]).toEqual(row.asked ? [202, 'second_factor'] : [200, undefined])
    if (row.asked) expect(body.methods).toEqual([method])
    expect(await takesSession(name)).toBe(!row.asked)
    // Where every session needs a second factor, a trusted browser stands only for a factor that can be trusted in.
    const device = await trustBrowser(name)
    expect(await takesSession(name, { device, isFactorRequired: true })).toBe(row.trustsBrowser)
  })

  it('changes its address with what it can prove', async () => {
    const { name, tab } = await withFactor()
    await changes.ask(tab, `${name}@example.org`)
    const token = await changes.confirmToken(`${name}@example.org`)
    const { body } = await latchkey.browser().post('/api/auth/email/check', { token })
    expect(body.proof).toBe(row.asked ? 'sign_in' : 'password')
    const confirmed = await changes.confirm(latchkey.browser(), token, goodPassword)
    expect(confirmed.status).toBe(row.asked ? 401 : 204)
  })

  it('changes its password with what it can prove', async () => {
    const { tab } = await withFactor()
    await latchkey.advance(11 * minutes)
    const asked = { currentPassword: goodPassword, newPassword: 'copper-Willow-83-anchor' }
    const { status, body } = await tab.act('/api/auth/change-password', asked)
    const isPasswordEnough = row.proves[0] === 'password'
    expect([status, body.methods]).toEqual(isPasswordEnough ? [204, undefined] : [403, row.proves])
  })

  it('counts, or not, in lists, numbers, checks and searches', async () => {
    const before = JSON.parse(await output('stats', '--json')).users
    const { name, tab } = await withFactor()
    const { users } = JSON.parse(await output('stats', '--json'))
    const risen = ['withTotp', 'withPasskeys'].filter((each) => users[each] > before[each])
    expect(risen).toEqual(row.statistics === null ? [] : [row.statistics])
    expect((await output('user', 'list', '--no-second-factor')).includes(name)).toBe(!row.counts)
    const search = (factor?: 'none') =>
      createUserSearch({ database: latchkey.sql }).page({ search: name, ...(factor && { factor }) })
    expect(await search()).toMatchObject({ users: [{ username: name, factors: row.counts ? [method] : [] }] })
    expect(await search('none')).toMatchObject({ users: row.counts ? [] : [{ username: name }] })
    const group = `with-${method.replace('_', '-')}`
    await joinGroup(latchkey, tab, name, group)
    const found = await checkAdministrators(latchkey.sql, { ...latchkey.config, adminGroup: group })
    expect(found.level).toBe(row.counts ? 'ok' : 'warning')
    expect(await latchkey.app.rooms.factors.hasFactor(await idOf(latchkey, name))).toBe(row.counts)
  })

  it('finds it in the export of the account', async () => {
    const { tab } = await withFactor()
    const { factors } = (await tab.get('/api/auth/export')).body
    expect(namedIn(factors)).toEqual([row.exportedAs])
  })

  it('loses it to an undo link, whose page names it', async () => {
    const { name, tab } = await withFactor()
    await tab.send('PATCH', '/api/auth/account', { language: 'de' }, { csrf: true })
    const token = await changes.undoToken(`${name}@example.com`, /language/)
    const { removes } = (await latchkey.browser().post('/api/auth/undo/check', { token })).body
    expect(namedIn(removes)).toEqual([row.shownAs])
    expect((await changes.undoFactor(token)).status).toBe(204)
    expect(await storedOf(name, row.table)).toEqual([])
  })

  it('loses it when an operator resets its factors', async () => {
    const { name } = await withFactor()
    await latchkey.app.rooms.operatorChanges.resetFactors({ userId: await idOf(latchkey, name), client: operator })
    expect(await storedOf(name, row.table)).toEqual([])
  })

  it('loses it when an operator gives the account to another owner', async () => {
    const { name } = await withFactor()
    // Nothing about it can be undone any more, as if it was added long ago.
    await remove('undos', name)
    const email = { email: `${name}@example.net`, key: `${name}@example.net` }
    const recovered = await latchkey.app.rooms.recoverAccount({ userId: await idOf(latchkey, name), email, operator })
    expect(recovered).not.toHaveProperty('refused')
    expect(await storedOf(name, row.table)).toEqual([])
  })
})

it('counts wrong recovery codes for the mail to the owner only, and wrong codes of the app for the wait too', async () => {
  const tab = await latchkey.signedUp('mistyping')
  await addAuthenticator(tab, latchkey)
  const visitor = latchkey.browser()
  await visitor.post('/login', { username: 'mistyping', password: goodPassword })
  const enter = async (code: string) => {
    await latchkey.advance(1 * minutes)
    expect((await visitor.post('/api/auth/second-factor', { code })).status).toBe(401)
    const [row] = await latchkey.sql.query<{ failures: number; wrong_in_day: number; last_wrong_at: Date }>(
      `select failures, wrong_in_day, last_wrong_at from wrong_codes
       where user_id = (select id from users where username = 'mistyping')`,
    )
    return row
  }
  const first = await enter('0000-0000-0000')
  expect(first).toMatchObject({ failures: 0, wrong_in_day: 1 })
  expect(await enter('0000-0000-0000')).toEqual({ ...first, wrong_in_day: 2 })
  const ofApp = await enter('000000')
  expect(ofApp).toMatchObject({ failures: 1, wrong_in_day: 3 })
  expect(ofApp?.last_wrong_at).not.toEqual(first?.last_wrong_at)
})
