import { createHash } from 'node:crypto'
import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { randomToken } from '../../src/lib/random.js'
import { openLeakedPasswords } from '../../src/passwords/leaked-list.js'
import { createLog } from '../../src/platform/log.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { noStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'
import { until } from '../support/until.js'

const leaked = 'Correct-Horse-7-battery'
const alsoLeaked = 'Purple-Anchor-19-meadow'
const sha1 = (password: string) => createHash('sha1').update(password).digest('hex').toUpperCase()
const silent = createLog({ level: 'silent' })

let folder: string
let service: Latchkey
const at = (name: string) => join(folder, name)
const build = (args: string[], input?: string | Buffer) =>
  latchkey(noStore, ['passwords', 'build', ...args], input === undefined ? {} : { input })
const has = async (file: string, passwords: string[]) => {
  const list = await openLeakedPasswords({ breachedPasswords: at(file) }, silent)
  const found = await Promise.all(passwords.map(async (password) => list?.has(password)))
  await list?.close()
  return found
}
const rejection = { code: 'password_rejected', errors: ['This password is in a list of leaked passwords.'] }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-leaked-'))
  const others = Array.from({ length: 10_000 }, (_, number) => `Other-${number}-password\n`)
  // More of one than a bucket in memory has room for: the rest of the sorting is on the disk.
  const repeated = `${leaked}\n`.repeat(2_100)
  await writeFile(at('list.txt'), `${others.join('')}${repeated}${alsoLeaked}`)
  expect(await build([at('list.txt'), at('list')])).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringContaining('10,002 entries from 12,101 lines of passwords, 4.2 MB.'),
  })
  service = await startLatchkey({ settings: { BREACHED_PASSWORDS: at('list') } })
})
afterAll(async () => {
  await service.stop()
  await rm(folder, { recursive: true, force: true })
})

describe('a password in a list of leaked ones', () => {
  it('is refused at registration, change and reset, and not at a sign-in', async () => {
    const register = { username: 'grace', email: 'grace@example.com', password: leaked }
    expect(await service.browser().post('/api/auth/register', register)).toMatchObject({
      status: 422,
      body: { ...rejection, message: rejection.errors[0], ids: { errors: ['leaked'], feedback: [] } },
    })

    const tab = await service.signedUp('ada')
    const change = { currentPassword: goodPassword, newPassword: alsoLeaked }
    const headers = { 'x-csrf-token': await tab.csrfToken() }
    expect(await tab.post('/api/auth/change-password', change, { headers })).toMatchObject({
      status: 422,
      body: rejection,
    })

    await service.browser().post('/reset-password', { email: 'ada@example.com' })
    const token = /#token=([\w-]+)/.exec((await service.mailTo('ada@example.com', /reset/i)).text)?.[1]
    const confirm = (password: string) =>
      service.browser().post('/api/auth/reset-password/confirm', { token, password })
    expect(await confirm(leaked)).toMatchObject({ status: 422, body: rejection })
    expect((await confirm(`${leaked}!`)).status).toBe(204)

    const hash = await service.app.rooms.passwords.hash(leaked, { ip: '192.0.2.1' })
    await service.sql.query("update users set password_hash = $1 where username = 'ada'", [hash])
    expect((await service.browser().post('/login', { username: 'ada', password: leaked })).status).toBe(200)
  })

  it('is refused on the command line too', async () => {
    const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(service.config, role) }
    const args = ['user', 'add', '--email', 'eve@example.com', '--username', 'eve', '--password-stdin']
    expect(await latchkey(store, args, { input: `${leaked}\n` })).toMatchObject({
      code: 1,
      err: expect.stringContaining(rejection.errors[0] ?? ''),
    })
  })

  it('is the only kind that is refused: random ones are not', async () => {
    const found = await has('list', [leaked, alsoLeaked, ...Array.from({ length: 2_000 }, randomToken)])
    expect(found.filter(Boolean)).toHaveLength(2)
  })

  it('is found in a new file at once, and nothing is accepted while the file cannot be trusted', async () => {
    await build(['-', at('running')], `${leaked}\n`)
    const lines: string[] = []
    const noted = Object.assign(Object.create(silent), { error: (_: unknown, text: string) => lines.push(text) })
    const list = await openLeakedPasswords({ breachedPasswords: at('running') }, noted)
    expect(await Promise.all([list?.has(leaked), list?.has(alsoLeaked)])).toEqual([true, false])
    await build(['-', at('running')], `${alsoLeaked}\n`)
    expect(await Promise.all([list?.has(leaked), list?.has(alsoLeaked)])).toEqual([false, true])
    await appendFile(at('running'), 'x')
    await expect(list?.has(alsoLeaked)).rejects.toMatchObject({ name: 'StoreUnavailable' })
    // A broken file that is put into its place is not used: the one that is open is as good as before.
    await build(['-', at('running')], `${leaked}\n`)
    expect(await list?.has(leaked)).toBe(true)
    await rm(at('running'))
    expect(await Promise.all([list?.has(leaked), list?.has(leaked)])).toEqual([true, true])
    expect(lines.filter((line) => line.includes('the file of BREACHED_PASSWORDS is gone'))).toHaveLength(1)
    await writeFile(at('running'), 'not a list')
    expect(await list?.has(leaked)).toBe(true)
    await list?.close()
  })
})

describe('latchkey passwords build', () => {
  it('takes SHA-1 hashes with and without a count, in any case and order, with Windows line ends', async () => {
    const lines = [
      `${sha1(alsoLeaked)}:12`,
      sha1('zero-Count-1'),
      `${sha1('padding-Only-1')}:0`,
      '',
      sha1(leaked).toLowerCase(),
    ]
    const { out } = await build(['-', at('hashes'), '--json'], `\uFEFF${lines.join('\r\n')}\r\n`)
    const size = 96 + 4 * (2 ** 20 + 1) + 3 * 4
    expect(JSON.parse(out)).toEqual({
      ...{ output: at('hashes'), kind: 'hashes', lines: 5, skipped: 2, entries: 3, bytes: size, replaced: false },
    })
    const again = await build(['-', at('hashes')], `${lines.join('\n')}\n`)
    expect(again.out).toMatch(
      /^Replaced .*: 3 entries from 5 lines of hashes, 4\.2 MB\. Skipped: 1 empty line, 1 hash with the count 0\.\n$/,
    )
    expect(await has('hashes', [leaked, alsoLeaked, 'zero-Count-1', 'padding-Only-1'])).toEqual([
      true,
      true,
      true,
      false,
    ])
  })

  it('is written to a file only', async () => {
    expect(await build(['-', '-'], `${leaked}\n`)).toMatchObject({
      ...{ code: 2, out: '', err: expect.stringMatching(/^OUTPUT is the path of a file\./) },
    })
  })

  it('takes passwords that look like hashes where the list is one of passwords, and guesses nothing', async () => {
    const looksLikeHash = sha1('something')
    await build(['-', at('passwords')], `${leaked}\n${looksLikeHash}\n`)
    expect(await has('passwords', [looksLikeHash, 'something'])).toEqual([true, false])
    expect(await build(['-', at('none')], `${looksLikeHash}\n${leaked}\n`)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^Line 2 is not a SHA-1 hash.*--as passwords/),
    })
    expect((await build(['-', at('none'), '--as', 'hashes'], `${leaked}\n`)).err).toMatch(
      /^Line 1 is not a SHA-1 hash, but --as says that all lines are\./,
    )
    await build(['-', at('passwords'), '--as', 'passwords'], `${looksLikeHash}\n${leaked}\n`)
    expect(await has('passwords', [looksLikeHash, leaked])).toEqual([true, true])
    expect(await build(['-', at('none')], `${'0a'.repeat(16)}:3\n`)).toMatchObject({
      code: 1,
      err: expect.stringContaining('NTLM'),
    })
  })

  it('takes each line of a list of a few bytes', async () => {
    const printed = await build(['-', at('short'), '--json'], '123456\nqwerty\n')
    expect(JSON.parse(printed.out)).toMatchObject({ lines: 2, entries: 2 })
    expect(await has('short', ['123456', 'qwerty', '123456\nqwerty\n'])).toEqual([true, true, false])
  })

  it('may run twice at once for one file', async () => {
    const both = await Promise.all([leaked, alsoLeaked].map((each) => build(['-', at('twice')], `${each}\n`)))
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    expect((await has('twice', [leaked, alsoLeaked])).filter(Boolean)).toHaveLength(1)
  })

  it('writes nothing when it cannot finish, and leaves nothing behind', async () => {
    const refused = await Promise.all([
      build(['-', at('none')], ''),
      build([at('nowhere.txt'), at('none')]),
      build([at('list.txt'), at('list.txt')]),
      build(['-', join(folder, 'no', 'folder')], 'x\n'),
      build(['-', at('none')], Buffer.from('\uFEFFpassword\n', 'utf16le')),
      build([at('list'), at('none')]),
      build(['-', at('none')], gzipSync('password\n')),
    ])
    expect(refused.map(({ code, err }) => ({ code, isOneLine: err.trim().split('\n').length === 1 }))).toEqual(
      refused.map(() => ({ code: 1, isOneLine: true })),
    )
    const listeners = process.listenerCount('SIGINT')
    const interruptedAfter = until('the command listens', () => process.listenerCount('SIGINT') > listeners)
    const args = ['passwords', 'build', '-', at('none')]
    const stopped = await latchkey(noStore, args, { input: 'a\n', interruptedAfter })
    expect(stopped).toMatchObject({ code: 130, err: 'Interrupted: nothing was written.\n' })
    expect((await readdir(folder)).filter((name) => /part|none/.test(name))).toEqual([])
  })
})

describe('a file that is no complete list', () => {
  const start = (file: string) => openLeakedPasswords({ breachedPasswords: at(file) }, silent)
  const doctor = async (file: string) => {
    const environment = { DATA_DIR: folder, WORKER_THREADS: '1', BCRYPT_COST: '10', BREACHED_PASSWORDS: at(file) }
    const { out } = await latchkey(noStore, ['doctor'], { environment })
    return out.split('\n').find((line) => line.includes('leaked passwords  '))
  }

  it('stops the start with one sentence', async () => {
    const whole = await readFile(at('list'))
    await writeFile(at('cut'), whole)
    await truncate(at('cut'), whole.length - 4)
    await writeFile(at('head'), whole.subarray(0, 50))
    await writeFile(at('index'), Buffer.from(whole).fill(1, 2_000, 2_001))
    await writeFile(at('later'), Buffer.from(whole).fill(9, 19, 20))
    await expect(start('missing')).rejects.toThrow(
      /^BREACHED_PASSWORDS: the file cannot be read: .* \(there is no such file\)$/,
    )
    await expect(start('list.txt')).rejects.toThrow(/list.txt is not a file that `latchkey passwords build` has made$/)
    await expect(start('cut')).rejects.toThrow(/cut is not complete: copy or build it again$/)
    await expect(start('head')).rejects.toThrow(/head is not complete/)
    await expect(start('index')).rejects.toThrow(/index is damaged/)
    await expect(start('later')).rejects.toThrow(/later was made for another version of Latchkey/)
    await expect(start('.')).rejects.toThrow(/it is a folder/)
    await expect(startLatchkey({ settings: { BREACHED_PASSWORDS: at('cut') } })).rejects.toThrow(/is not complete/)
  })

  it('is found by doctor, also when a single entry has changed', async () => {
    expect(await doctor('list')).toMatch(/^ok .* 10,002 leaked passwords in .*, complete and unchanged/)
    const changed = await readFile(at('list'))
    await writeFile(at('entry'), changed.fill(0xab, changed.length - 2, changed.length - 1))
    expect(await doctor('entry')).toMatch(/^error .* is damaged/)
  })
})
