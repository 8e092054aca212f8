import { execFile, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import type { Database } from '../../src/platform/database/database.js'
import {
  DataDirectoryInUse,
  DataDirectoryOfAnotherUser,
  lockDirectory,
} from '../../src/platform/own-postgres/folder-lock.js'
import {
  clusterFolder,
  OtherVersionRuns,
  type OwnPostgres,
  openForCommand,
  openForService,
} from '../../src/platform/own-postgres/own-postgres.js'
import { findPrograms, usualAccount } from '../../src/platform/own-postgres/programs.js'

import { addressOfRunning, placeFor, startServer } from '../../src/platform/own-postgres/server.js'
import { loadConfig } from '../../src/settings/config.js'
import { inLongRun } from '../support/long-run.js'
import { createTestLog, useOwnPostgres } from '../support/own-postgres.js'
import { childrenOf, hasEnded, sendSignal } from '../support/servers/processes.js'
import { until } from '../support/until.js'

const run = promisify(execFile)
const writerFile = fileURLToPath(new URL('./own-postgres-writer.mjs', import.meta.url))
const modules = fileURLToPath(new URL('../../dist/modules', import.meta.url))
const mainFile = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const isRoot = process.getuid?.() === 0

const { at, configFor, keep, closeAll, databaseAt, serve, asOwner, close } = useOwnPostgres()

const said = ({ lines }: ReturnType<typeof createTestLog>) =>
  lines.filter(({ level }) => level !== 'debug').map(({ message }) => message)

const processFile = () => join(clusterFolder(at.dataDir), 'postmaster.pid')
const serverPid = () => Number(readFileSync(processFile(), 'utf8').split('\n')[0])

const startWriter = (kind: 'service' | 'command') => {
  const child = spawn(process.execPath, [writerFile, modules, at.dataDir, kind], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
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
    expect(said(log)).toEqual([`made a new database in ${at.dataDir}`])
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

    expect((await stat(clusterFolder(at.dataDir))).mode & 0o777).toBe(0o700)
    expect((await stat(join(at.dataDir, 'secrets'))).mode & 0o777).toBe(0o700)
    const wrong = databaseAt(own.settings.databaseUrl.replace(/:[\da-f]+@/, ':wrong@'))
    await expect(wrong.query('select 1')).rejects.toThrow(/password authentication failed/)
    const superuser = databaseAt(own.settings.databaseUrl.replace('latchkey:', 'postgres:'))
    await expect(superuser.query('select 1')).rejects.toThrow(/no pg_hba\.conf entry/)

    await close(own)
    const again = await serve()
    expect(again.settings).toEqual(own.settings)
    expect(await asOwner(again).query('select answer from kept')).toEqual([{ answer: 42 }])
    await close(again)
    expect((await readdir(at.dataDir)).sort()).toEqual(
      ['libraries', 'postgres', 'secrets'].filter((name) => existsSync(join(at.dataDir, name))),
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
        await closeAll()
      }
    }
  })

  it('is whole or not there when its first start is interrupted', async () => {
    for (const moment of inLongRun([0, 100, 300, 600, 900, 1200], [0, 500])) {
      const writer = startWriter('service')
      await until(
        'it makes the cluster',
        () => existsSync(at.dataDir) && readdirSync(at.dataDir).some((n) => n.includes('.new-')),
      )
      await Promise.race([wait(moment), writer.ended])
      await writer.kill()
      if (existsSync(clusterFolder(at.dataDir)))
        expect(existsSync(join(clusterFolder(at.dataDir), 'PG_VERSION'))).toBe(true)
    }
    await asOwner(await serve()).query('select 1')
    expect((await readdir(at.dataDir)).filter((name) => name.includes('.new-'))).toEqual([])
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

  it('ends when it is closed while its PostgreSQL is being started again', async () => {
    const own = await serve()
    sendSignal(serverPid(), 'SIGKILL')
    await wait(30)
    await close(own)
    // The one that was killed has left its file, if the next had not begun.
    const runs = () => {
      try {
        return existsSync(processFile()) && process.kill(serverPid(), 0)
      } catch {
        return false
      }
    }
    await expect.poll(runs).toBe(false)
  })

  it('gives its password to nobody who listens in its place', async () => {
    const own = await serve()
    const place = join(at.folder, 'elsewhere')
    await mkdir(place)
    const said: string[] = []
    const ask = (kind: number) => Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, kind])
    // Asks for the password as it is, and then for none at all.
    for (const kind of [3, 0]) {
      const impostor = createServer((socket) => {
        socket
          .on('error', () => undefined)
          .once('data', () => {
            socket.write(Buffer.concat([ask(kind), ...(kind === 0 ? [Buffer.from([0x5a, 0, 0, 0, 5, 0x49])] : [])]))
            socket.on('data', (chunk) => said.push(chunk.toString('latin1')))
          })
      })
      await new Promise<void>((resolve) => impostor.listen(join(place, '.s.PGSQL.5432'), resolve))
      const url = own.settings.databaseUrl.replace(/@[^/]+/, `@${encodeURIComponent(place)}`)
      await expect(databaseAt(url).query('select 1')).rejects.toThrow(/Something else than our own PostgreSQL answers/)
      impostor.close()
    }
    expect(said.join('')).not.toMatch(/[\da-f]{96}|select/)
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

describe('one at.folder has one owner', () => {
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
        at.dataDir,
        'service',
      ]
      const container = spawn('unshare', parts, { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = new Promise((resolve) => container.once('close', resolve))
      await new Promise((resolve) => container.stdout.once('data', resolve))
      try {
        await expect(openForService({ config: configFor(), log: createTestLog() })).rejects.toThrow(DataDirectoryInUse)
        // Without the lock, as if its file system held no sockets: the number in the file is someone else's here.
        for (const name of (await readdir(at.dataDir)).filter((each) => each.includes('.lock-')))
          await rm(join(at.dataDir, name))
        await expect(openForService({ config: configFor(), log: createTestLog() })).rejects.toThrow(
          /Another PostgreSQL uses .*, which cannot be stopped from here: it runs in another container/,
        )
      } finally {
        for (const pid of childrenOf(container.pid ?? 0)) sendSignal(pid, 'SIGKILL')
        await ended
      }
    })

  it('works in a folder whose path is longer than that of a socket may be', async () => {
    at.dataDir = join(at.folder, 'a-rather-long-name-of-a-folder'.repeat(3), 'b'.repeat(80), 'data')
    await mkdir(dirname(at.dataDir), { recursive: true })
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
      librariesFolder: join(at.dataDir, 'libraries'),
      clusterMajor: undefined,
    })
    const place = await placeFor(clusterFolder(at.dataDir), false)
    const parts = { programs, account, folder: clusterFolder(at.dataDir), place, maxConnections: 10 }
    const server = await startServer(parts)
    expect(readdirSync(clusterFolder(at.dataDir))).not.toContain('.s.PGSQL.5432')
    expect((await addressOfRunning(clusterFolder(at.dataDir)))?.address).toEqual(place.address)
    await chmod(place.address.host, 0o755)
    expect(await addressOfRunning(clusterFolder(at.dataDir))).toBeUndefined()
    await server.stop()
    await place.remove()
  })
})

describe('who runs it', () => {
  /** As a process of this user, with what its environment has. */
  const writerAs = (identity: { uid?: number; gid?: number; PATH?: string }) => {
    const { PATH = process.env.PATH, ...ids } = identity
    const child = spawn(process.execPath, [writerFile, modules, at.dataDir, 'service'], {
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
      await chmod(at.folder, 0o755)
      await mkdir(at.dataDir)
      await chown(at.dataDir, 54_321, 54_321)
      const nameless = writerAs({ uid: 54_321, gid: 54_321 })
      await nameless.writes()
      await nameless.end()
      expect(nameless.output()).toContain('PostgreSQL makes no database for the user number 54321, which has no name')
    })

  if (isRoot)
    it('root without user namespaces uses another user, and a folder that this user can reach', async () => {
      // Without `unshare` on the PATH.
      const bin = join(at.folder, 'bin')
      await mkdir(bin)
      const rootWithout = writerAs({ PATH: bin })
      await rootWithout.writes()
      expect(rootWithout.output()).toMatch(/^\d+$/m)
      const [link = ''] = readdirSync('/var/lib/latchkey').filter((name) =>
        existsSync(`/var/lib/latchkey/${name}/postgres`),
      )
      const owner = await stat(`/var/lib/latchkey/${link}/postgres`)
      expect(owner.uid).not.toBe(0)
      const processFile = `/var/lib/latchkey/${link}/postgres/postmaster.pid`
      const pidNow = () => Number(readFileSync(processFile, 'utf8').split('\n')[0])
      const killed = pidNow()
      sendSignal(killed, 'SIGKILL')
      await until(
        'it runs again',
        () => existsSync(processFile) && pidNow() !== killed && childrenOf(pidNow()).length > 0,
      )
      const env = { PATH: bin, DATA_DIR: at.dataDir }
      const command = () => run(process.execPath, [mainFile, 'user', 'list'], { env, cwd: at.folder })
      // It has reached the database, in which the writer has made a table.
      await expect.poll(() => command().catch((error: Error) => error.message)).toMatch(/has the tables written/)
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
    await mkdir(at.dataDir)
    const lock = await lockDirectory(clusterFolder(at.dataDir), 'service')
    lock.admit((socket) => void socket.once('data', () => socket.end('{"version":"99.0.0"}\n')))
    const refused = openForCommand({ config: configFor(), log: createTestLog() })
    await expect(refused).rejects.toThrow(OtherVersionRuns)
    await expect(refused).rejects.toThrow(/is version 99\.0\.0, and this command is version \d/)
    await lock.release()
  })

  it('make no new database in a folder that has none, nor in one that was not named with DATA_DIR', async () => {
    await expect(openForCommand({ config: configFor(), log: createTestLog() })).rejects.toThrow(
      `There is no database in ${at.dataDir}: set DATA_DIR`,
    )
    const started = process.cwd()
    process.chdir(at.folder)
    try {
      await expect(openRoomsForCommand(loadConfig({ NODE_ENV: 'test' }), 'service role')).rejects.toThrow(
        'There is no database in',
      )
    } finally {
      process.chdir(started)
    }
    expect(await readdir(at.folder)).toEqual([])
  })

  // Only root could be led by the service of another user: to all others its socket is closed.
  if (isRoot)
    it('believe no service of another user, and no socket in a folder of another user', async () => {
      await mkdir(at.dataDir)
      const lock = await lockDirectory(clusterFolder(at.dataDir), 'service')
      const [socket = ''] = await readdir(at.dataDir)
      await chown(join(at.dataDir, socket), 12_345, 0)
      await expect(openForCommand({ config: configFor(), log: createTestLog() })).rejects.toThrow(
        DataDirectoryOfAnotherUser,
      )
      await lock.release()
    })

  // A process of its own, because it stays that other user.
  if (isRoot)
    it('of root become the owner of the folder before they touch anything', async () => {
      await chmod(at.folder, 0o755)
      await mkdir(at.dataDir)
      const [uid = 0, gid = 0] = await Promise.all(
        ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'nobody'])).stdout)),
      )
      await chown(at.dataDir, uid, gid)
      const env = { PATH: process.env.PATH, DATA_DIR: at.dataDir }
      const { stdout } = await run(process.execPath, [mainFile, 'group', 'add', 'staff'], { env, cwd: at.folder })
      expect(stdout).toBe('Made the group staff.\n')
      const found = await run('find', [at.dataDir, '!', '-user', 'nobody'])
      expect(found.stdout).toBe('')
    })

  if (isRoot)
    it('say as whom to run them if the folder may not be read', async () => {
      await mkdir(at.dataDir, { mode: 0o700 })
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
  const copy = join(at.folder, 'copy')
  await cp(at.dataDir, copy, { recursive: true })
  at.dataDir = copy
  expect(await asOwner(await serve()).query('select one from kept')).toEqual([{ one: 1 }])
})
