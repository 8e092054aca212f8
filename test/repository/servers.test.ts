import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startPostgres } from '../support/servers/postgres.js'
import { testProgram } from '../support/servers/programs.js'
import { startRedis } from '../support/servers/redis.js'
import { freePort, ownFolder } from '../support/servers/server.js'

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const ask = async (url: string, text: string) => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  await client.connect()
  try {
    const { rows } = await client.query<object>(text)
    return rows
  } finally {
    await client.end()
  }
}

describe('the servers every test can rely on', () => {
  it('are a PostgreSQL that answers in UTF-8', async () => {
    const text = `select lower('ÄÖ') as text, current_setting('server_encoding') as encoding`

    expect(await ask(process.env.TEST_DATABASE_URL ?? '', text)).toEqual([{ text: 'äö', encoding: 'UTF8' }])
  })

  it('are a Redis', () => {
    expect(process.env.TEST_REDIS_URL).toMatch(/^rediss?:\/\//)
  })
})

describe('a PostgreSQL of a test', () => {
  it('keeps what was committed over kill -9 and a restart, at the same address', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    await ask(server.url, 'create table kept as select 1 as one')
    const pid = server.pid()

    server.signal('SIGKILL')
    await vi.waitFor(() => expect(server.alive()).toBe(false))
    await server.restart()

    expect(server.pid()).not.toBe(pid)
    expect(await ask(server.url, 'select one from kept')).toMatchObject([{ one: 1 }])
  })

  it('can have a synchronous standby that takes over', async () => {
    const primary = await startPostgres({ ofMachine: true, settings: { synchronous_standby_names: 'second' } })
    onTestFinished(() => primary.stop())
    const standby = await startPostgres({ standby: { of: primary, name: 'second' } })
    onTestFinished(() => standby.stop())
    await ask(primary.url, 'create table answered as select 7 as seven')

    primary.signal('SIGKILL')
    await ask(standby.url, 'select pg_promote()')

    expect(await ask(standby.url, 'select seven from answered')).toMatchObject([{ seven: 7 }])
  })
})

describe('a Redis of a test', () => {
  it('is gone after stop, with its folder', async () => {
    const server = await startRedis()
    const pid = server.pid()
    expect(isAlive(pid)).toBe(true)

    await server.stop()

    expect(isAlive(pid)).toBe(false)
  })

  it('can be watched by a sentinel', async () => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const sentinel = await startRedis({
      sentinel: true,
      settings: { sentinel: [`monitor main 127.0.0.1 ${server.port} 1`, 'down-after-milliseconds main 500'] },
    })
    onTestFinished(() => sentinel.stop())

    expect(sentinel.alive()).toBe(true)
  })

  it('says why it cannot start', async () => {
    await expect(startRedis({ settings: { 'no-such-setting': 'x' } })).rejects.toThrow('no-such-setting')
  })

  it('does not outlive a test process that is killed', async () => {
    const folder = await ownFolder('redis')
    const task = {
      command: testProgram('redis'),
      args: ['--port', String(await freePort()), '--bind', '127.0.0.1'],
      folder,
      log: `${folder}/server.log`,
      endSignal: 'SIGTERM',
    }
    const watchdog = fileURLToPath(new URL('../support/servers/watchdog.mjs', import.meta.url))
    const program = `
      const child = require('node:child_process').fork(process.argv[1], { detached: true })
      child.on('message', ({ pid }) => console.log(pid))
      child.send({ id: 1, task: JSON.parse(process.argv[2]) })`
    const parent = spawn(process.execPath, ['-e', program, watchdog, JSON.stringify(task)])
    const pid = await new Promise<number>((resolve) => {
      parent.stdout.once('data', (text) => resolve(Number(text)))
    })
    expect(isAlive(pid)).toBe(true)

    parent.kill('SIGKILL')

    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 5000)
    await vi.waitFor(() => expect(existsSync(folder)).toBe(false), 5000)
  })
})
