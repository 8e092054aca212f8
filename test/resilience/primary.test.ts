import { createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Database, StoreUnavailable } from '../../src/platform/database/database.js'
import { type PostgresServer, startPostgres } from '../support/servers/postgres.js'
import { freePort } from '../support/servers/server.js'
import { closeAll, openWithShortTimeouts as open, timed, untilItAnswers } from '../support/short-timeouts.js'

afterEach(closeAll)

describe('several hosts', () => {
  let primary: PostgresServer
  let standby: PostgresServer

  beforeAll(async () => {
    primary = await startPostgres({ ofMachine: true })
    standby = await startPostgres({ standby: { of: primary, name: 'second' } })
  })

  afterAll(async () => {
    await standby.stop()
    await primary.stop()
  })

  it('are tried until the primary is found, and again after a failover', async () => {
    const dead = await freePort()
    const hosts = [dead, standby.port, primary.port].map((port) => `127.0.0.1:${port}`).join(',')
    const database = open(`postgres://postgres@${hosts}/postgres`)
    await database.query('create table found (port integer)')
    expect(await database.query('select inet_server_port() as port')).toEqual([{ port: primary.port }])
    // The standby is asynchronous: it must have the table before the primary is killed.
    const reader = new Client({ connectionString: standby.url })
    await reader.connect()
    await expect
      .poll(async () => (await reader.query(`select to_regclass('found') as name`)).rows)
      .toEqual([{ name: 'found' }])
    await reader.end()

    primary.signal('SIGKILL')
    await expect(database.query('insert into found values (1)')).rejects.toThrow(StoreUnavailable)
    await open(standby.url, { statementTimeoutMs: 20_000 }).query('select pg_promote()')
    await untilItAnswers(database)
    expect(await database.query('select inet_server_port() as port')).toEqual([{ port: standby.port }])
    await expect(database.query('insert into found values (1)')).resolves.toEqual([])
  })
})

describe('a primary whose synchronous standby goes away', () => {
  let primary: PostgresServer
  let standby: PostgresServer
  const warnings: string[] = []
  const log = { warn: (_details: object, message: string) => warnings.push(message) }
  const both = () => `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`
  const portOf = async (database: Database) => (await database.query('select inet_server_port() as port'))[0]

  beforeAll(async () => {
    primary = await startPostgres({ ofMachine: true, settings: { synchronous_standby_names: 'second' } })
    standby = await startPostgres({ standby: { of: primary, name: 'second' } })
  })

  afterAll(async () => {
    await standby.stop()
    await primary.stop()
  })

  it('is not healthy, although it answers questions; after the first failure all callers are told at once', async () => {
    const database = open(both())
    await database.query('create table if not exists signed_in (id serial)')
    await expect(database.ping()).resolves.toBeUndefined()

    standby.signal('SIGKILL')
    const first = await timed(database.ping())
    expect(first.error).toBeInstanceOf(StoreUnavailable)
    expect(first.ms).toBeLessThan(2_500)
    // On a busy machine the wait for a connection may end first.
    const refusedWrite = async () => String((await timed(database.query('insert into signed_in default values'))).error)
    await expect.poll(refusedWrite).toContain(`127.0.0.1:${primary.port} finishes no commit`)
    const prober = database.ping().catch(() => undefined)
    for (const { error: refusal, ms } of await Promise.all(Array.from({ length: 20 }, () => timed(database.ping())))) {
      expect(refusal).toBeInstanceOf(StoreUnavailable)
      expect(ms).toBeLessThan(400)
    }
    await prober

    // What was given up does not stay on the server and use up its connections.
    const admin = new Client({ connectionString: primary.url })
    await admin.connect()
    const waiting = async () =>
      (await admin.query(`select 1 from pg_stat_activity where wait_event = 'SyncRep'`)).rowCount
    await expect.poll(waiting).toBe(0)
    await admin.end()

    await standby.restart()
    await untilItAnswers(database)
    await expect(database.query('insert into signed_in default values')).resolves.toEqual([])
  })

  it('is left for the one that was promoted, also when it is still up and named first', async () => {
    const database = open(both(), { log })
    expect(await portOf(database)).toEqual({ port: primary.port })
    await open(standby.url, { statementTimeoutMs: 20_000 }).query('select pg_promote()')
    await untilItAnswers(database)
    expect(await portOf(database)).toEqual({ port: standby.port })

    const newcomer = open(both(), { log })
    expect(await portOf(newcomer)).toEqual({ port: standby.port })
    expect(warnings.join()).toContain(`127.0.0.1:${primary.port} (timeline 1)`)
    expect(warnings.join()).toContain(`Using 127.0.0.1:${standby.port}`)
  })
})

describe('while there is no primary', () => {
  it('one attempt at a time is made, with growing pauses, and all other callers are refused at once', async () => {
    let connections = 0
    const closing = createServer((socket) => {
      connections += 1
      socket.destroy()
    })
    await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve))
    const address = closing.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const database = open(`postgres://postgres@127.0.0.1:${port},localhost:${port}/postgres`)

    const attempts: ReturnType<typeof timed>[] = []
    const end = performance.now() + 1_500
    while (performance.now() < end) {
      attempts.push(timed(database.query('select 1')))
      await wait(5)
    }
    const results = await Promise.all(attempts)
    await new Promise<void>((resolve) => closing.close(() => resolve()))

    expect(results.length).toBeGreaterThan(20)
    expect(results.every(({ error }) => error instanceof StoreUnavailable)).toBe(true)
    // 0, 100, 300, 700, 1500 ms, shortened by a quarter at most: six times two hosts.
    expect(connections).toBeGreaterThanOrEqual(4)
    expect(connections).toBeLessThanOrEqual(12)
  })
})
