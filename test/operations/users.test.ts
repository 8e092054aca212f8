import { PassThrough, Writable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { commandNames, runCommand } from '../../src/commands/commands.js'
import { systemClock as clock } from '../../src/lib/clock.js'
import { days } from '../../src/lib/durations.js'
import { randomToken } from '../../src/lib/random.js'
import { uuidv7 } from '../../src/lib/uuid.js'
import { createSessions } from '../../src/sessions/sessions.js'
import { createTokens } from '../../src/sessions/tokens.js'
import { loadConfig } from '../../src/settings/config.js'
import { goodPassword } from '../support/latchkey.js'
import { builtVersion } from '../support/project.js'
import { passwordFacts, unchecked } from '../support/session-facts.js'
import { type CommandStore, noStore, openCommandStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

const ada = ['user', 'add', '--email', 'ada@example.com', '--username', 'ada', '--name', 'Ada Lovelace']
const piped = { input: `${goodPassword}\n` }
type Stored = { id: string; name: string | null; password_hash: string; disabled: boolean }

describe('users from the command line', () => {
  let store: CommandStore

  beforeAll(async () => {
    store = await openCommandStore()
  })
  afterAll(() => store.drop())
  beforeEach(() => store.database.query('delete from users'))

  const stored = () =>
    store.database.query<Stored>('select id, name, password_hash, disabled_at is not null as disabled from users')

  const signIn = async (id = '') => {
    const tokens = createTokens({ secrets: [randomToken() + randomToken()], clock, issuer: 'https://app.example.com' })
    const { database } = store
    const { lifetimes, refreshGrace, renewGrace } = loadConfig({ NODE_ENV: 'test' })
    const graces = { refreshGrace, renewGrace }
    const tools = { database, tokens, clock, lifetimes, graces, onEnded: () => undefined }
    const { beginSession } = createSessions(tools, () => false)
    const client = { ip: '127.0.0.1', userAgent: '' }
    await database.transaction((sql) => beginSession(sql, unchecked({ id }), passwordFacts, client))
  }
  const sessions = async () => (await store.database.query('select 1 from sessions')).length

  it('fields purge deletes the values of many users in small transactions', async () => {
    await store.database.query(
      `insert into users (id, email, email_key, username, username_key, created_at, fields)
       select gen_random_uuid(), n || '@many.example', n || '@many.example', 'many' || n, 'many' || n, now(), '{"gone": "x", "team": "y"}'
       from generate_series(1, 1001) as n`,
    )
    const purged = await latchkey(store, ['fields', 'purge', 'gone', '--yes'])
    expect(purged.out).toBe('Deleted the value of 1,001 users.\n')
    const left = await store.database.query(
      `select fields::text, count(*)::int as users, count(distinct xmin::text)::int as transactions
       from users group by fields::text`,
    )
    expect(left).toEqual([{ fields: '{"team": "y"}', users: 1001, transactions: 3 }])
    const mistyped = await latchkey(store, ['fields', 'purge', 'taem', '--yes'])
    expect(mistyped).toMatchObject({ code: 1, out: '', err: expect.stringContaining('No user has a value of "taem"') })
  })

  it('adds one whose password is piped in', async () => {
    const { code, out, err } = await latchkey(store, [...ada, '--password-stdin'], piped)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const [user] = await stored()
    expect(out).toBe(`Added ada (${user?.id}).\n`)
    expect(user).toMatchObject({ name: 'Ada Lovelace', password_hash: expect.stringMatching(/^\$2b\$10\$/) })
  })

  it('asks for the password twice at a terminal, never shows it, and puts the terminal back', async () => {
    const slipped = `${goodPassword}x\u007f\r`
    const { code, out, err, modes } = await latchkey(store, ada, { typed: [slipped, `${goodPassword}\r`] })
    expect(code).toBe(0)
    expect(err).toBe('Password: \nRepeat the password: \n')
    expect(out).not.toContain(goodPassword)
    expect(modes).toEqual([true, false, true, false])
  })

  it('adds no user when the two differ, when the person gives up, or when there is no terminal to ask at', async () => {
    const differing = await latchkey(store, ada, { typed: [`${goodPassword}\r`, `${goodPassword}!\r`] })
    expect(differing).toMatchObject({ code: 1, err: expect.stringContaining('not the same') })
    const interrupted = await latchkey(store, ada, { typed: ['half\u0003'] })
    expect(interrupted).toMatchObject({ code: 1, modes: [true, false] })
    const ended = await latchkey(store, ada, { typed: ['\u0004'] })
    expect(ended).toMatchObject({ code: 1, err: 'Password: \nNo password was given.\n' })
    const blind = await latchkey(store, ada, piped)
    expect(blind).toMatchObject({ code: 1, err: expect.stringContaining('--password-stdin') })
    expect(await stored()).toEqual([])
  })

  it('takes one line of UTF-8 as the password, and a name as long as the API takes it', async () => {
    const add = (input: string | Buffer, name = 'Ada') =>
      latchkey(store, [...ada.slice(0, -1), name, '--password-stdin'], { input })
    expect((await add(Buffer.from([...Buffer.from(goodPassword), 0xe9]))).err).toContain('The input is not UTF-8 text.')
    expect((await add(`${goodPassword}\n${goodPassword}\n`)).err).toBe(
      'Standard input has several lines: give the password alone, on one line.\n',
    )
    expect((await add(goodPassword, 'x'.repeat(201))).err).toContain('at most 200 characters')
    expect(await stored()).toEqual([])
    expect((await add(goodPassword, '𝕏'.repeat(200))).code).toBe(0)
  })

  it('holds the password to the rules, and says which it breaks', async () => {
    const { code, err } = await latchkey(store, [...ada, '--password-stdin'], { input: 'short' })
    expect(code).toBe(1)
    expect(err).toContain('Password must be at least 8 characters\nPassword must contain uppercase letters\n')
    const own = await latchkey(store, [...ada, '--password-stdin'], { input: 'Ada-Lovelace-1' })
    expect(own).toMatchObject({ code: 1, err: expect.stringContaining('Password is too weak') })
    expect(await stored()).toEqual([])
  })

  it('adds no user under a name or address that is taken or cannot be one', async () => {
    await latchkey(store, [...ada, '--password-stdin'], piped)
    const add = (email: string, username: string) =>
      latchkey(store, ['user', 'add', '--email', email, '--username', username, '--password-stdin'], piped)
    expect((await add('ADA@example.com', 'other')).err).toMatch(/^The email already has an account/)
    expect((await add('other@example.com', 'ADA')).err).toBe('The username is taken.\n')
    expect((await add('nonsense', 'x')).err).toContain('Email must be')
    expect((await add('x@example.com', 'a@b')).err).toContain('Username must not contain @')
    expect(await stored()).toHaveLength(1)
    const german = [
      'user',
      'add',
      '--email',
      'g@example.com',
      '--username',
      'gerda',
      '--language',
      'de',
      '--password-stdin',
    ]
    expect((await latchkey(store, german, piped)).code).toBe(0)
    expect(await store.database.query("select language from users where username = 'gerda'")).toEqual([
      { language: 'de' },
    ])
  })

  it('lists them a page at a time, for people and for programs', async () => {
    const rows = ['ada', 'grace', 'alan'].map((name) =>
      JSON.stringify({ email: `${name}@example.com`, disabled: name === 'alan' }),
    )
    expect((await latchkey(store, ['user', 'list'])).out).toBe('There are no users.\n')
    await latchkey(store, ['user', 'import', '-'], { input: rows.join('\n') })
    const first = await latchkey(store, ['user', 'list', '--limit', '2', '--json'])
    const page = first.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; has_password: boolean })
    expect(page).toHaveLength(2)
    expect(page[0]).toMatchObject({ has_password: false, disabled: expect.any(Boolean) })
    expect(first.err).toBe(`There are more users: continue with --after ${page[1]?.id}\n`)
    const last = await latchkey(store, ['user', 'list', '--after', page[1]?.id ?? ''])
    expect(last.out.trimEnd().split('\n')).toHaveLength(2)
    expect(last.out).toMatch(/^ID +USERNAME +EMAIL +SIGNS IN WITH +CREATED +STATE\n/)
    expect(last.err).toBe('')
  })

  it('lists those to whom filters apply', async () => {
    const names = ['ada', 'grace', 'alan', 'eve']
    const rows = names.map((name) =>
      JSON.stringify({ email: `${name}@example.com`, disabled: name === 'alan', created_at: '2024-01-01T00:00:00Z' }),
    )
    await latchkey(store, ['user', 'import', '-'], { input: rows.join('\n') })
    const idOf = async (name: string) =>
      (await store.database.query<{ id: string }>('select id from users where username = $1', [name]))[0]?.id ?? ''
    const sql = store.database
    await signIn(await idOf('ada'))
    await sql.query('insert into totp_secrets select id, $1, now(), 0 from users where username = $2', ['x', 'ada'])
    // Signed in last week, and signed out again: there is no session, only what was recorded.
    await sql.query(
      `insert into events (id, kind, user_id, username, session_id, ip, user_agent, created_at)
       select $1, 'signed_in', id, username, id, '192.0.2.1', '', now() - interval '7 days' from users where username = 'eve'`,
      [uuidv7(new Date(Date.now() - 7 * days))],
    )
    const listed = async (...filters: string[]) => {
      const { out, code } = await latchkey(store, ['user', 'list', '--json', ...filters])
      expect(code).toBe(0)
      const lines = out.split('\n').filter(Boolean)
      return lines.map((line) => (JSON.parse(line) as { username: string }).username).sort()
    }
    expect(await listed('--disabled')).toEqual(['alan'])
    expect(await listed('--no-second-factor')).toEqual(['alan', 'eve', 'grace'])
    expect(await listed('--unused-since', '30d')).toEqual(['alan', 'grace'])
    expect(await listed('--unused-since', '3d')).toEqual(['alan', 'eve', 'grace'])
    expect(await listed('--unused-since', '30d', '--no-second-factor', '--disabled')).toEqual(['alan'])
    await sql.query('update users set created_at = now()')
    expect((await latchkey(store, ['user', 'list', '--unused-since', '30d'])).out).toBe('No user matches.\n')
    expect(await latchkey(store, ['user', 'list', '--unused-since', '91d'])).toMatchObject({ code: 2 })
  })

  it('disables and enables one by name, address or id, and ends their sessions', async () => {
    await latchkey(store, [...ada, '--password-stdin'], piped)
    const [user] = await stored()
    await signIn(user?.id)
    await signIn(user?.id)
    expect((await latchkey(store, ['user', 'disable', 'ADA'])).out).toBe('Disabled ada; ended 2 sessions.\n')
    expect((await latchkey(store, ['user', 'disable', 'ada'])).out).toBe(
      'ada was disabled already; ended 0 sessions.\n',
    )
    expect(await stored()).toMatchObject([{ disabled: true }])
    expect(await sessions()).toBe(0)
    expect((await latchkey(store, ['user', 'enable', 'Ada@Example.com'])).out).toBe('Enabled ada.\n')
    expect(await stored()).toMatchObject([{ disabled: false }])
    await signIn(user?.id)
    expect((await latchkey(store, ['user', 'sessions', 'end', user?.id ?? ''])).out).toBe('Ended 1 session of ada.\n')
    expect(await sessions()).toBe(0)
  })

  it('says so when there is no such user', async () => {
    for (const verb of [['disable'], ['enable'], ['lock-down'], ['send-reset'], ['sessions', 'end']]) {
      const { code, err } = await latchkey(store, ['user', ...verb, 'nobody'])
      expect({ code, err }).toEqual({ code: 1, err: 'There is no user "nobody".\n' })
    }
  })
})

describe('a command whose output cannot be written', () => {
  const failing = (code: string) =>
    new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) })
  const run = async (args: string[], stdout: Writable) => {
    const stderr = new PassThrough()
    const environment = { NODE_ENV: 'production' }
    const settings = async () => environment
    const context = { ...noStore, stdin: new PassThrough(), stdout, stderr, environment, envFileRemarks: [], settings }
    const code = await runCommand(args, context)
    return { code, err: String(stderr.read() ?? '') }
  }

  it('says so in one line and fails, or ends quietly when its reader has seen enough', async () => {
    const full =
      'The output could not be written: no space is left there. If the command changes something, that may have been done.\n'
    for (const args of [['--help'], ['user', '--help'], ['doctor']])
      expect(await run(args, failing('ENOSPC'))).toEqual({ code: 1, err: full })
    expect(await run(['--help'], failing('EPIPE'))).toEqual({ code: 0, err: '' })
    expect(await run(['doctor'], failing('EPIPE'))).toEqual({ code: 1, err: '' })
    // It is shown only once.
    const key = await run(['service-key', 'add', '--help'], failing('EPIPE'))
    expect(key).toEqual({ code: 1, err: full.replace('no space is left there', 'nothing reads it') })
  })
})

describe('a command that is called wrongly', () => {
  it.each([
    [['user', 'add', '--email', 'a@example.com'], '--email and --username are needed'],
    [['user', 'add', '--email', 'a@b.test', '--username', 'a', '--language', 'xx'], '--language takes one of en'],
    [['user', 'add', '--password', 'x'], "Unknown option '--password'"],
    [['user', 'list', '--limit', '0'], '--limit takes a number from 1 to 1000'],
    [['user', 'list', '--after', 'x'], '--after takes the id of a user'],
    [['user', 'disable'], 'USER is missing'],
    [['user', 'show', ''], 'USER is missing'],
    [['events', '--user', ''], '--user is empty'],
    [['events', '--ip', 'nonsense'], '--ip takes an IPv4 or IPv6 address'],
    [['events', '--since', '1h', '--until', '2h'], '--since is later than --until'],
    [['user', 'sessions', 'end'], 'USER is missing'],
    [['user', 'export', '--format', 'xml'], '--format takes jsonl or csv'],
    [['user', 'export', '--format', 'csv', '--json'], 'leave one of them out'],
  ])('%j is answered with what is wrong, before any store is opened', async (args, sentence) => {
    const { code, err } = await latchkey(noStore, args)
    expect(code).toBe(2)
    expect(err).toContain(sentence)
    expect(err).toContain('--help')
  })

  it('is refused in one line when its name is unknown', async () => {
    for (const args of [['user', 'destroy'], [], ['__proto__']]) {
      const { code, out, err } = await latchkey(noStore, args)
      expect({ code, out, err }).toEqual({
        code: 2,
        out: '',
        err: `There is no command "${args.join(' ')}". Try: latchkey --help\n`,
      })
    }
  })

  it('lists the commands of a family when no more than that is named', async () => {
    const family = commandNames.filter((name) => name.startsWith('user '))
    const { code, out, err } = await latchkey(noStore, ['user'])
    expect({ code, out, lines: err.trimEnd().split('\n').length }).toEqual({ code: 2, out: '', lines: family.length })
    expect((await latchkey(noStore, ['user', 'factors'])).err).toMatch(/^ {2}latchkey user factors reset .*\n$/)
    expect((await latchkey(noStore, ['user', '--help', 'add'])).out).toBe(
      (await latchkey(noStore, ['user', 'add', '--help'])).out,
    )
  })

  it('lists every command in its help, and says which version it is', async () => {
    const help = await latchkey(noStore, ['--help'])
    expect(help.code).toBe(0)
    for (const name of commandNames) expect(help.out).toContain(`\n  latchkey ${name} `)
    const { out } = await latchkey(noStore, ['user', '--help'])
    expect(out.trimEnd().split('\n')).toHaveLength(commandNames.filter((name) => name.startsWith('user ')).length)
    expect((await latchkey(noStore, ['--version'])).out).toBe(`latchkey ${await builtVersion()}\n`)
    expect(await latchkey(noStore, ['--verbose'])).toMatchObject({
      code: 2,
      err: 'There is no option --verbose. Try: latchkey --help\n',
    })
  })

  const widestHelp = 132
  it.each(commandNames)(
    '%s explains itself, refuses an unknown option in one line, and does nothing else',
    async (name) => {
      const help = await latchkey(noStore, [...name.split(' '), '--help'])
      expect(help).toMatchObject({ code: 0, out: expect.stringMatching(new RegExp(`^latchkey ${name}`)), err: '' })
      expect(help.out.split('\n').filter((line) => line.length > widestHelp)).toEqual([])
      const { code, out, err } = await latchkey(noStore, [...name.split(' '), '--no-such-option'])
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toBe(`Unknown option '--no-such-option'. Try: latchkey ${name} --help\n`)
    },
  )
})
