import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openNouns } from '../../src/commands/open-nouns.js'
import { loadConfig } from '../../src/config.js'
import { type Database, StoreUnavailable } from '../../src/platform/database/database.js'
import {
  DataDirectoryInUse,
  DataDirectoryOfAnotherUser,
  DataDirectoryUnwritable,
} from '../../src/platform/database/directory-faults.js'
import { lockDirectory } from '../../src/platform/database/directory-lock.js'
import { openDatabase, openEmbeddedForCommand, openEmbeddedForService } from '../../src/platform/database/embedded.js'
import { migrate } from '../../src/platform/database/migrate.js'
import { createPglite } from '../../src/platform/database/pglite.js'
import { createPgliteClient, OtherVersionRuns } from '../../src/platform/database/pglite-client.js'
import { whyNotOpened } from '../../src/platform/database/pglite-fault.js'
import { inLongRun, isLongRun } from '../support/long-run.js'
import { startStopwatch } from '../support/stopwatch.js'
import { until } from '../support/until.js'

const commandFile = fileURLToPath(new URL('./embedded-command.mjs', import.meta.url))
const writerFile = fileURLToPath(new URL('./embedded-writer.mjs', import.meta.url))
const migrations = fileURLToPath(new URL('../../migrations', import.meta.url))
const modules = fileURLToPath(new URL('../../dist/modules', import.meta.url))

let folder: string
let directory: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-data-'))
  directory = join(folder, 'database')
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** One is enough to notice a mistake. `KILL_ROUNDS=100` makes more. */
const rounds = Number(process.env.KILL_ROUNDS ?? inLongRun(5, 1))

const open = (statementTimeoutMs = 20_000) => openDatabase({ embedded: { directory, statementTimeoutMs } })

const startWriter = (place = directory) => {
  const child = spawn(process.execPath, [writerFile, modules, place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  let onOutput = () => {}
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    onOutput()
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    ended,
    output: () => output,
    /** The last number whose commit was answered. A line that was cut by the kill does not count. */
    acknowledged: () =>
      Number(
        output
          .split('\n')
          .slice(0, -1)
          .findLast((line) => /^\d+$/.test(line)) ?? 0,
      ),
    writes: async (count: number) => {
      const enough = () => output.split('\n').length > count + 1
      while (!enough()) {
        await Promise.race([new Promise<void>((resolve) => (onOutput = resolve)), ended])
        if (child.exitCode !== null) throw new Error(`The writer ended: ${output}`)
      }
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

describe('the embedded database', () => {
  it('takes an empty folder that an operator made, waits for a command that has it, and loses nothing that was answered when that one is killed', async () => {
    await mkdir(directory)
    const said: string[] = []
    const say = (_: object, message: string) => void said.push(message)
    const serve = () => openEmbeddedForService({ directory, log: { info: say, warn: say } })
    const first = await serve()
    await first.query('create table kept as select 42 as answer')
    await first.close()
    expect(said).toEqual([`made a new database in ${folder}`])

    let acknowledged = 0
    for (let round = 0; round < rounds; round += 1) {
      const writer = startWriter()
      await writer.writes(5)
      await expect(open()).rejects.toThrow(DataDirectoryInUse)
      // As with `latchkey serve & latchkey user add`, when the command is first.
      said.length = 0
      const starting = serve()
      await until('it waits', () => said.length > 0)
      await wait(Math.random() * 400)
      await writer.kill()
      const second = await starting
      expect(said).toEqual(['a command uses the data directory: waiting until it has ended'])
      expect(await second.query('select answer from kept')).toEqual([{ answer: 42 }])
      const row = await readBack(second)
      await second.close()
      expect(await readdir(folder)).toEqual(['database'])
      expect(writer.acknowledged()).toBeGreaterThan(acknowledged)
      acknowledged = writer.acknowledged()
      // One more may have been committed and not answered any more.
      expect(row?.last).toBeGreaterThanOrEqual(acknowledged)
      expect(row?.count).toBe(row?.last)
      expect(row?.whole).toBe(true)
    }
  })

  it('says that its disk is full, which PGlite does not', async () => {
    const vague = new Error('PGlite failed to initialize properly')
    expect(await whyNotOpened(vague, directory, async () => 4_096)).toContain(`the disk of ${folder} is full`)
    expect(await whyNotOpened(vague, directory, async () => undefined)).toBe(vague.message)
    expect(await whyNotOpened(new Error('ENOSPC: no space left on device, write'), directory)).toContain('is full')
    const cause = Object.assign(new Error('no space'), { code: 'ENOSPC' })
    expect(new DataDirectoryUnwritable(folder, { cause }).message).toContain('its disk is full')
  })

  it('is whole or not there when its first start is interrupted, and the next command makes it in the folder of DATA_DIR', async () => {
    // The first moment at which there is something on the disk, and later ones.
    for (const moment of inLongRun([0, 100, 300], [0])) {
      const writer = startWriter()
      await until('it makes the database', () => readdirSync(folder).some((name) => !name.includes('.lock-')))
      await Promise.race([wait(moment), writer.ended])
      await writer.kill()
      if (existsSync(directory)) expect(existsSync(join(directory, 'PG_VERSION'))).toBe(true)
    }
    const nouns = await openNouns(loadConfig({ NODE_ENV: 'test', DATA_DIR: folder }), 'service role')
    await nouns.database.ping()
    await nouns.close()
    expect(await readdir(folder)).toEqual(['database'])
  })

  // A build that left the template out would make every first start slow, and nothing else would notice.
  if (isLongRun)
    it('starts without a prepared template, only slower', async () => {
      const database = await createPglite({ directory })
      expect(await database.query('select 1 as one')).toEqual([{ one: 1 }])
      await database.close()
    })

  it('leaves a folder with other files alone', async () => {
    const other = join(folder, 'photos')
    await mkdir(other)
    await writeFile(join(other, 'cat.jpg'), 'meow')
    await expect(openDatabase({ embedded: { directory: other } })).rejects.toThrow('holds files, but no database')
    expect(await readdir(other)).toEqual(['cat.jpg'])
  })

  it('gives up on a statement that takes too long and on a transaction that is left open, and is back for the next one', async () => {
    const database = await open(1_000)
    await database.query('create table kept as select 1 as one')
    const time = startStopwatch()
    await expect(database.query('select count(*) from generate_series(1, 100000000000)')).rejects.toThrow(
      StoreUnavailable,
    )
    expect(time()).toBeLessThan(10_000)
    expect(await database.query('select one from kept')).toEqual([{ one: 1 }])

    const idle = database.transaction(async (sql) => {
      await sql.query('insert into kept values (2)')
      await wait(60_000, undefined, { ref: false })
    })
    await expect(idle).rejects.toThrow(StoreUnavailable)
    expect(await database.query('select one from kept')).toEqual([{ one: 1 }])
    await database.close()
  })

  it('says in one sentence that a folder cannot be written to', async () => {
    await writeFile(join(folder, 'file'), '')
    const inside = openDatabase({ embedded: { directory: join(folder, 'file', 'database') } })
    await expect(inside).rejects.toThrow(DataDirectoryUnwritable)
    await expect(inside).rejects.toThrow(/cannot be written to/)
  })
})

describe('commands that use the embedded database of a running service', () => {
  let home: string
  let place: string
  let service: Database

  // To open it takes most of a core second: it is opened twice for all of these.
  const serve = async (statementTimeoutMs: number) => {
    service = await openDatabase({ embedded: { directory: place, statementTimeoutMs, settingsForCommands: {} } })
  }
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'latchkey-data-'))
    place = join(home, 'database')
    await serve(20_000)
  })
  beforeEach(() =>
    service.transaction((sql) => sql.script('drop table if exists kept; create table kept (one integer)')),
  )
  afterAll(async () => {
    await service.close()
    expect(await readdir(home)).toEqual(['database'])
    await rm(home, { recursive: true })
  })

  /** A process that has inserted a row in a transaction which is still open. */
  const startTransaction = async () => {
    const child = spawn(process.execPath, [commandFile, modules, place], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(child, 'exit').then(([code]) => code as number | null)
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
    await once(child.stdout, 'data')
    return { child, ended, said: () => said }
  }

  it('share its one connection, and are told of errors as with PostgreSQL', async () => {
    const command = await openEmbeddedForCommand({ directory: place })
    const rows = 20_000
    await Promise.all([
      ...Array.from({ length: 50 }, (_, at) =>
        (at % 2 === 0 ? service : command).transaction(async (sql) => {
          const [before] = await sql.query<{ count: number }>('select count(*) as count from kept')
          await sql.query('insert into kept values ($1)', [before?.count ?? 0])
        }),
      ),
      command.query('select repeat($1, 100) as text from generate_series(1, $2::int)', ['x', rows]).then((found) => {
        expect(found).toHaveLength(rows)
      }),
    ])
    const [sum] = await command.query('select count(*) as count, count(distinct one) as different from kept')
    expect(sum).toEqual({ count: 50, different: 50 })
    await command.query('create unique index on kept (one)')
    await expect(command.query('insert into kept values (1)')).rejects.toMatchObject({ code: '23505' })
    expect(await command.query('select $1::text as large', ['y'.repeat(3_000_000)])).toHaveLength(1)
    await command.close()
  })

  it('set, prepare, lock and create nothing in the session of the service, and leave the migrations to it', async () => {
    const command = await openEmbeddedForCommand({ directory: place })
    const prepared = 'select count(*)::int as count from kept where one > $1'
    const asService = () => service.query(prepared, [0])
    expect(await asService()).toEqual([{ count: 0 }])
    const before = await service.query('select name, setting from pg_settings order by name')
    await command.transaction(async (sql) => {
      await sql.query('create temporary table kept (one integer) on commit preserve rows')
      await sql.query('insert into kept values (1), (2)')
    })
    for (const statement of [
      'deallocate all',
      'set search_path = pg_catalog',
      'set statement_timeout = 1',
      'set default_transaction_read_only = on',
      'set session authorization pg_monitor',
      'select pg_advisory_lock(7)',
    ]) {
      await command.query(statement)
      expect(await asService(), statement).toEqual([{ count: 0 }])
    }
    expect(await service.query('select name, setting from pg_settings order by name')).toEqual(before)
    expect(await service.query('select 1 from pg_locks where locktype = $1', ['advisory'])).toEqual([])
    await service.query('insert into kept values (1)')
    expect(await command.query(prepared, [0])).toEqual([{ count: 1 }])

    const others = Array.from({ length: 31 }, () => createPgliteClient(place))
    await Promise.all(others.map((other) => other.ping()))
    const last = (await readdir(migrations)).sort().at(-1)
    await service.query('delete from schema_migrations where name = $1', [last])
    await Promise.all([
      expect(migrate({ database: command, directory: migrations })).rejects.toThrow(`running service lacks ${last}`),
      expect(openEmbeddedForCommand({ directory: place })).rejects.toThrow(
        /^32 commands use the database in .* already/,
      ),
    ])
    expect(await service.query('select from schema_migrations where name = $1', [last])).toEqual([])
    await Promise.all([command, ...others].map((each) => each.close()))
  })

  it('leave nothing behind when the service stops, which they keep from stopping for some seconds at most, and when they are killed, paused or busy for too long in a transaction', async () => {
    const stopped = await startTransaction()
    await service.close()
    expect(await stopped.ended).toBe(1)
    expect(stopped.said()).toContain('StoreUnavailable')
    await serve(3_000)
    expect(await service.query('select one from kept')).toEqual([])

    const killed = await startTransaction()
    killed.child.kill('SIGKILL')
    expect(await service.query('select one from kept')).toEqual([])
    const paused = await startTransaction()
    paused.child.kill('SIGSTOP')
    expect(await service.query('select one from kept')).toEqual([])
    paused.child.kill('SIGKILL')
    await Promise.all([killed.ended, paused.ended])
    const busy = await startTransaction()
    expect(await service.query('select one from kept')).toEqual([])
    expect(await busy.ended).toBe(1)
    expect(busy.said()).toContain('the transaction of the command took too long, and was rolled back')

    // One that waits for its operator gives its place to another, and gets one again.
    const many = Array.from({ length: 33 }, () => createPgliteClient(place))
    for (const each of [...many, ...many]) expect(await each.query('select one from kept')).toEqual([])
    await Promise.all(many.map((each) => each.close()))
  })

  it('refuse a service of another version', async () => {
    const lock = await lockDirectory(directory, 'service')
    lock.admit((socket) => void socket.once('data', () => socket.end('{"version":"99.0.0"}\n')))
    const refused = openEmbeddedForCommand({ directory })
    await expect(refused).rejects.toThrow(OtherVersionRuns)
    await expect(refused).rejects.toThrow(/is version 99\.0\.0, and this command is version \d/)
    await lock.release()
  })

  it('make no new database in a folder that has none', async () => {
    const wrong = join(folder, 'wrong')
    const refused = openEmbeddedForCommand({ directory: join(wrong, 'database') })
    await expect(refused).rejects.toThrow(`There is no database in ${wrong}: set DATA_DIR`)
    expect(await readdir(folder)).toEqual([])
  })

  it('make none in a folder that was not named with DATA_DIR', async () => {
    const started = process.cwd()
    process.chdir(folder)
    try {
      await expect(openNouns(loadConfig({ NODE_ENV: 'test' }), 'service role')).rejects.toThrow(
        'There is no database in',
      )
      expect(await readdir(folder)).toEqual([])
    } finally {
      process.chdir(started)
    }
  })

  // Root may read everything, and is another user for a moment.
  if (process.getuid?.() === 0)
    it('say as whom to run them if the folder may not be read', async () => {
      process.seteuid?.(12_345)
      try {
        await expect(openEmbeddedForCommand({ directory })).rejects.toThrow(/cannot be read: run this as the user of/)
      } finally {
        process.seteuid?.(0)
      }
    })

  // Only root could be led by the service of another user: to all others its socket is closed.
  if (process.getuid?.() === 0)
    it('believe no service of another user, and no socket in a folder of another user', async () => {
      const lock = await lockDirectory(directory, 'service')
      const [socket = ''] = await readdir(folder)
      await chown(join(folder, socket), 12_345, 0)
      await expect(openEmbeddedForCommand({ directory })).rejects.toThrow(DataDirectoryOfAnotherUser)
      await chown(join(folder, socket), 0, 0)
      await chown(folder, 12_345, 0)
      await expect(openEmbeddedForCommand({ directory })).rejects.toThrow('run the command as that user')
      await lock.release()
    })
})
