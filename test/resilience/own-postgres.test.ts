import { execFile, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openNouns } from '../../src/commands/open-nouns.js'
import { loadConfig } from '../../src/config.js'
import type { Database } from '../../src/platform/database/database.js'
import { createPostgres } from '../../src/platform/database/open.js'
import { usualAccount } from '../../src/platform/own-postgres/account.js'
import { isThrownAway, requireSafeFolder } from '../../src/platform/own-postgres/folder-checks.js'
import { DataDirectoryInUse, DataDirectoryOfAnotherUser } from '../../src/platform/own-postgres/folder-faults.js'
import { lockDirectory } from '../../src/platform/own-postgres/folder-lock.js'
import {
  clusterFolder,
  OtherVersionRuns,
  type OwnConfig,
  type OwnPostgres,
  openForCommand,
  openForService,
} from '../../src/platform/own-postgres/own-postgres.js'
import { findPrograms } from '../../src/platform/own-postgres/programs.js'
import { addressOfRunning, placeFor, startServer } from '../../src/platform/own-postgres/server.js'
import { inLongRun } from '../support/long-run.js'
import { childrenOf, hasEnded, sendSignal } from '../support/servers/processes.js'
import { findTestProgram } from '../support/servers/programs.js'
import { until } from '../support/until.js'

const run = promisify(execFile)
const writerFile = fileURLToPath(new URL('./own-postgres-writer.mjs', import.meta.url))
const modules = fileURLToPath(new URL('../../dist/modules', import.meta.url))
const isRoot = process.getuid?.() === 0

let folder: string
let dataDir: string
const opened: { close(): Promise<void> }[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-own-'))
  dataDir = join(folder, 'data')
})
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
  await rm(folder, { recursive: true, force: true })
})

const configFor = (more: Partial<OwnConfig> = {}): OwnConfig => ({
  dataDir,
  production: false,
  postgresBin: undefined,
  jwtSecret: undefined,
  sealingKey: undefined,
  maxConnections: 20,
  ...more,
})

type Line = { level: string; message: string; details: object }
const createTestLog = () => {
  const lines: Line[] = []
  const at = (level: string) => (details: object, message: string) => void lines.push({ level, message, details })
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
type TestLog = ReturnType<typeof createTestLog>
const said = ({ lines }: TestLog) => lines.filter(({ level }) => level !== 'debug').map(({ message }) => message)

const keep = <Part extends { close(): Promise<void> }>(part: Part) => {
  opened.push(part)
  return part
}

const serve = async (more: Partial<OwnConfig> = {}, log = createTestLog(), settings = {}) =>
  keep(await openForService({ config: configFor(more), log, settingsForCommands: settings }))

const databaseAt = (url: string) =>
  keep(createPostgres({ url, poolSize: 2, connectTimeoutMs: 10_000, statementTimeoutMs: 10_000 }))
const asOwner = ({ settings }: OwnPostgres) => databaseAt(settings.databaseOwnerUrl)

/** Closes what was opened last, in the reverse order, down to and with this one. */
const close = async (part: { close(): Promise<void> }) => {
  for (;;) {
    const last = opened.pop()
    await last?.close()
    if (last === part || last === undefined) return
  }
}

const processFile = () => join(clusterFolder(dataDir), 'postmaster.pid')
const serverPid = () => Number(readFileSync(processFile(), 'utf8').split('\n')[0])

const startWriter = (kind: 'service' | 'command') => {
  const child = spawn(process.execPath, [writerFile, modules, dataDir, kind], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    pid: child.pid ?? 0,
    ended,
    /** The last number whose commit was answered. A line that was cut by the kill does not count. */
    acknowledged: () =>
      Number(
        output
          .split('\n')
          .slice(0, -1)
          .findLast((line) => /^\d+$/.test(line)) ?? 0,
      ),
    writes: (count: number) => {
      const before = output.split('\n').length
      return until('it writes', () => child.exitCode !== null || output.split('\n').length > before + count)
    },
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

const readBack = async (database: Database) => {
  const [row] = await database.query<{ last: number; count: number; whole: boolean }>(
    'select coalesce(max(id), 0) as last, count(*) as count, coalesce(bool_and(half = id), true) as whole from written',
  )
  return row
}

describe('the database that the service brings along', () => {
  it('is made once, is closed to others, and has the roles of a real installation', async () => {
    const log = createTestLog()
    const own = await serve({}, log)
    expect(said(log)).toEqual([`made a new database in ${dataDir}`])
    const owner = asOwner(own)
    await owner.query('create table kept as select 42 as answer')
    await owner.query('grant select on kept to latchkey')
    const service = databaseAt(own.settings.databaseUrl)
    expect(await service.query('select answer from kept')).toEqual([{ answer: 42 }])
    for (const statement of [
      'create table mine (x integer)',
      'drop table kept',
      'create temporary table t (x integer)',
    ])
      await expect(service.query(statement), statement).rejects.toMatchObject({ code: '42501' })
    const names = ['fsync', 'full_page_writes', 'synchronous_commit', 'listen_addresses', 'data_checksums']
    const settings = await owner.query<{ value: string }>(
      'select current_setting(name) as value from unnest($1::text[]) as name',
      [names],
    )
    expect(settings.map(({ value }) => value)).toEqual(['on', 'on', 'on', '', 'on'])
    const [text] = await owner.query(
      "select lower('ÄÉ') as lower, 'b' < 'a' collate \"default\" as sorted, current_setting('server_encoding') as encoding",
    )
    expect(text).toEqual({ lower: 'äé', sorted: false, encoding: 'UTF8' })

    expect((await stat(clusterFolder(dataDir))).mode & 0o777).toBe(0o700)
    expect((await stat(join(dataDir, 'secrets'))).mode & 0o777).toBe(0o700)
    const wrong = databaseAt(own.settings.databaseUrl.replace(/:[\da-f]+@/, ':wrong@'))
    await expect(wrong.query('select 1')).rejects.toThrow(/password authentication failed/)
    const superuser = databaseAt(own.settings.databaseUrl.replace('latchkey:', 'postgres:'))
    await expect(superuser.query('select 1')).rejects.toThrow(/no pg_hba\.conf entry/)

    await close(own)
    const again = await serve()
    expect(again.settings).toEqual(own.settings)
    expect(await asOwner(again).query('select answer from kept')).toEqual([{ answer: 42 }])
    await close(again)
    expect((await readdir(dataDir)).sort()).toEqual(
      ['libraries', 'postgres', 'secrets'].filter((name) => existsSync(join(dataDir, name))),
    )
  })

  it('loses nothing that was answered, whoever is killed at whatever moment', async () => {
    for (const kind of ['service', 'command'] as const) {
      let acknowledged = 0
      for (let round = 0; round < inLongRun(50, 3); round += 1) {
        const writer = startWriter(kind)
        await writer.writes(10)
        await wait(Math.random() * 200)
        if (round % 3 === 1) {
          // PostgreSQL itself: it is started again, and the writer goes on.
          const [victim = 0] = [serverPid(), ...childrenOf(serverPid())].sort(() => Math.random() - 0.5)
          sendSignal(victim, 'SIGKILL')
          await writer.writes(10)
        }
        if (round % 3 === 2) sendSignal(serverPid(), 'SIGKILL')
        await writer.kill()
        const database = asOwner(await serve())
        const row = await readBack(database)
        expect(writer.acknowledged()).toBeGreaterThan(acknowledged)
        acknowledged = writer.acknowledged()
        // One more may have been committed and not answered any more.
        expect(row?.last).toBeGreaterThanOrEqual(acknowledged)
        expect(row?.count).toBe(row?.last)
        expect(row?.whole).toBe(true)
        for (const each of opened.splice(0).reverse()) await each.close()
      }
    }
  })

  it('is whole or not there when its first start is interrupted', async () => {
    for (const moment of inLongRun([0, 100, 300, 600, 900, 1200], [0, 500])) {
      const writer = startWriter('service')
      await until(
        'it makes the cluster',
        () => existsSync(dataDir) && readdirSync(dataDir).some((n) => n.includes('.new-')),
      )
      await Promise.race([wait(moment), writer.ended])
      await writer.kill()
      if (existsSync(clusterFolder(dataDir))) expect(existsSync(join(clusterFolder(dataDir), 'PG_VERSION'))).toBe(true)
    }
    await asOwner(await serve()).query('select 1')
    expect((await readdir(dataDir)).filter((name) => name.includes('.new-'))).toEqual([])
  })

  it('is started again when it ends by itself, and the service says so', async () => {
    const log = createTestLog()
    const own = await serve({}, log)
    const database = asOwner(own)
    await database.query('create table kept as select 1 as one')
    for (let round = 0; round < 2; round += 1) {
      const pid = serverPid()
      sendSignal(pid, 'SIGKILL')
      await until(
        'another one runs',
        () => existsSync(processFile()) && serverPid() !== pid && serverPid() !== process.pid,
      )
      await expect.poll(async () => database.query('select one from kept').catch(() => undefined)).toEqual([{ one: 1 }])
    }
    expect(said(log).filter((each) => each === 'PostgreSQL has ended by itself, and is started again')).toHaveLength(2)
  })

  it('is stopped in time although a statement runs, and leaves no process', async () => {
    const own = await serve()
    const running = asOwner(own).query('select pg_sleep(60)')
    running.catch(() => undefined)
    await wait(200)
    const pid = serverPid()
    const startedAt = performance.now()
    await own.close()
    expect(performance.now() - startedAt).toBeLessThan(8_000)
    expect(hasEnded(pid)).toBe(true)
    await expect(running).rejects.toThrow()
  })
})

describe('one folder has one owner', () => {
  it('a second service is told which process has the folder, and changes nothing', async () => {
    await serve()
    await expect(openForService({ config: configFor(), log: createTestLog() })).rejects.toThrow(
      `in use by another running Latchkey, process ${process.pid}: stop that one first`,
    )
  })

  it('a service waits for a command that has it, and an orphan of a killed one is stopped and never taken over', async () => {
    const writer = startWriter('command')
    await writer.writes(3)
    const log = createTestLog()
    const starting = openForService({ config: configFor(), log })
    await until('it waits', () => said(log).length > 0)
    const orphan = serverPid()
    await writer.kill()
    keep(await starting)
    expect(said(log)).toEqual([
      'a command uses the data directory: waiting until it has ended',
      'a PostgreSQL that a killed service had left was stopped',
    ])
    expect(hasEnded(orphan)).toBe(true)
    expect(serverPid()).not.toBe(orphan)
  })

  it('starts although the number in the process file is by now that of another process, and keeps the file', async () => {
    const own = await serve()
    await asOwner(own).query('create table kept as select 1 as one')
    const left = await readFile(processFile(), 'utf8')
    await close(own)
    // What a killed PostgreSQL leaves, with the number of a process that lives: this one's parent, and a thread of this one.
    const threads = existsSync('/proc/self/task') ? readdirSync('/proc/self/task') : []
    for (const pid of [process.ppid, ...threads.slice(1, 2)]) {
      await writeFile(processFile(), left.replace(/^\d+/, String(pid)), { mode: 0o600 })
      const again = await serve()
      expect(await asOwner(again).query('select one from kept')).toEqual([{ one: 1 }])
      await close(again)
    }
  })

  // Only where processes can be hidden from each other, as in two containers on one volume.
  if (isRoot)
    it('refuses a cluster that a PostgreSQL in another container uses', async () => {
      await close(await serve())
      const parts = [
        '--pid',
        '--fork',
        '--ipc',
        '--mount-proc',
        process.execPath,
        writerFile,
        modules,
        dataDir,
        'service',
      ]
      const container = spawn('unshare', parts, { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = new Promise((resolve) => container.once('close', resolve))
      await new Promise((resolve) => container.stdout.once('data', resolve))
      try {
        await expect(openForService({ config: configFor(), log: createTestLog() })).rejects.toThrow(DataDirectoryInUse)
        // Without the lock, as if its file system held no sockets: the number in the file is someone else's here.
        for (const name of (await readdir(dataDir)).filter((each) => each.includes('.lock-')))
          await rm(join(dataDir, name))
        await expect(openForService({ config: configFor(), log: createTestLog() })).rejects.toThrow(
          /Another PostgreSQL uses .*, which cannot be stopped from here: it runs in another container/,
        )
      } finally {
        for (const pid of childrenOf(container.pid ?? 0)) sendSignal(pid, 'SIGKILL')
        await ended
      }
    })

  it('works in a folder whose path is longer than that of a socket may be', async () => {
    dataDir = join(folder, 'a-rather-long-name-of-a-folder'.repeat(3), 'b'.repeat(80), 'data')
    await mkdir(dirname(dataDir), { recursive: true })
    const own = await serve()
    expect(await asOwner(own).query('select 1 as one')).toEqual([{ one: 1 }])
    const beside = keep(await openForCommand({ config: configFor(), log: createTestLog() }))
    expect(await asOwner(beside).query('select 2 as two')).toEqual([{ two: 2 }])
  })

  it('listens in a folder of its own where the file system holds no sockets, and commands find it', async () => {
    await close(await serve())
    const account = await usualAccount()
    if (!account) throw new Error('This machine allows no user namespaces')
    const programs = await findPrograms({
      account,
      chosenFolder: undefined,
      librariesFolder: join(dataDir, 'libraries'),
      clusterMajor: undefined,
    })
    const place = await placeFor(clusterFolder(dataDir), false)
    const parts = { programs, account, folder: clusterFolder(dataDir), place, maxConnections: 10 }
    const server = await startServer(parts)
    expect(readdirSync(clusterFolder(dataDir))).not.toContain('.s.PGSQL.5432')
    expect((await addressOfRunning(clusterFolder(dataDir)))?.address).toEqual(place.address)
    await chmod(place.address.host, 0o755)
    expect(await addressOfRunning(clusterFolder(dataDir))).toBeUndefined()
    await server.stop()
    await place.remove()
  })
})

describe('a start that would lose or mix up something is refused with one sentence', () => {
  const refusal = async (more: Partial<OwnConfig> = {}) => {
    const error = await openForService({ config: configFor(more), log: createTestLog() }).then(
      (own) => {
        keep(own)
        throw new Error('It was not refused')
      },
      (reason: Error) => reason,
    )
    expect(error.message).toMatch(/^[^\n]+$/)
    return error.message
  }

  it('with other files where the cluster would be', async () => {
    await mkdir(clusterFolder(dataDir), { recursive: true })
    await writeFile(join(clusterFolder(dataDir), 'cat.jpg'), 'meow')
    expect(await refusal()).toContain('holds files, but no database')
    expect(await readdir(clusterFolder(dataDir))).toEqual(['cat.jpg'])
  })

  it('with a folder that cannot be written', async () => {
    await writeFile(join(folder, 'file'), '')
    dataDir = join(folder, 'file', 'data')
    expect(await refusal()).toContain('cannot be written to')
  })

  it('with secrets that were lost beside the cluster, and never makes new ones', async () => {
    await close(await serve())
    for (const name of ['jwt_secret', 'sealing_key', 'postgres_owner', 'postgres_service']) {
      const file = join(dataDir, 'secrets', name)
      await rename(file, join(folder, 'kept'))
      expect(await refusal()).toMatch(
        new RegExp(`^The file ${name} is missing in .*secrets, and the database beside it needs it`),
      )
      expect(existsSync(file)).toBe(false)
      await rename(join(folder, 'kept'), file)
    }
    await rm(join(dataDir, 'secrets', 'jwt_secret'))
    const given = 'a'.repeat(64)
    const own = await serve({ jwtSecret: [given] })
    expect(own.settings.jwtSecret).toEqual([given])
  })

  it('with a cluster of another major version, or of none', async () => {
    await close(await serve())
    const file = join(clusterFolder(dataDir), 'PG_VERSION')
    const version = await readFile(file, 'utf8')
    await writeFile(file, '14\n')
    expect(await refusal()).toMatch(/was made by PostgreSQL 14, and here is PostgreSQL 1\d.*: set POSTGRES_BIN/)
    await writeFile(file, 'nonsense')
    expect(await refusal()).toContain('is damaged')
    await writeFile(file, version)
    await rm(join(clusterFolder(dataDir), 'global/pg_control'))
    expect(await refusal()).toMatch(/^PostgreSQL does not start in .*pg_control/)
  })

  it('with programs that do not run here', async () => {
    const programs = join(folder, 'bin')
    await mkdir(programs)
    expect(await refusal({ postgresBin: programs })).toContain('where no PostgreSQL 15 or newer runs')
    for (const name of ['postgres', 'initdb'])
      await writeFile(join(programs, name), '\u007fELF of another machine', { mode: 0o755 })
    expect(await refusal({ postgresBin: programs })).toContain('where no PostgreSQL 15 or newer runs')
    for (const name of ['postgres', 'initdb'])
      await writeFile(join(programs, name), '#!/bin/sh\necho "postgres (PostgreSQL) 14.9"\n', { mode: 0o755 })
    expect(await refusal({ postgresBin: programs })).toContain('where no PostgreSQL 15 or newer runs')
  })

  it('takes the programs that POSTGRES_BIN names, of another major version too', async () => {
    const initdb = findTestProgram('initdb')
    if (!initdb) throw new Error('The tests need the PostgreSQL of the machine')
    const { stdout } = await run('readlink', ['-f', initdb])
    const own = await serve({ postgresBin: dirname(stdout.trim()) })
    const [row] = await asOwner(own).query<{ text: string }>("select lower('ÄÉ') as text")
    expect(row?.text).toBe('äé')
  })

  it('with a folder that is open to others, as some platforms leave it, is closed and used', async () => {
    await close(await serve())
    await chmod(clusterFolder(dataDir), 0o770)
    await serve()
    expect((await stat(clusterFolder(dataDir))).mode & 0o777).toBe(0o700)
  })

  it('in a container whose file system is thrown away, and on a network file system', () => {
    const root = '20 1 0:30 / / rw,relatime - overlay overlay rw\n21 20 0:31 / /proc rw - proc proc rw\n'
    expect(isThrownAway('/data', root, false)).toBe(true)
    expect(isThrownAway('/data/deep', `${root}22 20 8:1 /v /data rw - ext4 /dev/sda rw\n`, false)).toBe(false)
    expect(isThrownAway('/database', `${root}22 20 8:1 /v /data rw - ext4 /dev/sda rw\n`, false)).toBe(true)
    const machine = '20 1 8:1 / / rw,relatime - ext4 /dev/sda rw\n'
    expect(isThrownAway('/data', machine, false)).toBe(false)
    expect(isThrownAway('/data', machine, true)).toBe(true)
  })

  if (isRoot)
    it('as root in production', async () => {
      await expect(requireSafeFolder(dataDir)).rejects.toThrow(
        /^Latchkey does not run as root in production, .*: start it as a user/,
      )
    })

  // A disk in memory needs root.
  if (isRoot)
    it('with a full disk, and comes back by itself when there is room', async () => {
      await mkdir(dataDir)
      await run('mount', ['-t', 'tmpfs', '-o', 'size=120m,mode=700', 'latchkey-test', dataDir])
      try {
        const log = createTestLog()
        const own = await serve({}, log)
        const database = asOwner(own)
        await database.query('create table kept as select 1 as one')
        const filling = join(dataDir, 'filling')
        await run('dd', ['if=/dev/zero', `of=${filling}`, 'bs=64k']).catch(() => undefined)
        const fill = () => database.query('insert into kept select n from generate_series(1, 2000000) as n')
        await expect(fill()).rejects.toThrow()
        await rm(filling)
        await expect
          .poll(async () => database.query('select count(*)::int as kept from kept').catch(() => undefined), {
            timeout: 60_000,
          })
          .toEqual([{ kept: 1 }])
        await close(own)
        await run('dd', ['if=/dev/zero', `of=${filling}`, 'bs=64k']).catch(() => undefined)
        await rm(clusterFolder(dataDir), { recursive: true })
        await run('dd', ['if=/dev/zero', `of=${join(dataDir, 'more')}`, 'bs=64k']).catch(() => undefined)
        expect(await refusal()).toContain('its disk is full')
        expect((await readdir(dataDir)).filter((name) => name.includes('.new-'))).toEqual([])
      } finally {
        for (const each of opened.splice(0).reverse()) await each.close()
        await run('umount', ['--lazy', dataDir])
      }
    })
})

describe('who runs it', () => {
  /** As a process of this user, with what its environment has. */
  const writerAs = (identity: { uid?: number; gid?: number; PATH?: string }) => {
    const { PATH = process.env.PATH, ...ids } = identity
    const child = spawn(process.execPath, [writerFile, modules, dataDir, 'service'], {
      ...ids,
      env: { PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const ended = new Promise((resolve) => child.once('close', resolve))
    const writes = () => until('it writes', () => child.exitCode !== null || /^\d+$/m.test(output))
    const end = async () => {
      child.kill('SIGKILL')
      await ended
    }
    return { writes, end, output: () => output }
  }

  if (isRoot)
    it('a user number without a name is told what to do, and can start on a cluster that exists', async () => {
      await chmod(folder, 0o755)
      await mkdir(dataDir)
      await chown(dataDir, 54_321, 54_321)
      const nameless = writerAs({ uid: 54_321, gid: 54_321 })
      await nameless.writes()
      await nameless.end()
      expect(nameless.output()).toContain('PostgreSQL makes no database for the user number 54321, which has no name')
    })

  if (isRoot)
    it('root without user namespaces uses another user, and a folder that this user can reach', async () => {
      // Without `unshare` on the PATH.
      const bin = join(folder, 'bin')
      await mkdir(bin)
      const rootWithout = writerAs({ PATH: bin })
      await rootWithout.writes()
      expect(rootWithout.output()).toMatch(/^\d+$/m)
      const [link = ''] = readdirSync('/var/lib/latchkey').filter((name) =>
        existsSync(`/var/lib/latchkey/${name}/postgres`),
      )
      const owner = await stat(`/var/lib/latchkey/${link}/postgres`)
      expect(owner.uid).not.toBe(0)
      await rootWithout.end()
      const [pid] = (await readFile(`/var/lib/latchkey/${link}/postgres/postmaster.pid`, 'utf8')).split('\n')
      sendSignal(Number(pid), 'SIGQUIT')
      await until('it ends', () => hasEnded(Number(pid)))
      await rm(`/var/lib/latchkey/${link}`, { recursive: true })
    })
})

describe('commands', () => {
  let home: string
  let service: OwnPostgres
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'latchkey-own-'))
    service = await openForService({
      config: { ...configFor(), dataDir: home },
      log: createTestLog(),
      settingsForCommands: { PUBLIC_URL: 'https://auth.example.com' },
    })
  })
  afterAll(async () => {
    await service.close()
    await rm(home, { recursive: true })
  })
  const command = () => openForCommand({ config: configFor({ dataDir: home }), log: createTestLog() })

  it('work beside the service, each with connections and roles of its own', async () => {
    const commands = await Promise.all(Array.from({ length: 5 }, command))
    for (const each of commands) {
      keep(each)
      expect(each.settings.databaseUrl).toBe(service.settings.databaseUrl)
      expect(await asOwner(each).query('select current_user::text as name')).toEqual([{ name: 'latchkey_owner' }])
    }
  })

  it('refuse a service of another version', async () => {
    await mkdir(dataDir)
    const lock = await lockDirectory(clusterFolder(dataDir), 'service')
    lock.admit((socket) => void socket.once('data', () => socket.end('{"version":"99.0.0"}\n')))
    const refused = openForCommand({ config: configFor(), log: createTestLog() })
    await expect(refused).rejects.toThrow(OtherVersionRuns)
    await expect(refused).rejects.toThrow(/is version 99\.0\.0, and this command is version \d/)
    await lock.release()
  })

  it('make no new database in a folder that has none, nor in one that was not named with DATA_DIR', async () => {
    await expect(openForCommand({ config: configFor(), log: createTestLog() })).rejects.toThrow(
      `There is no database in ${dataDir}: set DATA_DIR`,
    )
    const started = process.cwd()
    process.chdir(folder)
    try {
      await expect(openNouns(loadConfig({ NODE_ENV: 'test' }), 'service role')).rejects.toThrow(
        'There is no database in',
      )
    } finally {
      process.chdir(started)
    }
    expect(await readdir(folder)).toEqual([])
  })

  // Only root could be led by the service of another user: to all others its socket is closed.
  if (isRoot)
    it('believe no service of another user, and no socket in a folder of another user', async () => {
      await mkdir(dataDir)
      const lock = await lockDirectory(clusterFolder(dataDir), 'service')
      const [socket = ''] = await readdir(dataDir)
      await chown(join(dataDir, socket), 12_345, 0)
      await expect(openForCommand({ config: configFor(), log: createTestLog() })).rejects.toThrow(
        DataDirectoryOfAnotherUser,
      )
      await lock.release()
    })

  // A process of its own, because it stays that other user.
  if (isRoot)
    it('of root become the owner of the folder before they touch anything', async () => {
      await chmod(folder, 0o755)
      await mkdir(dataDir)
      const [uid = 0, gid = 0] = await Promise.all(
        ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'nobody'])).stdout)),
      )
      await chown(dataDir, uid, gid)
      const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
      const env = { PATH: process.env.PATH, DATA_DIR: dataDir }
      const { stdout } = await run(process.execPath, [main, 'group', 'add', 'staff'], { env, cwd: folder })
      expect(stdout).toBe('Made the group staff.\n')
      const found = await run('find', [dataDir, '!', '-user', 'nobody'])
      expect(found.stdout).toBe('')
    })

  if (isRoot)
    it('say as whom to run them if the folder may not be read', async () => {
      await mkdir(dataDir, { mode: 0o700 })
      process.seteuid?.(12_345)
      try {
        await expect(openForCommand({ config: configFor(), log: createTestLog() })).rejects.toThrow(
          /cannot be read: run this as the user of/,
        )
      } finally {
        process.seteuid?.(0)
      }
    })
})

it('a copy of the stopped folder is a whole database', async () => {
  const own = await serve()
  await asOwner(own).query('create table kept as select 1 as one')
  await close(own)
  const copy = join(folder, 'copy')
  await cp(dataDir, copy, { recursive: true })
  dataDir = copy
  expect(await asOwner(await serve()).query('select one from kept')).toEqual([{ one: 1 }])
})
