import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { usernameKey } from '../../src/users/names.js'
import { addAuthenticator } from '../support/authenticator.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { latchkey } from '../support/terminal.js'

const secret = 'q7Wn2Zk9Yb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxOc6M0'
const [ofAda, ofGrace] = ['192.0.2.1', '2001:db8:7::1']
const hostile = 'Grace \u202e\u001b[31mHopper'

let service: Latchkey
let codes: Awaited<ReturnType<typeof addAuthenticator>>
const openAsCommand = (role: 'service role' | 'table owner') => openRoomsForCommand(service.config, role)
const command = (...args: string[]) => latchkey({ openRooms: openAsCommand }, args)
const json = async (...args: string[]) => {
  const { out, err, code } = await command(...args, '--json')
  expect({ err, code }).toEqual({ err: '', code: 0 })
  return out
    .trimEnd()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}
const login = (username: string, password: string, address: string) =>
  service.browser().post('/login', { username, password }, { address })
const kindsBy = async (kind: string) =>
  service.sql.query('select kind, reason, ip from events where kind = $1 order by id', [kind])

beforeAll(async () => {
  service = await startLatchkey({ settings: { JWT_SECRET: secret, LOGIN_LIMIT: '2/15m', ACCOUNT_LIMIT: '4/1h' } })
  const ada = await service.signedUp('ada')
  codes = await addAuthenticator(ada, service)
  await service.signedUp('grace')
  await service.sql.query("update users set name = $1 where username = 'grace'", [hostile])
})
afterAll(() => service.stop())

describe('why a user could not sign in', () => {
  it('is answered by user show: reasons, limits in force and what to do', async () => {
    await login('ada', 'wrong-Password-1', ofAda)
    const tab = service.browser()
    expect((await tab.post('/login', { username: 'ada', password: goodPassword }, { address: ofAda })).status).toBe(202)
    await tab.post('/api/auth/second-factor', { code: '12' }, { address: ofAda })
    await login('ada', 'wrong-Password-1', ofAda)
    await login('ada', goodPassword, ofAda)

    const { out, code } = await command('user', 'show', 'ADA@example.com')
    expect(code).toBe(0)
    expect(out).toMatch(/^username +ada$/m)
    expect(out).toMatch(/^email proven +yes$/m)
    expect(out).toMatch(/^two-step sign-in +on since .*; 10 recovery codes left, 0 trusted devices$/m)
    expect(out).toMatch(/^sessions +1, last used /m)
    expect(out).toMatch(/^last sign-in +2.* from 127\.0\.0\.1$/m)
    expect(out).toContain(`The limit "login" refuses ${ofAda} until `)
    expect(out).toContain(`latchkey limits clear --network ${ofAda}`)
    const failures = out.slice(out.indexOf('Last failures')).split('\n').slice(2)
    expect(failures.map((line) => line.split(/ {2,}/).slice(1, 3).join(' '))).toEqual([
      'sign_in_failed wrong_password',
      'second_factor_asked password',
      'second_factor_failed malformed',
      'sign_in_failed wrong_password',
      `rate_limited login`,
      '',
    ])
    const [asJson] = await json('user', 'show', 'ada')
    expect(asJson).toMatchObject({
      ...{
        username: 'ada',
        email: 'ada@example.com',
        emailProven: true,
        emailClaimed: false,
        disabled: false,
        password: true,
        providers: [],
      },
      ...{ recoveryCodesLeft: 10, trustedDevices: 0, sessions: [{ ip: '127.0.0.1' }] },
      limits: [{ limit: 'login', subject: ofAda }],
    })
    const addPasskeyFor = (host: string) =>
      service.sql.query(
        `insert into passkeys (id, user_id, credential_id, public_key, counter, transports, relying_party, name, synced, created_at)
         select gen_random_uuid(), id, convert_to($1, 'UTF8'), '', 0, '{}', $1, '', false, now() from users where username = 'ada'`,
        [host],
      )
    await addPasskeyFor('localhost')
    await addPasskeyFor('old.example.com')
    expect(await json('user', 'show', 'ada')).toMatchObject([
      { passkeys: 1, passkeysOfOtherHosts: ['old.example.com'] },
    ])
    const { out: withPasskeys } = await command('user', 'show', 'ada')
    expect(withPasskeys).toMatch(
      /^signs in with +password, 1 passkey\n +not with 1 passkey made for old\.example\.com$/m,
    )
    await service.sql.query('delete from passkeys')
    // The password was right and the code was never entered: that is in the events too.
    const events = await json('events', '--user', 'ada', '--kind', 'second_factor_asked', '--ip', ofAda)
    expect(events).toMatchObject([{ reason: 'password', username: 'ada' }])
  })

  it('is answered when the account waits after wrong codes, and limits clear ends the wait', async () => {
    const tab = service.browser()
    const signIn = () => tab.post('/login', { username: 'ada', password: goodPassword })
    let last = 0
    for (let tries = 0; last !== 429; tries += 1) {
      if (tries % 5 === 0) await signIn()
      last = (await tab.post('/api/auth/second-factor', { code: '000000' })).status
    }
    const shown = await command('user', 'show', 'ada')
    expect(shown.out).toContain('Too many wrong codes: no code of the app works until ')
    expect(await kindsBy('rate_limited')).toContainEqual({ kind: 'rate_limited', reason: 'codes', ip: '127.0.0.1' })

    const cleared = await command('limits', 'clear', '--user', 'ada')
    expect(cleared.out).toMatch(
      /^Cleared these limits: codes of user:[0-9a-f-]+, account of ada \(2 counted\), sign_ins of user:[0-9a-f-]+ \(\d counted\), account_changes of user:[0-9a-f-]+ \(\d counted\), general of session:/,
    )
    expect(cleared.err).toContain(`latchkey limits clear --network ${ofAda}`)
    await signIn()
    expect((await tab.post('/api/auth/second-factor', { code: codes.code() })).status).toBe(200)
    expect(await kindsBy('limits_cleared')).toEqual([
      { kind: 'limits_cleared', reason: 'user: codes account sign_ins account_changes general', ip: 'command line' },
    ])
  })

  it('says so when there is no such user, and safely shows names of strangers', async () => {
    await service.browser().post('/api/auth/register', {
      ...{ username: 'waiting', email: 'waiting@example.com', password: goodPassword },
    })
    const missing = await command('user', 'show', 'waiting')
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('A registration under this name waits') })
    const odd = await command('user', 'show', '\u001b[31mx')
    await service.sql.query(
      `insert into reserved_usernames select $1, 'gracie', id, now() + interval '1 day' from users where username = 'grace'`,
      [usernameKey('gracie')],
    )
    const former = await command('user', 'show', 'Gracie')
    expect(former.err).toMatch(/^There is no user "Gracie". It is a former name of grace: latchkey user show grace/)
    expect(odd.err).toMatch(/^There is no user "\\u001b\[31mx"\. Attempts/)
    const { out } = await command('user', 'show', 'grace')
    expect(out).toContain('Grace \\u202e\\u001b[31mHopper')
    expect(await json('user', 'search', 'HOPPER')).toMatchObject([{ username: 'grace', name: hostile }])
  })
})

describe('limits clear', () => {
  it('lets a network try again, and tells what was counted', async () => {
    expect((await login('ada', goodPassword, ofAda)).status).toBe(429)
    const cleared = await json('limits', 'clear', '--network', ofAda)
    const limits = [{ limit: 'login', subject: ofAda, used: 2 }, { limit: 'network_sign_ins' }, { limit: 'general' }]
    expect(cleared).toMatchObject([{ cleared: limits }])
    expect((await login('ada', goodPassword, ofAda)).status).toBe(202)
    const unknown = await command('limits', 'clear', '--network', '198.51.100.1')
    expect(unknown.out).toBe('Nothing was counted for 198.51.100.1.\n')
  })

  it('takes an IPv6 address as its /64, and clears everything after --yes', async () => {
    for (const end of [1, 2, 3]) await login('grace', 'wrong-Password-1', `2001:db8:7::${end}`)
    expect((await login('grace', goodPassword, ofGrace)).status).toBe(429)
    expect(await command('limits', 'clear', '--all')).toMatchObject({ code: 1, err: expect.stringContaining('--yes') })
    expect((await command('limits', 'clear', '--network', ofGrace)).out).toContain(
      'login of 2001:db8:7::/64 (2 counted)',
    )
    expect((await login('grace', 'wrong-Password-1', ofGrace)).status).toBe(401)
    const all = await command('limits', 'clear', '--all', '--yes')
    expect(all.out).toMatch(/^Cleared .*counters? of login/)
    const opened = await openAsCommand('service role')
    const counters = await opened.limits.openCounters()
    expect(await counters?.keys()).toEqual([])
    await counters?.close()
    await opened.close()
  })

  it('refuses what it does not understand', async () => {
    for (const args of [[], ['--all', '--user', 'ada'], ['--network', 'nowhere']])
      expect((await command('limits', 'clear', ...args)).code).toBe(2)
  })
})

describe('users and their sessions', () => {
  it('are found, and listed with where they are signed in', async () => {
    const found = await command('user', 'search', 'example.com')
    expect(found.out.match(/@example\.com/g)).toHaveLength(2)
    expect(await command('user', 'search', '%')).toMatchObject({ code: 1, err: 'No user matches.\n' })
    expect((await command('user', 'sessions', 'list', 'grace')).out).toMatch(
      /^ID +BEGAN +LAST USED +ADDRESS +DEVICE +PROVEN BY\n.*127\.0\.0\.1.* pwd$/m,
    )
    const session = { ip: '127.0.0.1', methods: ['pwd'], provider: null }
    expect(await json('user', 'sessions', 'list', 'grace')).toMatchObject([session])
    expect(await json('user', 'show', 'grace')).toMatchObject([{ sessions: [session] }])
  })

  it('are not mistaken for a user who has chosen their id as username', async () => {
    const [grace] = await json('user', 'show', 'grace')
    await service.signedUp(grace.id, { email: 'mallory@example.org' })
    for (const args of [
      ['disable', grace.id],
      ['show', grace.id],
    ])
      expect(await command('user', ...args)).toMatchObject({
        code: 1,
        err: `${grace.id} is the id of grace, and mallory@example.org has chosen it as username: name the user by email.\n`,
      })
    expect(await command('user', 'delete', 'mallory@example.org', '--yes')).toMatchObject({ code: 0 })
    expect(await json('user', 'show', grace.id)).toMatchObject([{ username: 'grace' }])
  })

  it('need a reset after expire-password, and are signed out', async () => {
    const tab = service.browser()
    expect((await tab.post('/login', { username: 'grace', password: goodPassword })).status).toBe(200)
    expect(await command('user', 'expire-password', 'grace')).toMatchObject({
      code: 1,
      err: expect.stringContaining('--yes'),
    })
    expect(await json('user', 'expire-password', 'grace', '--yes')).toMatchObject([{ changed: true, sessionsEnded: 2 }])
    expect((await tab.post('/api/auth/refresh')).status).toBe(401)
    expect((await login('grace', goodPassword, '192.0.2.77')).status).toBe(401)
    expect((await command('user', 'show', 'grace')).out).toContain('There is no password')
    expect(await json('user', 'expire-password', 'grace', '--yes')).toMatchObject([{ changed: false }])
    expect(await kindsBy('password_expired')).toHaveLength(1)
    expect((await service.mailTo('grace@example.com', /Choose a new password for/)).text).toContain('/forgot-password')

    await service.browser().post('/reset-password', { email: 'grace@example.com' })
    const token = /#token=([\w-]+)/.exec((await service.mailTo('grace@example.com', /reset-password/)).text)?.[1]
    await service.browser().post('/api/auth/reset-password/confirm', { token, password: `${goodPassword}!` })
    expect((await login('grace', `${goodPassword}!`, '192.0.2.78')).status).toBe(200)
  })

  it('are counted by stats', async () => {
    // The mails of the tests before may still be on their way.
    await expect.poll(async () => (await json('stats'))[0].waiting).toMatchObject({ registrations: 1, mails: 0 })
    const [counts] = await json('stats')
    expect(counts).toMatchObject({ users: { all: 2, new: 2, withTotp: 1 } })
    expect(counts.events).toContainEqual({ kind: 'sign_in_failed', reason: 'no_password', count: 1 })
    const { out } = await command('stats', '--since', '1h')
    expect(out).toMatch(/^users +2$/m)
    expect(out).toMatch(/^ +active in 30 days +2$/m)
  })

  it('count as active on the day on which they used a session, also if it has ended', async () => {
    const shift = async (name: string, time: string) => {
      const ofUser = 'user_id = (select id from users where username = $1)'
      const moved = `update sessions set last_used_at = now() - $2::interval where ${ofUser}`
      await service.sql.query(moved, [name, time])
      // Only the owner of the tables can do this.
      await service.sql.query('alter table events disable trigger event_changed')
      await service.sql.query(`delete from events where ${ofUser}`, [name])
      await service.sql.query('alter table events enable trigger event_changed')
    }
    const active = async () => (await json('stats'))[0].users.active
    expect(await active()).toEqual({ days1: 2, days7: 2, days30: 2 })
    await shift('grace', '3 days')
    expect(await active()).toEqual({ days1: 1, days7: 2, days30: 2 })
    await shift('grace', '31 days')
    expect(await active()).toEqual({ days1: 1, days7: 1, days30: 1 })
    const eve = await service.signedUp('eve')
    await eve.act('/api/auth/logout-all', {})
    expect(await active()).toEqual({ days1: 2, days7: 2, days30: 2 })
  })

  it('can have their data without signing in, and an export of all says whose second step does not move', async () => {
    const [data] = await json('user', 'export', 'ada')
    expect(data).toMatchObject({
      account: { username: 'ada', email: 'ada@example.com', hasPassword: true },
      factors: { totp: { createdAt: expect.any(String) } },
      sessions: expect.arrayContaining([expect.objectContaining({ methods: expect.any(Array) })]),
    })
    expect(JSON.stringify(data)).not.toMatch(/\$2[aby]\$/)
    expect(await kindsBy('users_exported')).toEqual([
      { kind: 'users_exported', reason: 'data of this user', ip: 'command line' },
    ])
    await command('user', 'disable', 'grace')
    expect((await json('user', 'export', 'GRACE@example.com'))[0].account.username).toBe('grace')
    await command('user', 'enable', 'grace')
    expect(await command('user', 'export', 'ada', '--format', 'csv')).toMatchObject({ code: 2 })
    expect(await command('user', 'export', 'nobody')).toMatchObject({ code: 1, out: '' })
    expect((await command('user', 'export')).err).toBe(
      'Exported 3 users. 1 user of them has a second step or a passkey, which is not in the file.\n',
    )
  })

  it('are all signed out by sessions end --all', async () => {
    await service.signedUp('mary')
    await service.signedUp('jean')
    expect((await command('sessions', 'end')).code).toBe(2)
    expect(await command('sessions', 'end', '--all')).toMatchObject({ code: 1, err: expect.stringContaining('--yes') })
    const [{ sessionsEnded }] = await json('sessions', 'end', '--all', '--yes')
    expect(sessionsEnded).toBeGreaterThan(1)
    expect(await service.sql.query('select 1 from sessions')).toEqual([])
    expect(await kindsBy('sessions_ended')).toEqual([
      { kind: 'sessions_ended', reason: 'all users', ip: 'command line' },
    ])
  })
})

describe('a name that a shell would read', () => {
  const name = '$(id)'
  const show = () => command('user', 'show', name).then(({ out }) => out)
  const clear = () => command('limits', 'clear', '--user', name).then(({ out }) => out)

  it('is quoted in the commands that an operator copies, and its limits are cleared and counted together', async () => {
    const tab = await service.signedUp('odd', { email: 'odd@example.com' })
    // No user can choose such a name; an import can bring one.
    const names = [name, usernameKey(name)]
    await service.sql.query("update users set username = $1, username_key = $2 where username = 'odd'", names)
    await tab.act('/api/auth/email', { email: 'odder@example.com' })
    await tab.post('/login', { username: name, password: 'wrong-Password-1' }, { address: '192.0.2.99' })
    const guesses = [name, name, name, name, name, 'odd@example.com']
    const answers: number[] = []
    for (const [at, typed] of guesses.entries())
      answers.push((await login(typed, 'wrong-Password-1', `192.0.2.${100 + at}`)).status)
    expect(answers).toEqual([401, 401, 401, 401, 429, 401])
    expect(await show()).toContain("latchkey limits clear --user '$(id)'")

    const cleared = await clear()
    expect(cleared).toContain('Cleared these limits: account of $(id) (5 counted), ')
    expect(cleared).toMatch(/known of user:\S+ \(1 counted\), .*email_changes of user:\S+ \(1 counted\)/)
    // A right password counts as a sign-in only.
    expect((await login(name, goodPassword, '192.0.2.110')).status).toBe(200)
    expect(await clear()).toMatch(/^Cleared these limits: sign_ins of user:\S+ \(1 counted\)\.\n$/)
    expect(await clear()).toBe('Nothing was counted for $(id).\n')
    // It is still known afterwards that the ceiling of the name has refused it.
    expect(await show()).toMatch(/rate_limited +account +\$\(id\) +192\.0\.2\.104/)
    await command('user', 'disable', name)
    expect(await show()).toContain("latchkey user enable '$(id)'")
  })
})

it('a user gets a link to choose a password, which a lock-down voids', async () => {
  await service.signedUp('lola')
  const sent = await command('user', 'send-reset', 'lola')
  expect(sent.out).toBe('A running service mails lola a link to choose a new password.\n')
  await service.mailTo('lola@example.com', /reset-password#token=/)
  expect((await command('user', 'lock-down', 'lola')).out).toBe('Locked lola down; ended 1 session.\n')
  const ofUser = 'user_id = (select id from users where username = $1)'
  expect(await service.sql.query(`select 1 from one_time_tokens where ${ofUser}`, ['lola'])).toEqual([])
  const refused = await command('user', 'send-reset', 'lola')
  expect([refused.code, refused.err]).toEqual([1, 'lola is disabled, and could not use the link. Nothing was sent.\n'])
  const mistaken = await command('user', 'enable', 'lola', '--keep-password', '--json')
  expect(JSON.parse(mistaken.out)).toMatchObject({ changed: true, resetSent: false })
  const password = 'select password_hash is not null as kept from users where username = $1'
  expect(await service.sql.query(password, ['lola'])).toEqual([{ kept: true }])
  await command('user', 'lock-down', 'lola')
  expect((await command('user', 'enable', 'lola')).out).toBe(
    'Enabled lola. The account was locked down: a running service mails a link to choose a new password.\n',
  )
  expect(await service.sql.query(password, ['lola'])).toEqual([{ kept: false }])
})

it('enable after a lock-down says who can take the account back, and mails no link to an address that a thief may have chosen', async () => {
  await createEmailChanges(service).change(await service.signedUp('mona'), 'mona-new@example.net')
  await command('user', 'lock-down', 'mona')
  expect((await command('user', 'enable', 'mona')).out).toBe(
    'Enabled mona. The account was locked down, its address was changed shortly before, and mona@example.com can still take it back with “This was not me”: no link to choose a new password is mailed. If mona-new@example.net is the right address, send it with `latchkey user send-reset mona`; if not, use `latchkey user recover mona EMAIL`.\n',
  )
  const resets = () =>
    service.sql.query(
      `select 1 from outgoing_mail where recipient = 'mona-new@example.net' and kind = 'reset-password'`,
    )
  expect(await resets()).toEqual([])
  const { out } = await command('user', 'show', 'mona')
  expect(out).toContain('latchkey user send-reset mona')
  await command('user', 'lock-down', 'mona')
  const output = JSON.parse((await command('user', 'enable', 'mona', '--json')).out)
  expect(output).toMatchObject({ resetSent: false, formerOwner: 'mona@example.com' })
  expect((await command('user', 'send-reset', 'mona')).code).toBe(0)
  expect(await resets()).toHaveLength(1)
})

it('limits clear names a network only if a limit has refused it, and not for an attempt under the name of the user', async () => {
  await login('newcomer', 'wrong-Password-1', '198.51.100.7')
  await service.signedUp('newcomer')
  expect((await command('limits', 'clear', '--user', 'newcomer')).err).not.toContain('198.51.100.7')
})

it('without Redis the commands read and clear the counters in PostgreSQL', async () => {
  const settings = { REDIS_URL: '', LOGIN_LIMIT: '2/15m', ACCOUNT_LIMIT: '4/1h' }
  const own = await startLatchkey({ settings })
  const run = (...args: string[]) => latchkey({ openRooms: (role) => openRoomsForCommand(own.config, role) }, args)
  const guess = async (address: string) =>
    (await own.browser().post('/login', { username: 'ada', password: 'wrong' }, { address })).status
  try {
    const tab = await own.signedUp('ada')
    await tab.post('/login', { username: 'ada', password: goodPassword })
    await tab.post('/login', { username: 'ada', password: 'wrong' })
    for (const address of [ofAda, ofAda, ofGrace, ofGrace]) expect(await guess(address)).toBe(401)
    expect([await guess(ofAda), await guess('192.0.2.3')]).toEqual([429, 429])
    const { out } = await run('user', 'show', 'ada')
    expect(out).toContain(`The limit "login" refuses ${ofAda} until `)
    expect(out).toContain('latchkey limits clear --user ada')

    const ofUser = (await run('limits', 'clear', '--user', 'ada')).out
    expect(ofUser).toContain('account of ada (4 counted)')
    expect(ofUser).toContain('device of known browsers of ada (1 counted)')
    expect(await guess('192.0.2.3')).toBe(401)
    const ofNetwork = await run('limits', 'clear', '--network', ofAda)
    expect(ofNetwork.out).toMatch(`Cleared these limits: login of ${ofAda} (2 counted)`)
    expect(await guess(ofAda)).toBe(401)
    const ofAll = await run('limits', 'clear', '--all', '--yes')
    expect(ofAll).toMatchObject({ err: '', out: expect.stringMatching(/^Cleared .*counters? of login/) })
    expect(await run('limits', 'clear', '--all', '--yes')).toMatchObject({ out: 'Nothing was counted.\n' })
  } finally {
    await own.stop()
  }
})
