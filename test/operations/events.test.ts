import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../src/commands/commands.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { testPostgres, testServerUrl } from '../support/databases.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { latchkey } from '../support/terminal.js'
import { until } from '../support/until.js'

const secret = 'b7'.repeat(10) + Array.from({ length: 60 }, (_, at) => ((at * 7) % 36).toString(36)).join('')
/** A person in a hurry typed the password into the first field. */
const slip = 'my-Secret-91-lantern'
const [ofAda, ofStranger, ofGrace] = ['192.0.2.1', '192.0.2.2', '192.0.2.3']

type Shown = {
  time: string
  kind: string
  reason: string | null
  username: string | null
  requestId: string
  ip: string
}

let service: Latchkey
const command = (...args: string[]) =>
  latchkey({ openRooms: (role) => openRoomsForCommand(service.config, role) }, args)
const shown = async (...args: string[]) => {
  const { out, code } = await command('events', '--json', ...args)
  expect(code).toBe(0)
  return out
    .split('\n')
    .filter(Boolean)
    .map((line): Shown => JSON.parse(line))
}
const login = (username: string, password: string, address: string) =>
  service.browser().post('/login', { username, password }, { address })

beforeAll(async () => {
  const settings = { JWT_SECRET: secret, LOGIN_LIMIT: '3/15m', SENSITIVE_LIMIT: '1/1h' }
  service = await startLatchkey({ settings })
  await service.signedUp('ada')
  await service.registered('grace')
  await login('ADA@example.com', 'wrong-Password-1', ofAda)
  await login('ada', 'wrong-Password-1', ofAda)
  await login('ada', 'wrong-Password-1', ofAda)
  for (const _ of [1, 2, 3, 4, 5]) await login('ada', goodPassword, ofAda)
  await login(slip, goodPassword, ofStranger)
  for (const _ of [1, 2])
    await service.browser().post('/reset-password', { email: 'nobody@example.com' }, { address: ofStranger })
})
afterAll(() => service.stop())

describe('why a user could not sign in', () => {
  it('is answered by one command', async () => {
    const { code, out, err } = await command('events', '--user', 'ada', '--since', '1h')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const lines = out.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^TIME +KIND +REASON +USER +ADDRESS +REQUEST$/)
    const told = lines.slice(1).map((line) => line.split(/ {2,}/).slice(1, -1))
    expect(told.filter(([, , , address]) => address === ofAda)).toEqual([
      ['sign_in_failed', 'wrong_password', 'ada', ofAda],
      ['sign_in_failed', 'wrong_password', 'ada', ofAda],
      ['sign_in_failed', 'wrong_password', 'ada', ofAda],
    ])
    // Five requests were refused and one event says so; it names no user, because no body was read.
    expect(told.filter(([kind]) => kind === 'rate_limited')).toEqual([['rate_limited', 'login', ofAda]])
    expect(out).not.toContain(ofStranger)
  })

  it('is answered by the log in the same words, under the same request id', async () => {
    const events = (await shown('--user', 'ada')).filter(({ ip }) => ip === ofAda)
    const logged = service.logLines.map((line): Record<string, unknown> => JSON.parse(line))
    expect(events).toHaveLength(4)
    for (const { requestId, kind, reason, username, ip } of events) {
      expect(requestId).toMatch(/^[\da-f-]{36}$/)
      const lines = logged.filter((line) => line.requestId === requestId)
      const status = kind === 'rate_limited' ? 429 : 401
      expect(lines).toMatchObject([
        { msg: 'event', kind, reason, ip, ...(username !== null && { username }) },
        { msg: 'request', path: '/login', status, ...(status === 401 && { refused: 'invalid_credentials' }) },
      ])
    }
  })

  it('does not show the events of others, and all of them without a name', async () => {
    expect((await shown('--user', 'grace')).map(({ kind }) => kind)).toEqual(['registered'])
    const all = await shown()
    expect(all.map(({ username }) => username)).toContain('grace')
    expect(all.map(({ time }) => time)).toEqual(all.map(({ time }) => time).sort())
    expect(await shown('--kind', 'sign_in_failed', '--limit', '2')).toHaveLength(2)
    expect(await shown('--since', '2001-01-01', '--until', '2001-01-02')).toEqual([])
    for (const early of ['1969-01-01', '9999999d']) expect(await shown('--since', early)).toEqual(all)
  })

  it('is found by the reference that a page has shown, or by the whole id of the request', async () => {
    const [event] = await shown('--kind', 'rate_limited', '--ip', ofAda)
    const id = event?.requestId ?? ''
    for (const request of [id, id.slice(0, 8), id.slice(0, 8).toUpperCase()])
      expect(await shown('--request', request)).toEqual([event])
    expect(await shown('--user', 'ada', '--request', id)).toEqual([event])
    expect(await shown('--request', '00000000')).toEqual([])
    expect(await command('events', '--request', 'abc%')).toMatchObject({
      code: 2,
      err: expect.stringContaining('first eight'),
    })
  })

  it('takes a network for an address, and several kinds', async () => {
    const from = async (...args: string[]) => new Set((await shown(...args)).map(({ ip }) => ip))
    expect(await from('--ip', '192.0.2.0/24')).toEqual(new Set([ofAda, ofStranger]))
    expect(await from('--ip', '192.0.2.2/31')).toEqual(new Set([ofStranger]))
    expect(await from('--ip', '2001:db8::/32')).toEqual(new Set())
    expect(await from('--user', 'ada', '--ip', '0.0.0.0/1')).toEqual(new Set(['127.0.0.1']))
    const kinds = (await shown('--kind', 'registered,rate_limited')).map(({ kind }) => kind)
    expect(new Set(kinds)).toEqual(new Set(['registered', 'rate_limited']))
  })

  it('leaves one event when the limit of reset mails is reached', async () => {
    expect(await shown('--kind', 'rate_limited')).toMatchObject([
      { reason: 'login', ip: ofAda },
      { reason: 'sensitive', ip: ofStranger },
    ])
  })
})

describe('a name that belongs to no account', () => {
  it('is nowhere, since it may be a password; an operator who knows it can find the attempts', async () => {
    const rows = await service.sql.query('select row_to_json(events)::text as text from events')
    expect(JSON.stringify(rows)).not.toContain(slip)
    expect(service.logLines.join('')).not.toContain(slip)
    const { out, err } = await command('events', '--user', ` ${slip.toUpperCase()}`)
    expect(err).toContain('There is no user')
    expect(out).toMatch(/sign_in_failed {2}unknown_user {2}unknown \([\da-f]{12}\) {2}192\.0\.2\.2/)
    expect(out.trimEnd().split('\n')).toHaveLength(2)
    expect((await command('events', '--user', 'another-name')).out).toBe('There are no such events.\n')
  })
})

describe('what an operator does', () => {
  it('leaves an event that names the command line', async () => {
    await command('user', 'disable', 'grace')
    await login('grace', goodPassword, ofGrace)
    await command('user', 'enable', 'grace')
    await command('user', 'sessions', 'end', 'grace')
    await latchkey({ openRooms: (role) => openRoomsForCommand(service.config, role) }, ['user', 'import', '-'], {
      input: 'email\nalan@example.com\nbad\n',
    })
    await command('user', 'export')
    const [, ...after] = await shown('--user', 'grace')
    expect(after.map(({ kind, reason, ip }) => [kind, reason, ip])).toEqual([
      ['user_disabled', null, 'command line'],
      ['sign_in_failed', 'disabled', ofGrace],
      ['user_enabled', null, 'command line'],
      ['sessions_ended', null, 'command line'],
    ])
    const others = (await shown()).filter(({ kind }) => kind.startsWith('users_'))
    expect(others.map(({ kind, reason, ip }) => [kind, reason, ip])).toEqual([
      ['users_imported', '1 added, 0 existed, 1 refused', 'command line'],
      ['users_exported', 'all users', 'command line'],
    ])
  })
})

describe('“I did not get the mail”', () => {
  type Mail = { state: string; kind: string; username: string | null; attempts: number | null; reason: string | null }
  const mailsOf = async (...args: string[]) => {
    const { out, code } = await command('mails', 'list', '--json', ...args)
    expect(code).toBe(0)
    return out
      .split('\n')
      .filter(Boolean)
      .map((line): Mail => JSON.parse(line))
  }

  it('is answered by one command: what was accepted, what waits and why', async () => {
    const grace = await service.app.rooms.users.findByLogin('grace')
    if (!grace) throw new Error('grace is missing')
    await service.sql.query(
      `insert into outgoing_mail (id, recipient_key, recipient, user_id, kind, content, attempts, created_at, next_attempt_at, last_error)
       values (gen_random_uuid(), 'grace@example.com', 'grace@example.com', $1, 'new-device', '', 2, now(), now() + interval '1 hour',
         'The mail server mail.example.com:587 did not take the mail: ETIMEDOUT')`,
      [grace.id],
    )
    // The event is written a moment after the mail was taken.
    await expect.poll(() => mailsOf('--user', 'grace')).toHaveLength(2)
    expect(await mailsOf('--user', 'grace')).toMatchObject(
      [
        { state: 'waits', kind: 'new-device', username: 'grace', attempts: 2, reason: /ETIMEDOUT/ },
        // There was no account yet: the address leads to it.
        { state: 'accepted', kind: 'verify-email', username: null, reason: null },
      ].map(({ reason, ...mail }) => ({ ...mail, reason: reason && expect.stringMatching(reason) })),
    )
    expect(await mailsOf('--user', 'nobody@example.com')).toEqual([])
    const { out } = await command('mails', 'list')
    expect(out).toMatch(/^TIME +STATE +KIND +USER +ATTEMPTS +NEXT ATTEMPT +REASON\n.* waits +new-device +grace +2 /)
    expect(out).not.toContain('@example')
    await service.sql.query("delete from outgoing_mail where kind = 'new-device'")
  })
})

describe('the events command', () => {
  it('says what is wrong with an option', async () => {
    expect(await command('events', '--kind', 'nonsense')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--kind takes one or more, with commas between them, of registered,'),
    })
    for (const network of ['192.0.2.0/33', '192.0.2/24', '2001:db8::/129', '192.0.2.0/', '192.0.2.0/24/1'])
      expect(await command('events', '--ip', network)).toMatchObject({
        code: 2,
        err: expect.stringContaining('a network such as 192.0.2.0/24'),
      })
    for (const since of ['yesterday', '999999999999999d'])
      expect(await command('events', '--since', since)).toMatchObject({
        code: 2,
        err: expect.stringContaining('--since takes a time'),
      })
    expect(await command('events', '--limit', '0')).toMatchObject({ code: 2 })
  })
})

it('gives a command time for a large table, and lets it wait for a lock no longer than a request', async () => {
  const nouns = await openRoomsForCommand(service.config, 'service role')
  const shown = `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock`
  const [timeouts] = await nouns.database.query(shown)
  await nouns.close()
  expect(timeouts).toEqual({ statement: '10min', lock: '5s' })
})

describe('events --follow', () => {
  const follow = (...args: string[]) => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const said = { out: '', err: '' }
    stdout.on('data', (chunk: Buffer) => {
      said.out += chunk.toString()
    })
    stderr.on('data', (chunk: Buffer) => {
      said.err += chunk.toString()
    })
    const others = process.listeners('SIGINT')
    const ended = runCommand(['events', '--follow', ...args], {
      stdin,
      stdout,
      stderr,
      environment: {},
      envFileRemarks: [],
      settings: async () => ({}),
      openRooms: (role) => openRoomsForCommand(service.config, role),
    })
    const pressCtrlC = () => {
      for (const listener of process.listeners('SIGINT')) if (!others.includes(listener)) listener('SIGINT')
    }
    return { said, ended, stdout, pressCtrlC, listens: () => process.listenerCount('SIGINT') > others.length }
  }

  it('shows new events, waits for a database that is away, and ends on Ctrl-C', async () => {
    const { said, ended, pressCtrlC } = follow('--kind', 'sign_in_failed', '--since', '0s')
    await login('nobody-1', goodPassword, '192.0.2.90')
    await until('the event is shown', () => said.out.includes('192.0.2.90'))
    expect(said.out).toMatch(/^TIME +KIND +REASON +USER +ADDRESS +REQUEST\n/)

    const admin = testPostgres(testServerUrl())
    const name = new URL(service.config.databaseUrl ?? '').pathname.slice(1)
    await admin.query(`alter database "${name}" with allow_connections false`)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    await until('the command waits', () => said.err !== '')
    expect(said.err).toBe('The database cannot be reached. Waiting for it; no event is lost.\n')
    await admin.query(`alter database "${name}" with allow_connections true`)
    await admin.close()
    await until('the service is back', async () => (await login('nobody-2', goodPassword, '192.0.2.91')).status === 401)
    await until('the next event is shown', () => said.out.includes('192.0.2.91'))
    expect(said.out.match(/192\.0\.2\.90/g)).toHaveLength(1)
    pressCtrlC()
    expect(await ended).toBe(130)
  })

  it('says that older events are left out if there are more than it reads at once', async () => {
    await service.sql.query(
      `insert into events (id, kind, ip, user_agent, created_at, log_pending)
       select (substr(e.id::text, 1, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid, 'content_loaded', '192.0.2.99', '', e.created_at, false
       from (select id, created_at from events order by id desc limit 1) as e, generate_series(1, 10001)`,
    )
    const { said, ended, pressCtrlC } = follow('--kind', 'content_loaded', '--since', '1h')
    await until('it says so', () => said.err !== '')
    expect(said.err).toBe('Older events are not shown: use --until, without --follow.\n')
    expect(said.out.match(/192\.0\.2\.99/g)).toHaveLength(10_000)
    pressCtrlC()
    expect(await ended).toBe(130)
  })

  it('ends when its output is closed, and takes no end', async () => {
    const closed = follow('--json', '--since', '1h')
    closed.stdout.destroy(Object.assign(new Error('closed'), { code: 'EPIPE' }))
    expect(await closed.ended).toBe(0)
    expect((await command('events', '--follow', '--until', '1h')).code).toBe(2)
  })
})
