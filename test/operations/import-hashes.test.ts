import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type CommandStore, openCommandStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

const hash = `$2y$10$${'a'.repeat(53)}`

describe('user import from other systems', () => {
  let store: CommandStore
  let folder: string

  beforeAll(async () => {
    store = await openCommandStore()
    folder = await mkdtemp(join(tmpdir(), 'latchkey-import-'))
  })
  afterAll(async () => {
    await store.drop()
    await rm(folder, { recursive: true, force: true })
  })
  beforeEach(() => store.database.query('delete from users'))

  const importing = (input: string, ...options: string[]) =>
    latchkey(store, ['user', 'import', '-', ...options], { input })
  const stored = () =>
    store.database.query<{ email: string; password_hash: string | null }>(
      'select email, password_hash from users order by email_key',
    )

  it('takes the hashes of other systems, and adds users whose hash it does not know without a password', async () => {
    const parameters = join(folder, 'firebase.txt')
    const signerKey = Buffer.alloc(64, 7).toString('base64')
    await writeFile(
      parameters,
      `hash_config {\n base64_signer_key: ${signerKey},\n base64_salt_separator: Bw==,\n rounds: 8,\n mem_cost: 14,\n}\n`,
    )
    const rows = [
      `argon@example.com,$argon2id$v=19$m=1024,t=2,p=2$${'A'.repeat(22)}$${'B'.repeat(43)},`,
      `scrypt@example.com,$scrypt$ln=14,r=8,p=1$${'A'.repeat(22)}$${'B'.repeat(43)},`,
      `better@example.com,${'a1'.repeat(16)}:${'b2'.repeat(64)},`,
      `fire@example.com,${Buffer.alloc(64, 1).toString('base64')},${Buffer.alloc(10, 2).toString('base64')}`,
      'strange@example.com,md5:5f4dcc3b5aa765d61d8327deb882cf99,',
      'strange@example.com,md5:5f4dcc3b5aa765d61d8327deb882cf99,',
      `heavy@example.com,$argon2id$v=19$m=2097152,t=1,p=1$${'A'.repeat(22)}$${'B'.repeat(43)},`,
    ].map((row) => row.replace(/^([^,]+),(.*),([^,]*)$/, '$1,"$2",$3'))
    const options = ['--firebase-config', parameters]
    const file = `email,password_hash,salt\n${rows.join('\n')}\n`
    const dry = await importing(file, ...options, '--dry-run')
    const real = await importing(file, ...options)
    expect(real.code).toBe(1)
    expect(real.err.split('\n')).toEqual([
      'line 6: password_hash is of a kind that is not known: the user is added without a password, and can set one with a reset mail',
      'line 8: password_hash must be $argon2id$v=19$m=,t=,p=$salt$hash, with at most 131072 KiB of memory, and at most 524288 KiB for memory times t',
      '',
    ])
    expect(real.out).toBe(
      'Added 5 users; 1 existed already; 1 row was refused.\nWith a password: 4; without a password: 1, of them with a hash of a kind that is not known: 1.\n',
    )
    expect(dry).toEqual({ ...real, out: real.out.replace('Added', 'Would add') })
    // Where the command cannot see a file: both come by standard input.
    const piped = await importing(`${await readFile(parameters, 'utf8')}${file}`, '--firebase-config', '-', '--dry-run')
    expect(piped.out).toContain('Would add 0 users; 6 existed already; 1 row was refused.\n')
    expect(piped.err).toBe(real.err.replace(/^line 6.*\n/, ''))
    expect(await importing(file, '--firebase-config', '-')).toMatchObject({
      code: 1,
      err: expect.stringContaining('does not begin with the Firebase parameters'),
    })
    const starts = (await stored()).map(({ email, password_hash }) => `${email}: ${password_hash?.split('$')[1]}`)
    expect(starts).toEqual([
      'argon@example.com: argon2id',
      'better@example.com: scrypt-nfkc',
      'fire@example.com: fbscrypt',
      'scrypt@example.com: scrypt',
      'strange@example.com: undefined',
    ])
  })

  it('says what to do about a hash of Firebase without the parameters', async () => {
    const [hashed, salt] = [64, 10].map((length) => Buffer.alloc(length, 1).toString('base64'))
    const { err } = await importing(`email,password_hash,salt\nfire@example.com,${hashed},${salt}\n`, '--dry-run')
    expect(err).toContain('If Firebase made it, import with --firebase-config')
  })

  it('says which columns it ignored and how many users get no password, in a dry run too', async () => {
    const rows = [
      { email: 'ada@example.com', hash, 'a\u202eb': 1 },
      { email: 'grace@example.com', hash },
    ]
    const file = rows.map((row) => JSON.stringify(row)).join('\n')
    const { out } = await importing(file, '--dry-run')
    expect(out.split('\n').slice(1)).toEqual([
      'With a password: 0; without a password: 2.',
      'Ignored columns: hash, ab.',
      '',
    ])
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`field ${at}`, at]))
    const wide = await importing(JSON.stringify({ email: 'ada@example.com', ...many }))
    expect(wide.out).toMatch(/field 0, .*field 19\.\n$/)
  })

  it('loses none of 1,001 rows, and a dry run sees what rows of different batches have in common', async () => {
    await importing('email,username\nthere@example.com,there\n')
    const id = '0190a0a0-0000-7000-8000-000000000001'
    const rows = Array.from({ length: 1001 }, (_, at) => ({
      email: `user${at}@example.com`,
      ...(at % 3 === 0 && { password_hash: hash }),
      ...(at % 3 === 1 && { password_hash: `${'a1'.repeat(16)}:${'b2'.repeat(64)}` }),
      ...(at % 50 === 2 && { password_hash: 'of no kind' }),
    }))
    const conflicting = [
      { email: 'USER0@example.com', username: 'other' },
      { email: 'new@example.com', username: 'User1' },
      { email: 'new@example.com', username: 'new', id, provider_a_id: 'g-1' },
      { email: 'there@example.com', username: 'user7' },
      { email: 'third@example.com', id },
      { email: 'fourth@example.com', provider_a_id: 'g-1' },
      { email: 'not an address' },
    ]
    const file = [...rows, ...conflicting].map((row) => JSON.stringify(row)).join('\n')
    const dry = await importing(file, '--dry-run')
    expect(await stored()).toHaveLength(1)
    const real = await importing(file)
    expect(real.out).toBe(
      'Added 1,002 users; 2 existed already; 4 rows were refused.\nWith a password: 655; without a password: 347, of them with a hash of a kind that is not known: 20.\n',
    )
    expect(real.err.split('\n').filter((line) => !line.includes('of a kind that is not known'))).toEqual([
      'line 1003: the username belongs to a user with another email',
      'line 1006: the id or a provider id belongs to a user with another email',
      'line 1007: the id or a provider id belongs to a user with another email',
      'line 1008: Email must be an address like name@example.com',
      '',
    ])
    expect(dry).toEqual({ ...real, out: real.out.replace('Added', 'Would add') })
    expect(await stored()).toHaveLength(1003)
  })
})
