import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { isRefused } from '#contract/outcome.js'
import { defaultScopes } from '#contract/service.js'
import { systemClock } from '../../src/lib/clock.js'
import { days } from '../../src/lib/durations.js'
import { DataDirectoryInUse } from '../../src/platform/own-postgres/folder-lock.js'
import { createServiceKeys, parseServiceKeys, readServiceKeys } from '../../src/programs/service-keys.js'

import { type CommandStore, openCommandStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

const run = promisify(execFile)
const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

describe('latchkey service-key add', () => {
  let store: CommandStore
  let folder: string
  let file: string
  const add = (...args: string[]) =>
    latchkey(store, ['service-key', 'add', ...args], { environment: { SERVICE_KEYS_FILE: file } })

  const recorded = async () => {
    const rows = await store.database.query<{ reason: string }>(
      `select reason from events where kind = 'service_key_added' order by id`,
    )
    return rows.map(({ reason }) => reason)
  }

  beforeAll(async () => {
    store = await openCommandStore()
    folder = await mkdtemp(join(tmpdir(), 'latchkey-keys-'))
    file = join(folder, 'keys')
  })
  afterAll(async () => {
    await store.drop()
    await rm(folder, { recursive: true, force: true })
  })

  it('prints a key whose hash alone is in the file, which other users cannot read', async () => {
    const first = await add('billing')
    const whenItWorks = 'A running service knows the key after a restart, or after SIGHUP if it has no terminal.\n'
    expect(first).toMatchObject({ code: 0, err: whenItWorks })
    const second = await add('wiki', '--json')
    const { name, key } = JSON.parse(second.out)
    expect(name).toBe('wiki')
    const text = await readFile(file, 'utf8')
    expect(text).not.toContain(key)
    expect((await stat(file)).mode & 0o777).toBe(0o640)
    const keys = parseServiceKeys(text)
    if (isRefused(keys)) throw new Error('The file cannot be read back')
    const known = createServiceKeys(keys, systemClock)
    expect([first.out.trim(), key].map(known.find)).toMatchObject([{ name: 'billing' }, { name: 'wiki' }])
    expect(known.find(`${key}x`)).toEqual({ refused: 'unknown_key' })
    expect(keys.map(({ scopes, expiresAt }) => [scopes, expiresAt])).toEqual(Array(2).fill([defaultScopes, undefined]))
    expect(await recorded()).toEqual(['billing', 'wiki'])
  })

  it('prints the line for a file that cannot be written here, and writes nothing', async () => {
    const before = await readFile(file, 'utf8')
    const { out, code } = await add('cluster', '--print-line')
    const [key = '', line = ''] = out.split('\n')
    const keys = parseServiceKeys(line)
    if (isRefused(keys)) throw new Error('The line cannot be read back')
    expect(code).toBe(0)
    expect(createServiceKeys(keys, systemClock).find(key)).toMatchObject({ name: 'cluster' })
    expect(await readFile(file, 'utf8')).toBe(before)
    expect((await recorded()).at(-1)).toBe('cluster')
    const without = await latchkey(store, ['service-key', 'add', 'pod', '--print-line', '--json'])
    expect(JSON.parse(without.out)).toEqual({
      name: 'pod',
      key: expect.stringMatching(/^latchkey_/),
      scopes: defaultScopes,
      expiresAt: null,
      line: expect.stringMatching(/^pod [\da-f]{64}$/),
    })
  })

  it('limits what a key is for and how long it works', async () => {
    const made = await add('sync', '--scope', 'revocations:read,users:read', '--expires', '90d', '--json')
    const { key, scopes, expiresAt } = JSON.parse(made.out)
    expect(scopes).toEqual(['users:read', 'revocations:read'])
    expect(Math.abs(Date.parse(expiresAt) - Date.now() - 90 * days)).toBeLessThan(5 * 60_000)
    const keys = parseServiceKeys(await readFile(file, 'utf8'))
    if (isRefused(keys)) throw new Error('The file cannot be read back')
    expect(keys.at(-1)).toMatchObject({ name: 'sync', scopes, expiresAt: new Date(expiresAt) })
    const later = { ...systemClock, now: () => new Date(expiresAt) }
    expect(createServiceKeys(keys, later).find(key)).toEqual({ refused: 'expired_key', name: 'sync' })
    const day = await add('day', '--expires', '2999-01-31', '--print-line')
    expect(day.out).toMatch(/^day [\da-f]{64} until=2999-01-31T00:00:00\.000Z$/m)
    for (const wrong of [
      ['--scope', 'users'],
      ['--scope', ''],
      ['--expires', 'soon'],
      ['--expires', '2020-01-01'],
    ])
      expect((await add('other', ...wrong)).code, wrong.join(' ')).toBe(2)
  })

  it('adds nothing to a file with a fault, under a name that is there, or without a file, and records nothing', async () => {
    const events = await recorded()
    expect(await add('wiki')).toMatchObject({ code: 1, err: expect.stringContaining('has a key called wiki') })
    expect(await add('two words')).toMatchObject({ code: 2 })
    const without = await latchkey(store, ['service-key', 'add', 'other'])
    expect(without).toMatchObject({ code: 1, err: expect.stringContaining('Set SERVICE_KEYS_FILE') })
    const lost = await latchkey(store, ['service-key', 'add', 'other'], {
      environment: { SERVICE_KEYS_FILE: join(folder, 'nowhere', 'keys') },
    })
    expect(lost).toMatchObject({
      code: 1,
      err: expect.stringMatching(/ cannot be written: there is no such folder\.\n$/),
    })
    const before = await readFile(file, 'utf8')
    await writeFile(file, `${before}garbage\n`)
    expect(await add('other')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^Nothing was added\. SERVICE_KEYS_FILE: line 4 of /),
    })
    expect(await readFile(file, 'utf8')).toBe(`${before}garbage\n`)
    expect(await recorded()).toEqual(events)
  })

  it('adds the key although the database is in use or away, and says that no event was recorded', async () => {
    const directory = join(folder, 'data')
    const openRooms = () => Promise.reject(new DataDirectoryInUse(directory))
    const path = join(folder, 'other-keys')
    await expect(readServiceKeys(path)).rejects.toThrow('The command `latchkey service-key add NAME` makes it.')
    const environment = { SERVICE_KEYS_FILE: path }
    const added = await latchkey({ openRooms }, ['service-key', 'add', 'billing'], { environment })
    expect(added).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^latchkey_/),
      err: expect.stringContaining('no event could be recorded: The data directory'),
    })
    expect(await readServiceKeys(path)).toMatchObject([{ name: 'billing' }])
  })

  it.each([
    ['a file with keys', `# ${'x'.repeat(1_000)}\n`],
    ['a new file', undefined],
  ])('leaves %s as it was if the disk takes only a part of the line', async (_, before) => {
    const path = join(folder, 'full-keys')
    await rm(path, { force: true })
    if (before !== undefined) await writeFile(path, before)
    // No file may grow beyond the limit, in units of 1,024 bytes: a disk that is full in the middle of the line.
    const script = 'ulimit -f $1; shift; exec "$@"'
    const command = [process.execPath, program, 'service-key', 'add', 'other', '--expires', '2999-01-31']
    const env = { ...process.env, NODE_ENV: 'test', SERVICE_KEYS_FILE: path }
    const limit = before === undefined ? '0' : '1'
    const failed = run('bash', ['-c', script, 'bash', limit, ...command], { env, cwd: folder })
    await expect(failed).rejects.toThrow(/Nothing was added\. .* cannot be written: /)
    expect(await readFile(path, 'utf8').catch(() => undefined)).toBe(before)
  })

  it('begins a line of its own after a last line that has no end', async () => {
    await writeFile(file, `# keys`)
    await add('other')
    expect((await readFile(file, 'utf8')).split('\n').map((line) => line.split(' ')[0])).toEqual(['#', 'other', ''])
  })
})

describe('latchkey service-key list', () => {
  const list = (path: string | undefined, ...args: string[]) =>
    latchkey({ openRooms: () => Promise.reject(new Error('It needs no store')) }, ['service-key', 'list', ...args], {
      environment: path === undefined ? {} : { SERVICE_KEYS_FILE: path },
    })

  it('shows names, ids, scopes and when keys expire, and no secret', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-keys-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const path = join(folder, 'keys')
    const hash = 'ab'.repeat(32)
    await writeFile(path, `wiki ${hash}\nsync ${'cd'.repeat(32)} users:read until=2020-01-01T00:00:00.000Z\n`)
    const { code, out } = await list(path)
    expect(code).toBe(0)
    const rows = out
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
    expect(rows).toEqual([
      ['NAME', 'ID', 'SCOPES', 'EXPIRES'],
      ['wiki', 'ab'.repeat(8), defaultScopes.join(','), 'never'],
      ['sync', 'cd'.repeat(8), 'users:read', '2020-01-01T00:00:00.000Z (expired)'],
    ])
    expect(out).not.toContain(hash)
    const [first = ''] = (await list(path, '--json')).out.split('\n')
    expect(JSON.parse(first)).toEqual({ name: 'wiki', id: 'ab'.repeat(8), scopes: [...defaultScopes], expiresAt: null })
    expect(await list(undefined)).toMatchObject({
      code: 1,
      err: expect.stringContaining('SERVICE_KEYS_FILE is not set'),
    })
  })
})
