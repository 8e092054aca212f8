import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/settings/config.js'
import { emptyPostgres, type FreshDatabase, freshPostgres, testServerUrl } from '../support/databases.js'
import {
  backupSettings,
  changedBackup,
  type FilledDatabase,
  fillDatabase,
  runCommand,
  using,
  withDatabase,
} from '../support/filled-database.js'
import { goodPassword, startLatchkey } from '../support/latchkey.js'
import { startPgBouncer } from '../support/servers/pgbouncer.js'
import { startPostgres } from '../support/servers/postgres.js'
import { smallDisk, smallFolder } from '../support/small-disk.js'
import { noStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'
import { until } from '../support/until.js'

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

let folder: string
let file: string
let bytes: Buffer
let source: FilledDatabase
/** Has so many rows that a command takes a while with it. */
let large: FreshDatabase
const settings = (url: string, more?: Record<string, string>) => backupSettings(url, folder, more)
const restore = (url: string, args: string[] = [file], input?: Buffer) =>
  runCommand(settings(url), ['restore', ...args], input)

const addPages = (url: string, count: number) =>
  using(url, (database) =>
    database.query(
      `insert into content (slug, title, body, updated_at)
       select 'page-' || n, '', t.body, now()
       from generate_series(1, $1::int) as n, lateral (
         select string_agg(md5(random()::text || n || m), '') as body from generate_series(1, 20) as m
       ) as t`,
      [count],
    ),
  )

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-backup-faults-'))
  file = join(folder, 'latchkey.backup')
  source = await fillDatabase(settings)
  // Zlib unpacks in pieces of 16 KB and gives none of a piece with a fault: the header is to come in an earlier one than the faults.
  await addPages(source.url, 40)
  expect(await runCommand(settings(source.url), ['backup', file])).toMatchObject({ code: 0 })
  bytes = await readFile(file)
  large = await freshPostgres()
  await addPages(large.url, 60_000)
})
afterAll(async () => {
  await source.drop()
  await large.drop()
  await rm(folder, { recursive: true, force: true })
})

/** The program as a process of its own, whose input goes on until the test ends it. */
const start = (url: string, args: string[], stdout: 'pipe' | number = 'pipe') => {
  const child: ChildProcess = spawn(process.execPath, [main, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', ...settings(url) },
    stdio: ['pipe', stdout, 'pipe'],
  })
  let err = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk.toString()
  })
  child.stdin?.on('error', () => undefined)
  const exited = once(child, 'exit').then(([code]) => ({ code: code as number | null, err }))
  return { child, exited }
}

const usersIn = (url: string) =>
  using(url, async (database) => {
    const [row] = await database.query<{ tables: number }>(
      `select count(*) as tables from pg_class where relname = 'users' and relnamespace = 'public'::regnamespace`,
    )
    if (row?.tables === 0) return 'no tables'
    return (await database.query('select id from users')).length
  })

/** The restore of what is given so far: it waits for more, in the middle of its transaction. */
const startHalfRestore = async (url: string) => {
  const running = start(url, ['restore', '-'])
  running.child.stdin?.write(bytes.subarray(0, bytes.length - 200))
  const isInside = async () =>
    (
      await using(url, (database) =>
        database.query(
          `select from pg_stat_activity where datname = current_database() and application_name = 'latchkey backup' and state <> 'idle' and xact_start is not null`,
        ),
      )
    ).length > 0
  await until('the restore has begun', isInside)
  return { ...running, finish: () => running.child.stdin?.end(bytes.subarray(bytes.length - 200)) }
}

/** Whether its first line could be read before depends on the byte, and on which part of the program was faster. */
const cutOrAltered =
  /^(?:The backup|This is no file of `latchkey backup`, or it) is cut or was altered: nothing (?:of it )?was restored\. [^\n]*\n$/

describe('a file that is no whole backup', () => {
  const faults: [name: string, make: () => Buffer | Promise<Buffer>, says: RegExp][] = [
    ['is cut', () => bytes.subarray(0, bytes.length - 500), cutOrAltered],
    ['lacks its last byte', () => bytes.subarray(0, -1), cutOrAltered],
    [
      'was altered in the middle',
      () => {
        const altered = Buffer.from(bytes)
        altered[altered.length - 1000] = (altered[altered.length - 1000] ?? 0) ^ 1
        return altered
      },
      cutOrAltered,
    ],
    ['is empty', () => Buffer.alloc(0), /^The backup is empty: nothing was restored\.\n$/],
    ['is no gzip', () => Buffer.from('select 1;\n'.repeat(99)), /^This is no file of `latchkey backup`, [^\n]*\n$/],
    ['is gzip of something else', () => gzipSync('select 1;\n'.repeat(99)), /^This is no file of `latchkey backup`/],
    [
      'is of another product',
      () => changed((content) => content.replace('"latchkey":"backup"', '"authelia":"backup"')),
      /^This is no file of `latchkey backup`/,
    ],
    [
      'has a newer form',
      () => changed((content) => content.replace('"format":1', '"format":2')),
      /^The backup was made by a newer version: restore it with that version\. Nothing was restored\.\n$/,
    ],
    [
      'has a newer schema',
      () =>
        changed((content) =>
          content
            .replace('"migrations":[', '"migrations":[')
            .replace(/(\{"name":"0003-[^}]+\})/, '$1,{"name":"9999-later.sql","checksum":"x"}'),
        ),
      /^The backup has 9999-later\.sql, which this program does not have: [^\n]* Nothing was restored\.\n$/,
    ],
    [
      'has another schema',
      () => changed((content) => content.replace(/("name":"0002-triggers.sql","checksum":")\w+/, '$1other')),
      /^0002-triggers\.sql is another one in this program than in the backup\. Nothing was restored\.\n$/,
    ],
    [
      'names a part of events that is a statement',
      () => changed((content) => content.replace('"bounds":"DEFAULT"', '"bounds":"DEFAULT; drop table users"')),
      /^The backup is cut or was altered/,
    ],
    [
      'has a table twice',
      () => changed((content) => content.replace('{"table":"groups"', '{"table":"content"')),
      /^The backup is cut or was altered/,
    ],
    [
      'has other columns',
      () => changed((content) => content.replace('["slug","title"', '["slug","titles"')),
      /^The backup is cut or was altered/,
    ],
    [
      'has a row that does not fit',
      () => changed((content) => content.replace(/^editors\t/m, 'NOT a group\t')),
      /^The backup is cut or was altered/,
    ],
    [
      'lacks a user',
      () => changed((content) => content.replace(/^[0-9a-f-]{36}\tada@[^\n]*\n/m, '')),
      /^The backup is cut or was altered/,
    ],
  ]

  const changed = async (change: (content: string) => string) => {
    const to = join(folder, `changed-${randomBytes(4).toString('hex')}`)
    return readFile(await changedBackup(file, to, change))
  }

  it('leaves an empty database and a new one as they were, and says so in one sentence', async () => {
    const [empty, migrated] = [await emptyPostgres(), await freshPostgres()]
    for (const [name, make, says] of faults) {
      const broken = join(folder, 'broken')
      await writeFile(broken, await make())
      for (const { url } of [empty, migrated]) {
        const { code, out, err } = await restore(url, [broken])
        expect({ name, code, out }).toEqual({ name, code: 1, out: '' })
        expect(err, name).toMatch(says)
      }
    }
    expect([await usersIn(empty.url), await usersIn(migrated.url)]).toEqual(['no tables', 0])
    // Nothing is left that would stand in the way of a good one.
    for (const { url, drop } of [empty, migrated]) {
      expect(await restore(url)).toMatchObject({ code: 0, err: '' })
      expect(await usersIn(url)).toBe(3)
      await drop()
    }
  })

  it('is refused from a pipe that ends early, and taken from one that does not', async () => {
    await withDatabase(async (url) => {
      expect(await restore(url, ['-'], bytes.subarray(0, 3000))).toMatchObject({ code: 1 })
      expect(await usersIn(url)).toBe('no tables')
      expect(await restore(url, ['-'], bytes)).toMatchObject({ code: 0 })
      expect(await usersIn(url)).toBe(3)
    })
  })

  it('goes from one database into another without a file between', async () => {
    await withDatabase(async (url) => {
      const [from, into] = [start(large.url, ['backup', '-']), start(url, ['restore', '-'])]
      if (!from.child.stdout || !into.child.stdin) throw new Error('There is no pipe')
      from.child.stdout.pipe(into.child.stdin)
      expect(await Promise.all([from.exited, into.exited])).toMatchObject([{ code: 0 }, { code: 0, err: '' }])
      expect(await using(url, (database) => database.query('select count(*) as pages from content'))).toEqual(
        await using(large.url, (database) => database.query('select count(*) as pages from content')),
      )
    })
  })

  it('is not there, or is a folder', async () => {
    const url = testServerUrl()
    expect(await restore(url, [join(folder, 'nowhere')])).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no such file'),
    })
    expect(await restore(url, [folder])).toMatchObject({ code: 1, err: expect.stringContaining('it is a folder') })
    const typed = await latchkey(noStore, ['restore', '-'], { environment: settings(url), typed: [] })
    expect(typed).toMatchObject({
      code: 1,
      err: 'Nothing comes from a terminal: name a file, or send one to standard input.\n',
    })
  })
})

describe('a database that must not be filled', () => {
  it('has users', async () => {
    const { code, err } = await restore(source.url)
    expect({ code, err }).toEqual({
      code: 1,
      err: 'The database has users, whom a restore would replace: name another, empty database. Nothing was restored.\n',
    })
    expect(await usersIn(source.url)).toBe(3)
  })

  it('belongs to another program, or to a newer version', async () => {
    await withDatabase(async (url) => {
      await using(url, (database) => database.query('create table invoices (id int)'))
      expect(await restore(url)).toMatchObject({ code: 1, err: expect.stringContaining('belongs to another program') })
    })
    await withDatabase(async (url) => {
      await using(url, (database) =>
        database.query(`insert into schema_migrations values ('9999-later.sql', 'x', now(), 2)`),
      )
      const newer = await restore(url)
      expect(newer).toMatchObject({
        code: 1,
        err: expect.stringContaining('9999-later.sql, which is newer than this program'),
      })
      const backup = await runCommand(settings(url), ['backup', join(folder, 'newer')])
      expect(backup).toMatchObject({ code: 1, err: expect.stringContaining('back up with the newer program') })
    }, freshPostgres)
    await withDatabase(async (url) => {
      const backup = await runCommand(settings(url), ['backup', join(folder, 'nothing')])
      expect(backup).toMatchObject({
        code: 1,
        err: 'The database has no tables of Latchkey: there is nothing to back up.\n',
      })
    })
    expect(await readdir(folder)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(newer|nothing)/)]))
  })

  it('is used by a service, also behind a pooler, until that has stopped', async () => {
    const { url, drop } = await freshPostgres()
    const pooler = await startPgBouncer(url, { pool_mode: 'transaction', default_pool_size: '5' })
    for (const address of [url, pooler.through(url)]) {
      const service = await startLatchkey({ settings: settings(address) })
      const { code, err } = await restore(address)
      expect({ code, err }).toEqual({
        code: 1,
        err: 'A service uses this database: stop every instance of it. Nothing was restored.\n',
      })
      expect((await service.browser().get('/health')).status).toBe(200)
      await service.stop()
    }
    expect(await restore(pooler.through(url))).toMatchObject({ code: 0, err: '' })
    expect(await usersIn(url)).toBe(3)
    await pooler.stop()
    await drop()
  })

  it('is being restored: a second restore is refused, and a service waits', async () => {
    await withDatabase(async (url) => {
      const first = await startHalfRestore(url)
      expect(await restore(url)).toMatchObject({
        code: 1,
        err: 'Another restore or a migration is at work on this database: wait until it has ended. Nothing was restored.\n',
      })
      const service = await startLatchkey({ settings: settings(url) })
      expect(service.app.isReady()).toBe(false)
      first.finish()
      expect((await first.exited).code).toBe(0)
      await service.app.prepared
      expect((await service.browser().post('/login', { username: 'grace', password: 'wrong-Password-1' })).status).toBe(
        401,
      )
      await service.stop()
      expect(await usersIn(url)).toBe(3)
    }, freshPostgres)
  })
})

describe('keys', () => {
  const other = randomBytes(48).toString('hex')

  it('that do not open what is sealed are refused, and those that do are taken', async () => {
    await withDatabase(async (url) => {
      const wrong = await runCommand(settings(url, { JWT_SECRET: other }), ['restore', file])
      expect(wrong).toMatchObject({ code: 1, out: '' })
      expect(wrong.err).toBe(
        'What is sealed in the backup needs a key that is not set here: set SEALING_KEY to that of its time; if it was not set then, JWT_SECRET. If the key is lost for good: --without-key. Nothing was restored.\n',
      )
      const { JWT_SECRET: secret, ...bare } = settings(url, { DATA_DIR: join(folder, 'without') })
      expect(await runCommand(bare, ['restore', file])).toMatchObject({ code: 1, err: wrong.err })
      expect(await usersIn(url)).toBe('no tables')
      const sealed = await runCommand({ ...bare, JWT_SECRET: other, SEALING_KEY: secret }, ['restore', file])
      expect(sealed).toMatchObject({
        code: 0,
        err: 'JWT_SECRET is another one than then: all users have to sign in again, and links in mails do not work.\n',
      })
    })
  })

  it('that are lost for good do not take the users with them', async () => {
    await withDatabase(async (url) => {
      const environment = settings(url, { JWT_SECRET: other })
      expect(await runCommand(environment, ['restore', file, '--without-key'])).toMatchObject({ code: 0 })
      await expect(startLatchkey({ settings: environment })).rejects.toThrow('the key that sealed them is missing')
      const { openRoomsForCommand } = await import('../../src/commands/open-for-commands.js')
      const store = {
        openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(loadConfig(environment), role),
      }
      expect(await latchkey(store, ['keys', 'rotate', '--compromised', '--yes'], { environment })).toMatchObject({
        code: 0,
      })
      expect(await latchkey(store, ['user', 'factors', 'reset', '--unreadable', '--yes'])).toMatchObject({ code: 0 })
      const service = await startLatchkey({ settings: environment })
      expect((await service.browser().post('/login', { username: 'ada', password: goodPassword })).status).toBe(200)
      await service.stop()
    })
  })

  it('of a backup are named where others are set, and where there is no room for them', async () => {
    const whole = join(folder, 'whole.backup')
    const two = { SEALING_KEY: settings(source.url).JWT_SECRET, JWT_SECRET: other }
    expect(await runCommand(settings(source.url, two), ['backup', whole, '--with-secrets'])).toMatchObject({ code: 0 })
    await withDatabase(async (url) => {
      const third = settings(url, { JWT_SECRET: randomBytes(48).toString('hex') })
      expect((await runCommand(third, ['restore', whole])).err).toMatch(
        /^The keys that are set here do not open what is sealed/,
      )
      const { JWT_SECRET: _, ...bare } = settings(url, { DATA_DIR: join(folder, 'without') })
      expect((await runCommand(bare, ['restore', whole])).err).toMatch(/^The backup has several secrets: /)
      expect(await usersIn(url)).toBe('no tables')
      const without = await runCommand({ ...bare, DATABASE_URL: source.url }, [
        'backup',
        join(folder, 'x'),
        '--with-secrets',
      ])
      expect(without).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^--with-secrets: there is no JWT_SECRET here/),
      })
    })
  })
})

describe('a place that cannot take a backup', () => {
  const backup = (name: string) => runCommand(settings(source.url), ['backup', name])

  it('is a terminal, a folder, a device, or a folder that is not there', async () => {
    const environment = settings(source.url)
    const terminal = await latchkey(noStore, ['backup', '-'], { environment, hasTerminalOutput: true })
    expect(terminal).toMatchObject({
      code: 1,
      out: '',
      err: 'A backup is no text for a terminal: name a file, or send the output to a program.\n',
    })
    expect(await backup(folder)).toMatchObject({
      code: 1,
      err: `${folder} is a folder: name a file, or write to standard output with -.\n`,
    })
    expect(await backup('/dev/full')).toMatchObject({
      code: 1,
      err: '/dev/full is no ordinary file: name a file, or write to standard output with -.\n',
    })
    expect(await backup(join(folder, 'not/there'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no such folder'),
    })
  })

  it('keeps the earlier backup while a new one is made, also through a link', async () => {
    const [real, link] = [join(folder, 'real.backup'), join(folder, 'link.backup')]
    await writeFile(real, 'earlier')
    await symlink(real, link)
    expect(await backup(link)).toMatchObject({ code: 0 })
    expect((await readFile(real)).subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]))
    expect((await stat(real)).mode & 0o777).toBe(0o600)
  })

  const expectFullDisk = async (place: string) => {
    const name = join(place, 'full.backup')
    await writeFile(name, 'earlier')
    const { code, err } = await runCommand(settings(large.url), ['backup', name])
    expect({ code, err }).toEqual({
      code: 1,
      err: `No backup was made: ${name} cannot be written: no space is left there.\n`,
    })
    expect(await readdir(place)).toEqual(['full.backup'])
    expect(await readFile(name, 'utf8')).toBe('earlier')
  }

  it('is full: the sentence says so, and the earlier backup is still there', async () => {
    const small = await smallFolder(1)
    try {
      if (small) await expectFullDisk(small.folder)
    } finally {
      await small?.remove()
    }
    const { exited } = start(large.url, ['backup', '-'], openSync('/dev/full', 'w'))
    expect(await exited).toMatchObject({ code: 1, err: expect.stringContaining('no space is left there') })
  })

  it('is a pipe whose reader goes away', async () => {
    const { child, exited } = start(large.url, ['backup', '-'])
    child.stdout?.once('data', () => child.stdout?.destroy())
    expect(await exited).toMatchObject({ code: 1, err: expect.stringContaining('nothing reads it') })
  })

  it('is a database whose disk is full: nothing of the restore stays', async () => {
    const server = await startPostgres()
    const disk = await smallDisk(server)
    const whole = join(folder, 'large.backup')
    expect(await runCommand(settings(large.url), ['backup', whole])).toMatchObject({ code: 0 })
    if (disk.isReal) {
      const { code, err } = await restore(disk.url, [whole])
      expect(code).toBe(1)
      expect(err).toMatch(/^The database gave up: could not [^\n]*No space left on device[^\n]*\n$/)
      expect(await restore(disk.url)).toMatchObject({ code: 0, err: '' })
      expect(await usersIn(disk.url)).toBe(3)
    }
    await disk.remove()
    await server.stop()
  })
})

describe('kill -9', () => {
  it('in the middle of a backup leaves nothing under its name', async () => {
    const name = join(folder, 'killed.backup')
    await writeFile(name, 'earlier')
    const { child, exited } = start(large.url, ['backup', name])
    const unfinished = async () => (await readdir(folder)).find((each) => each.startsWith('killed.backup.unfinished-'))
    const isWriting = async () => {
      const found = await unfinished()
      return found !== undefined && (await stat(join(folder, found)).catch(() => undefined))?.size !== 0
    }
    await until('the backup is being written', isWriting)
    child.kill('SIGKILL')
    expect((await exited).code).toBeNull()
    expect(await readFile(name, 'utf8')).toBe('earlier')
    expect(await unfinished()).toBeDefined()
  })

  it('in the middle of a restore leaves nothing in the database', async () => {
    for (const open of [emptyPostgres, freshPostgres])
      await withDatabase(async (url) => {
        const running = await startHalfRestore(url)
        running.child.kill('SIGKILL')
        await running.exited
        expect(await usersIn(url)).toBe(open === emptyPostgres ? 'no tables' : 0)
        expect(await restore(url)).toMatchObject({ code: 0, err: '' })
      }, open)
  })

  it('is not needed: Ctrl-C ends a backup and removes what it has written', async () => {
    const { child, exited } = start(large.url, ['backup', join(folder, 'interrupted.backup')])
    const files = async () => (await readdir(folder)).filter((each) => each.startsWith('interrupted.backup'))
    await until('the backup has begun', async () => (await files()).length > 0)
    child.kill('SIGINT')
    expect(await exited).toEqual({ code: 130, err: 'No backup was made: it was interrupted.\n' })
    expect(await files()).toEqual([])
  })
})
