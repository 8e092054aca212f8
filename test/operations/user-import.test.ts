import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { builtInFieldNames } from '#contract/schemas.js'
import { type CommandStore, openCommandStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

const hash = `$2y$10$${'a'.repeat(53)}`
type Stored = { email: string; username: string; name: string | null; password_hash: string | null; disabled: boolean }

describe('user import', () => {
  let store: CommandStore
  let folder: string

  beforeAll(async () => {
    store = await openCommandStore({ ADMIN_GROUP: 'admins', SUPPORT_GROUP: 'helpdesk' })
    folder = await mkdtemp(join(tmpdir(), 'latchkey-import-'))
  })
  afterAll(async () => {
    await store.drop()
    await rm(folder, { recursive: true, force: true })
  })
  beforeEach(() => store.database.query('delete from users'))

  const importing = (input: string | Buffer, ...options: string[]) =>
    latchkey(store, ['user', 'import', '-', ...options], { input })
  const stored = () =>
    store.database.query<Stored>(
      'select email, username, name, password_hash, disabled_at is not null as disabled from users order by email_key',
    )

  it('takes CSV with quotes, commas and line breaks in fields, a byte order mark, and columns in any order', async () => {
    const { code, out, err } = await importing(
      `\ufeffName,E-Mail,passwordHash,shoe size\r\n"Lovelace, ""Ada""",ada@example.com,${hash},38\r\nGrüße,grace@example.com,,\r\n`,
    )
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toBe(
      'Added 2 users; 0 existed already; 0 rows were refused.\nWith a password: 1; without a password: 1.\nIgnored columns: shoe size.\n',
    )
    expect(await stored()).toEqual([
      { email: 'ada@example.com', username: 'ada', name: 'Lovelace, "Ada"', password_hash: hash, disabled: false },
      { email: 'grace@example.com', username: 'grace', name: 'Grüße', password_hash: null, disabled: false },
    ])
  })

  it('makes administrators and support only if it is told to, and names them', async () => {
    const rows = [
      { email: 'ada@example.com', groups: ['staff'] },
      { email: 'grace@example.com', groups: ['admins', 'staff'] },
      { email: 'sam@example.com', groups: 'helpdesk' },
    ]
    const file = rows.map((row) => JSON.stringify(row)).join('\n')
    const refused = await importing(file)
    const why =
      'groups has ADMIN_GROUP or SUPPORT_GROUP: with --with-administrators, the user becomes an administrator or support'
    expect([refused.code, refused.err]).toEqual([1, `line 2: ${why}\nline 3: ${why}\n`])
    expect(await stored()).toMatchObject([{ username: 'ada' }])
    const sentence = 'administrators or support: grace (admins), sam (helpdesk).'
    const tried = await importing(file, '--with-administrators', '--dry-run')
    expect([tried.code, tried.out]).toEqual([0, expect.stringContaining(`Would make ${sentence}`)])
    const made = await importing(file, '--with-administrators')
    expect([made.code, made.out]).toEqual([0, expect.stringContaining(`Made ${sentence}`)])
    expect(await stored()).toHaveLength(3)
    const again = await importing(file, '--with-administrators', '--json')
    expect(JSON.parse(again.out)).toMatchObject({ added: 0, existed: 3, administrators: [] })
    const events = await store.database.query(
      "select reason from events where kind = 'users_imported' and reason like '%administrators%'",
    )
    expect(events).toEqual([
      { reason: '2 added, 1 existed, 0 refused, groups admins,helpdesk,staff, administrators 2' },
    ])
  })

  it('takes names without what would change the direction of the text around them', async () => {
    await importing(JSON.stringify({ email: 'ada@example.com', name: 'Ada\u202e \u2066Lovelace\u200b' }))
    expect(await stored()).toMatchObject([{ name: 'Ada Lovelace' }])
  })

  it('takes JSON lines, from a file', async () => {
    const file = join(folder, 'users.jsonl')
    const rows = [
      {
        email: 'Ada@Example.com',
        username: 'Ada',
        passwordHash: hash,
        disabled: true,
        created_at: '2020-01-31T12:00:00Z',
      },
      { email: 'grace@example.com', username: 'grace', provider: 'provider_a', provider_a_id: 'g-1' },
    ]
    await writeFile(file, rows.map((row) => JSON.stringify(row)).join('\n'))
    const { code } = await latchkey(store, ['user', 'import', file])
    expect(code).toBe(0)
    expect(await stored()).toMatchObject([
      { email: 'Ada@Example.com', username: 'Ada', disabled: true },
      { email: 'grace@example.com', username: 'grace' },
    ])
  })

  it('reports each bad row with its line and reason, in order, and takes the rest', async () => {
    const rows: [row: string, reason: string | undefined][] = [
      [`ada,ada@example.com,${hash}`, undefined],
      [`nobody,,${hash}`, 'email is missing'],
      [`two,two@@example.com,${hash}`, 'Email must be an address like name@example.com'],
      [
        `a b,three@example.com,${hash}`,
        'Username must not contain spaces, invisible characters, or signs other than . _ -',
      ],
      [
        'four,four@example.com,$2b$10$short',
        'password_hash must be a bcrypt hash ($2a$, $2b$ or $2y$) of cost 4 to 14',
      ],
      [
        `five,five@example.com,$2b$15$${'a'.repeat(53)}`,
        'password_hash must be a bcrypt hash ($2a$, $2b$ or $2y$) of cost 4 to 14',
      ],
      ['six,six@example.com', 'has 2 fields where the first line has 3'],
      [`"seven"x,seven@example.com,${hash}`, 'text after the closing quote of a field'],
      [`ADA,eight@example.com,${hash}`, 'the username belongs to a user with another email'],
      [`${'n'.repeat(65)},nine@example.com,`, 'Username must have 1 to 64 characters'],
      [`ten\u0000,ten@example.com,`, 'username must not contain control characters'],
      [`grace,grace@example.com,${hash}`, undefined],
    ]
    const { code, out, err } = await importing(`username,email,password_hash\n${rows.map(([row]) => row).join('\n')}\n`)
    const expected = rows.flatMap(([, reason], at) => (reason ? [`line ${at + 2}: ${reason}`] : []))
    expect(err.trimEnd().split('\n')).toEqual(expected)
    expect(code).toBe(1)
    expect(out).toBe(
      'Added 2 users; 0 existed already; 10 rows were refused.\nWith a password: 2; without a password: 0.\n',
    )
    expect(err).not.toContain(hash)
  })

  it('reports bad lines of JSON, and never takes a plain password', async () => {
    const lines = [
      '{"email":',
      '[]',
      '{"email":7}',
      '{"email":"a@example.com","password":"x"}',
      '',
      '{"email":"b@example.com","id":"7"}',
    ]
    const { code, err } = await importing(lines.join('\n'), '--format', 'jsonl')
    expect(code).toBe(1)
    expect(err.trimEnd().split('\n')).toEqual([
      'line 1: not valid JSON',
      'line 2: not a JSON object',
      'line 3: email must be text',
      'line 4: plain passwords are not imported: give hashes in password_hash',
      'line 6: id must be a UUID',
    ])
    const csv = await importing('email,password\nc@example.com,secret-password\n')
    expect(csv.code).toBe(1)
    expect(csv.err).toContain('plain passwords are not imported')
    expect(csv.err).not.toContain('secret-password')
    expect(await stored()).toEqual([])
  })

  it('passes over users who exist, so that it can be run again, and changes nothing about them', async () => {
    const first = `email,username,password_hash\nada@example.com,ada,${hash}\ngrace@example.com,grace,\n`
    await importing(first)
    const again = await importing(`${first.replace(hash, '')}ALAN@example.com,alan,\nalan@Example.com,alan,\n`)
    expect(again.code).toBe(0)
    expect(again.out).toBe(
      'Added 1 user; 3 existed already; 0 rows were refused.\nWith a password: 0; without a password: 1.\n',
    )
    expect(await stored()).toMatchObject([{ password_hash: hash }, { email: 'ALAN@example.com' }, {}])
  })

  it('refuses a row whose id or identity another user has, and takes the rows around it', async () => {
    const id = '0190a0a0-0000-7000-8000-000000000001'
    const rows = [
      { email: 'ada@example.com', provider: 'provider_a', provider_a_id: 'g-1', provider_b_id: '1' },
      { email: 'grace@example.com', provider_a_id: 'g-2' },
      { email: 'alan@example.com', provider_a_id: 'g-1' },
      { email: 'edsger@example.com', id, provider_a_id: 'g-3' },
      { email: 'barbara@example.com', id, provider_b_id: '4' },
      { email: 'donald@example.com', provider_b_id: 'g-1' },
    ]
    const taken = 'the id or a provider id belongs to a user with another email'
    const { out, err } = await importing(rows.map((row) => JSON.stringify(row)).join('\n'))
    expect(err).toBe(`line 3: ${taken}\nline 5: ${taken}\n`)
    expect(out).toBe(
      'Added 4 users; 0 existed already; 2 rows were refused.\nWith a password: 0; without a password: 4.\n',
    )
    const later = await importing('email,provider_b_id\njean@example.com,1\nkay@example.com,7\n')
    expect(later.err).toBe(`line 2: ${taken}\n`)
    expect(later.out).toContain('Added 1 user; 0 existed already; 1 row was refused.\n')
    const listed = await latchkey(store, ['user', 'list'])
    const ways = listed.out
      .split('\n')
      .flatMap((line) => /(\w+)@example\.com +(.+?) {2}/.exec(line)?.slice(1, 3).join(': ') ?? [])
    expect(ways.sort()).toEqual([
      'ada: provider A, provider B',
      'donald: provider B',
      'edsger: provider A',
      'grace: provider A',
      'kay: provider B',
    ])
  })

  it('writes nothing in a dry run, and says what it would do', async () => {
    await importing('email\nada@example.com\n')
    const rows =
      'email,username\nada@example.com,ada\ngrace@example.com,ada\nalan@example.com,alan\nx@example.com,Alan\nbad,bad\n'
    const dry = await importing(rows, '--dry-run')
    expect(dry.out).toContain('Would add 1 user; 1 existed already; 3 rows were refused.\n')
    expect(await stored()).toHaveLength(1)
    const real = await importing(rows)
    expect(real.out).toBe(dry.out.replace('Would add', 'Added'))
    expect(real.err).toBe(dry.err)
  })

  it('comes back as it was exported, in both forms', async () => {
    const rows = [
      {
        email: 'ada@example.com',
        username: 'ada',
        name: 'Ada, "the" first\u2028',
        password_hash: hash,
        disabled: true,
        language: 'fr',
      },
      {
        email: 'grace@example.com',
        username: 'グレース',
        provider: 'provider_b',
        provider_b_id: '17',
        created_at: '2021-05-06T07:08:09.123Z',
      },
    ]
    await importing(rows.map((row) => JSON.stringify(row)).join('\n'))
    const before = await latchkey(store, ['user', 'export', '--with-password-hashes'])
    expect(before.err).toBe('Exported 2 users.\n')
    // Against what was given, not only against itself: a field that neither of them has would look the same.
    const exported = before.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(new Map(exported.map((row) => [row.email, row]))).toEqual(
      new Map(rows.map((row) => [row.email, expect.objectContaining({ ...row, name: row.name?.trim() ?? null })])),
    )
    for (const field of builtInFieldNames) expect(exported.map((row) => row[field])).not.toEqual([null, null])
    for (const format of ['csv', 'jsonl']) {
      const exported = await latchkey(store, ['user', 'export', '--format', format, '--with-password-hashes'])
      await store.database.query('delete from users')
      expect((await importing(exported.out)).out).toContain('Added 2 users; 0 existed already; 0 rows were refused.\n')
      const after = await latchkey(store, ['user', 'export', '--with-password-hashes'])
      expect(after.out).toBe(before.out)
    }
  })

  it('writes no control characters and no formulas, and reads back what it wrote', async () => {
    const rows = ['=cmd', '+1', '-2', '@SUM', "'=quoted", "''-twice", "'plain", 'a=b'].map((name, at) => ({
      email: `${at % 2 ? '+' : '='}user${at}@example.com`,
      username: `-user${at}`,
      name,
    }))
    await importing(rows.map((row) => JSON.stringify(row)).join('\n'))
    const dirty = '\u001b]0;owned\u0007Ada\r\n\u202eLovelace\u009b'
    await store.database.query("update users set name = $1 where username = '-user0'", [dirty])
    await store.database.query(
      "insert into identities select id, 'provider_a', $1, now() from users where username = '-user1'",
      ['sub\u009b\u202e'],
    )
    const names = async () => (await stored()).map(({ name }) => name)
    const expected = (await names()).map((name) => (name === dirty ? ']0;ownedAda Lovelace' : name))
    for (const format of ['jsonl', 'csv']) {
      const { out } = await latchkey(store, ['user', 'export', '--format', format])
      expect(out.replaceAll(/\r?\n/g, '')).not.toMatch(/[\p{C}\u2028\u2029]/u)
      if (format === 'csv') expect(out).not.toMatch(/(^|,)"?[=+\-@]/m)
      await store.database.query('delete from users')
      expect((await importing(out.replace('sub\\u009b\\u202e', 'sub'))).err).toBe('')
      expect(await names()).toEqual(expected)
    }
  })

  it('keeps hashes out of an export unless they are asked for', async () => {
    await importing(`email,password_hash\nada@example.com,${hash}\n`)
    for (const format of ['csv', 'jsonl']) {
      const { out, err } = await latchkey(store, ['user', 'export', '--format', format])
      expect(err).toBe('Exported 1 user.\n')
      expect(out).toContain('ada@example.com')
      expect(out).not.toMatch(/\$2y\$|password_hash/)
    }
  })

  it.each([
    [Buffer.from('email,name\nada@example.com,M\xfcller\n', 'latin1'), 'The input is not UTF-8 text'],
    [`email,name\nada@example.com,"${'x\n'.repeat(600_000)}`, 'line 2: the quotes of a field are never closed'],
    ['name,username\nAda,ada\n', 'the first line must name the columns, and one of them must be email'],
    ['email,E_mail\na@example.com,b@example.com\n', 'two columns are called email'],
  ])('stops with a sentence at input it cannot make sense of', async (input, sentence) => {
    const { code, err } = await importing(input)
    expect(code).toBe(1)
    expect(err).toContain(sentence)
  })

  it.each([
    [
      'email;name\r\na@example.com;Ada\r\n',
      'line 1: the columns are separated by semicolons: save the file with commas between them',
    ],
    [
      'email\tname\na@example.com\tAda\n',
      'line 1: the columns are separated by tabs: save the file with commas between them',
    ],
    ['', 'The input is empty: a CSV file begins with the names of its columns, and one of them is email.'],
    [' \r\n', 'The input is empty: a CSV file begins with the names of its columns, and one of them is email.'],
    [
      '[{"email":"a@example.com"}]',
      'The input is a JSON array: write one object on each line, without brackets and commas around it.',
    ],
  ])('says only what to do about input without users: %j', async (input, sentence) => {
    expect(await importing(input)).toMatchObject({ code: 1, out: '', err: `${sentence}\n` })
  })

  it('says what to do about values and rows that are too long, and about a single field', async () => {
    const long = `email,name\na@example.com,${'x'.repeat(256)}\nb@example.com,${'x'.repeat(1_000_000)}\nc@example.com\n`
    const { out, err } = await importing(long)
    expect(err.split('\n')).toEqual([
      'line 2: name must have at most 200 characters: shorten it',
      'line 3: has more than 1,000,000 characters: shorten or remove it',
      'line 4: has 1 field where the first line has 2',
      '',
    ])
    expect(out).toBe('Added 0 users; 0 existed already; 3 rows were refused.\n')
    const line = await importing(`{"email":"d@example.com","name":"${'x'.repeat(1_000_000)}"}`)
    expect(line.err).toBe('line 1: has more than 1,000,000 characters: shorten or remove it\n')
  })
})
