import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { StoreUnavailable } from '../../src/platform/database/database.js'
import { createPostgres } from '../../src/platform/database/open.js'
import { postgresAddress } from '../../src/platform/database/postgres-address.js'

import { type PostgresServer, startPostgres } from '../support/servers/postgres.js'
import { freePort } from '../support/servers/server.js'
import { closeAll, openWithShortTimeouts as open, timed, untilItAnswers } from '../support/short-timeouts.js'
import { until } from '../support/until.js'

afterEach(closeAll)

/** Where the timeout is not what is tested: the machine may be busy. */
const longTimeouts = { connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 }
/** Far more than the short timeouts, and far less than what waits for something that never comes. */
const inTime = 30_000

/** The process of the server that runs `pg_sleep`, as soon as it does. */
const sleepingProcess = async (url: string) => {
  const admin = open(url, longTimeouts)
  let pid: number | undefined
  await until('the statement is under way', async () => {
    const running = "select pid from pg_stat_activity where state = 'active' and query like 'select pg_sleep(%'"
    pid = (await admin.query<{ pid: number }>(running))[0]?.pid
    return pid !== undefined
  })
  return { admin, pid }
}

describe('PostgreSQL in trouble', () => {
  let socketFolder: string
  let server: PostgresServer

  beforeAll(async () => {
    socketFolder = await mkdtemp(join(tmpdir(), 'latchkey-socket-'))
    await chmod(socketFolder, 0o777)
    server = await startPostgres({ settings: { unix_socket_directories: socketFolder } })
  })

  afterAll(async () => {
    await server.stop()
    await rm(socketFolder, { recursive: true })
  })

  it('says in one sentence, without the password, that nothing listens', async () => {
    const port = await freePort()
    const { error, ms } = await timed(open(`postgres://someone:s3cret@127.0.0.1:${port}/x`, longTimeouts).ping())
    expect(error).toBeInstanceOf(StoreUnavailable)
    expect(String(error)).toContain(`PostgreSQL at 127.0.0.1:${port} cannot be used`)
    expect(JSON.stringify([String(error), error])).not.toContain('s3cret')
    expect(ms).toBeLessThan(inTime)
  })

  it('is unavailable when the database or the role is not there', async () => {
    const nowhere = server.url.replace('/postgres', '/nowhere')
    await expect(open(nowhere).ping()).rejects.toThrow(StoreUnavailable)
    await expect(open(server.url.replace('postgres@', 'nobody@')).ping()).rejects.toThrow(StoreUnavailable)
  })

  it('ends a statement that takes too long, and keeps the connection', async () => {
    const database = open(server.url, { poolSize: 1 })
    const [before] = await database.query('select pg_backend_pid() as pid')
    const { error, ms } = await timed(database.query('select pg_sleep(60)'))
    expect(error).toBeInstanceOf(StoreUnavailable)
    expect(ms).toBeLessThan(inTime)
    expect(await database.query('select pg_backend_pid() as pid')).toEqual([before])
  })

  it('goes on with a statement whose table changed, inside a transaction too', async () => {
    const database = open(server.url, { poolSize: 1 })
    const read = () => database.transaction((sql) => sql.query('select * from growing'))
    await database.query('create table growing (a integer)')
    await read()
    await open(server.url).query('alter table growing add column b integer')
    await expect(read()).resolves.toEqual([])
    await expect(read()).resolves.toEqual([])
  })

  it('gives up waiting for a lock', async () => {
    const database = open(server.url, longTimeouts)
    await database.query('create table if not exists locked (id integer primary key)')
    await database.query('insert into locked values (1) on conflict do nothing')
    await database.transaction(async (sql) => {
      await sql.query('select 1 from locked where id = 1 for update')
      const other = open(server.url, { statementTimeoutMs: 200 })
      await expect(other.query('update locked set id = 1 where id = 1')).rejects.toThrow(StoreUnavailable)
    })
  })

  it('rolls back a transaction that is left open without a statement', async () => {
    const database = open(server.url, { poolSize: 1, statementTimeoutMs: 200 })
    const { error, ms } = await timed(database.transaction(() => wait(60_000, undefined, { ref: false })))
    expect(error).toBeInstanceOf(StoreUnavailable)
    expect(ms).toBeLessThan(inTime)
    await expect(database.ping()).resolves.toBeUndefined()
  })

  it('drops a connection whose process was ended, and goes on with another', async () => {
    const database = open(server.url, { ...longTimeouts, poolSize: 1 })
    const underWay = expect(database.query('select pg_sleep(60)')).rejects.toThrow(StoreUnavailable)
    const { admin, pid } = await sleepingProcess(server.url)
    await admin.query('select pg_terminate_backend($1)', [pid])
    await underWay
    const [next] = await database.query<{ pid: number }>('select pg_backend_pid() as pid')
    expect(next?.pid).not.toBe(pid)
  })

  it('drops an idle connection whose process was ended before a statement uses it', async () => {
    const database = open(server.url, { ...longTimeouts, poolSize: 1 })
    const [victim] = await database.query<{ pid: number }>('select pg_backend_pid() as pid')
    await open(server.url, longTimeouts).query('select pg_terminate_backend($1, 60000)', [victim?.pid])
    // The end of the connection has arrived, and is read before the next timer.
    await wait(50)
    await expect(database.ping()).resolves.toBeUndefined()
  })

  it('turns away what comes when too many wait', async () => {
    const database = open(server.url, { ...longTimeouts, poolSize: 1 })
    const many = Array.from({ length: 150 }, () => database.query('select pg_sleep(0.001)'))
    const results = await Promise.allSettled(many)
    const refused = results.filter((result) => result.status === 'rejected')
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.every(({ reason }) => reason instanceof StoreUnavailable)).toBe(true)
    expect(results.length - refused.length).toBeGreaterThanOrEqual(100)
  })

  it('goes on with the connections that it has when the server gives it no more', async () => {
    const admin = open(server.url)
    await admin.query('create role guest login connection limit 2')
    const database = open(server.url.replace('postgres@', 'guest@'), { ...longTimeouts, poolSize: 6 })
    const sleep = () => database.query('select pg_sleep(0.1)')
    for (let round = 0; round < 3; round += 1) await Promise.all(Array.from({ length: 8 }, sleep))
    expect(database.stats?.()).toEqual({ open: 2, busy: 0, waiting: 0 })
    await admin.query('alter role guest connection limit -1')
    await until('the pool has grown', async () => {
      await Promise.all(Array.from({ length: 8 }, sleep))
      return database.stats?.().open === 6
    })
  })

  it.each([
    {
      what: 'nobody has used for a minute',
      toFake: ['setInterval', 'clearInterval', 'performance'] as const,
      minutes: 1.5,
    },
    { what: 'are half an hour old', toFake: ['setTimeout', 'clearTimeout', 'performance'] as const, minutes: 31 },
  ])('closes connections that $what, and opens others', async ({ toFake, minutes }) => {
    vi.useFakeTimers({ toFake: [...toFake] })
    try {
      const database = open(server.url, { ...longTimeouts, poolSize: 1 })
      const processId = async () => (await database.query<{ pid: number }>('select pg_backend_pid() as pid'))[0]?.pid
      const first = await processId()
      vi.advanceTimersByTime(30_000)
      expect(await processId()).toBe(first)
      vi.advanceTimersByTime(minutes * 60_000)
      expect(database.stats?.()).toEqual({ open: 0, busy: 0, waiting: 0 })
      expect(await processId()).not.toBe(first)
    } finally {
      vi.useRealTimers()
    }
  })

  it('gives connections in turn to all that wait, also when it closes', async () => {
    const database = open(server.url, { ...longTimeouts, poolSize: 1 })
    const all = [1, 2, 3].map((value) => database.query(`select pg_sleep(0.05), ${value} as value`))
    await database.close()
    expect(await Promise.all(all)).toMatchObject([[{ value: 1 }], [{ value: 2 }], [{ value: 3 }]])
    await expect(database.query('select 1')).rejects.toThrow('The database is closed')
  })

  it('refuses who waits too long for a connection, and serves the others', async () => {
    const database = open(server.url, { poolSize: 1, connectTimeoutMs: 200, statementTimeoutMs: 20_000 })
    await database.ping()
    const long = database.query('select pg_sleep(1)')
    await expect(database.query('select 1')).rejects.toThrow('No connection to the database became free in time')
    expect(database.stats?.()).toEqual({ open: 1, busy: 1, waiting: 0 })
    await long
    await expect(database.ping()).resolves.toBeUndefined()
  })

  it('is reached by a parsed address, also through a socket in a folder', async () => {
    const address = { ...postgresAddress(server.url), hosts: [{ host: socketFolder, port: server.port }] }
    const database = createPostgres({ address, poolSize: 1, ...longTimeouts })
    const [row] = await database.query('select inet_server_addr() is null as local')
    await database.close()
    expect(row).toEqual({ local: true })
    expect(database.address).toContain(socketFolder)
  })

  it('recovers by itself after a restart and after a kill -9', async () => {
    const database = open(server.url)
    await database.query('create table if not exists surviving (id serial)')
    for (const end of [() => undefined, () => server.signal('SIGKILL')]) {
      await database.query('insert into surviving default values')
      end()
      await server.restart()
      await untilItAnswers(database)
    }
    expect(await database.query('select count(*) as count from surviving')).toEqual([{ count: 2 }])
  })

  it('gives up on a frozen server in time, and comes back when it thaws', async () => {
    const database = open(server.url)
    await Promise.all([1, 2, 3].map(() => database.query('select pg_sleep(0.05)')))
    server.signal('SIGSTOP')
    try {
      const attempts = await Promise.all([database.ping(), database.query('select 1')].map(timed))
      for (const { error, ms } of attempts) {
        expect(error).toBeInstanceOf(StoreUnavailable)
        expect(ms).toBeLessThan(inTime)
      }
      // Now without connections: the kernel accepts new ones for the frozen server, and no server greets them.
      const { error, ms } = await timed(database.ping())
      expect(error).toBeInstanceOf(StoreUnavailable)
      expect(ms).toBeLessThan(inTime)
    } finally {
      server.signal('SIGCONT')
    }
    await untilItAnswers(database)
  })

  it('is unavailable for writes while the server is read-only, and looks for another connection', async () => {
    const database = open(server.url, { poolSize: 1 })
    await database.query('create table if not exists writable (id integer)')
    const admin = open(server.url)
    await admin.query('alter database postgres set default_transaction_read_only = on')
    const late = open(server.url, { poolSize: 1 })
    await expect(late.query('insert into writable values (1)')).rejects.toThrow(StoreUnavailable)
    await admin.query('alter database postgres set default_transaction_read_only = off')
    await expect(late.query('insert into writable values (1)')).resolves.toEqual([])
  })
})

describe('a connection through a network in trouble', () => {
  let server: PostgresServer
  let proxy: Awaited<ReturnType<typeof startProxy>>

  beforeAll(async () => {
    server = await startPostgres()
    proxy = await startProxy(server.port)
  })

  afterAll(async () => {
    await proxy.stop()
    await server.stop()
  })

  it('is given up when the answers stop coming, inside a transaction too, and is not used again', async () => {
    const database = open(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`)
    await database.ping()
    const work = database.transaction(async (sql) => {
      proxy.swallow(true)
      await sql.query('select 1')
    })
    const { error, ms } = await timed(work)
    expect(error).toBeInstanceOf(StoreUnavailable)
    expect(ms).toBeLessThan(inTime)
    proxy.swallow(false)
    await expect(database.query('select 1 as one')).resolves.toEqual([{ one: 1 }])
  })

  it('is asked once for the first statement of a transaction and its begin', async () => {
    const database = open(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`, longTimeouts)
    const work = () => database.transaction((sql) => sql.query('select 1 as one'))
    await work()
    const before = proxy.messages()
    expect(await work()).toEqual([{ one: 1 }])
    expect(proxy.messages() - before).toBe(2)
  })

  it('is replaced when it is cut', async () => {
    const database = open(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`, longTimeouts)
    const underWay = expect(database.query('select pg_sleep(60)')).rejects.toThrow(StoreUnavailable)
    await sleepingProcess(server.url)
    proxy.cut()
    await underWay
    await expect(database.ping()).resolves.toBeUndefined()
  })
})

/** Passes bytes on, until it is told to swallow them or to cut the connections. */
const startProxy = async (target: number) => {
  const sockets = new Set<Socket>()
  let swallowing = false
  let messages = 0
  const proxy: Server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    client.on('data', () => {
      messages += 1
    })
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => swallowing || to.write(bytes))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const address = proxy.address()
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    cut,
    /** How often a client has sent something. */
    messages: () => messages,
    swallow: (value: boolean) => {
      swallowing = value
    },
    stop: () => {
      cut()
      return new Promise<void>((resolve) => proxy.close(() => resolve()))
    },
  }
}
