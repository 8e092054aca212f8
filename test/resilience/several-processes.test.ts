import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { freshPostgres, testPostgres } from '../support/databases.js'
import { isLongRun } from '../support/long-run.js'
import { childrenOf, sendSignal } from '../support/servers/processes.js'
import { freePort } from '../support/servers/server.js'
import { beginSessions } from '../support/site/begun-sessions.js'
import { type Instance, secretOf, startInstance } from '../support/site/instance.js'
import { addPeople } from '../support/site/site.js'
import { until } from '../support/until.js'

let database: Awaited<ReturnType<typeof freshPostgres>>
let metricsUrl: string
let folder: string
let service: Instance

const start = async () => {
  const [port, metricsPort] = [await freePort(), await freePort()]
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
  return startInstance(port, {
    WORKERS: '2',
    METRICS_PORT: String(metricsPort),
    DATABASE_URL: database.url,
    LOGIN_LIMIT: '5/15m',
    SMTP_URL: 'smtp://127.0.0.1:2525',
    PUBLIC_URL: 'https://localhost',
    DRAIN_DELAY: '2s',
    JWT_SECRET: '',
    JWT_SECRET_FILE: secretFile(),
    SERVICE_KEYS_FILE: keysFile(),
  })
}
const secretFile = () => join(folder, 'secret')
const keysFile = () => join(folder, 'keys')

beforeAll(async () => {
  database = await freshPostgres()
  folder = await mkdtemp(join(tmpdir(), 'latchkey-processes-'))
  await writeFile(secretFile(), secretOf('a'))
  await writeFile(keysFile(), '')
  service = await start()
})
afterAll(async () => {
  await service?.stop()
  await database?.drop()
  await rm(folder, { recursive: true })
})

const processes = () => childrenOf(service.pid())
const isGone = (pid: number) => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}
/** Each on a connection of its own, because a connection stays with one process. */
const ask = () => fetch(`${service.url}/login`, { headers: { connection: 'close' } })
const answered = async () => {
  const text = await (await fetch(metricsUrl)).text()
  const count = /^latchkey_http_request_duration_seconds_count\{.*route="\/login".*\} (\d+)$/m.exec(text)
  return { text, count: Number(count?.[1] ?? 0) }
}

it('serve one port, and their metrics are added up', async () => {
  // A process is there before it serves.
  await expect.poll(async () => (await answered()).text).toMatch(/^latchkey_processes 2$/m)
  expect(processes()).toHaveLength(2)
  const statuses = await Promise.all(Array.from({ length: 30 }, async () => (await ask()).status))
  expect(new Set(statuses)).toEqual(new Set([200]))
  // A process that was busy for a second is missing from one answer.
  await expect.poll(async () => (await answered()).text).toMatch(/^latchkey_processes 2$/m)
  const { text, count } = await answered()
  expect(count).toBe(30)
  expect(text).toMatch(/^latchkey_build_info\{version="[^"]+",commit="[0-9a-f]{12}(-dirty)?"\} 1$/m)
})

it('share their limits, without Redis', async () => {
  const guess = async (address: string) => {
    const headers = { connection: 'close', 'content-type': 'application/json', 'x-forwarded-for': address }
    const body = JSON.stringify({ username: 'nobody', password: 'wrong' })
    return (await fetch(`${service.url}/login`, { method: 'POST', headers, body })).status
  }
  const logged = async (line: string) => (await service.log()).split(line).length
  const alone = () => logged('limits are counted in this process')
  const together = () => logged('limits are shared between instances again')
  /** On a machine so busy that PostgreSQL does not count in time, a process counts alone and says so: then the next address is tried. */
  const crowd = async (round: number): Promise<number[]> => {
    const before = await alone()
    const statuses = await Promise.all(Array.from({ length: 20 }, () => guess(`192.0.2.${round}`)))
    if ((await alone()) === before) return statuses.toSorted()
    await until('all count together again', async () => (await alone()) === (await together()))
    return crowd(round + 1)
  }
  expect(await crowd(1)).toEqual([...Array(5).fill(401), ...Array(15).fill(429)])
})

it('log one link for the setup', async () => {
  const links = async () => (await service.log()).match(/setup: \S.*#token=/g) ?? []
  await until('a link is there', async () => (await links()).length > 0)
  // Every process is ready, so each would have logged its own by now.
  expect(await links()).toHaveLength(1)
})

it('all read the service keys again after SIGHUP, go on, and name the process in each line of the log', async () => {
  const { key, line } = newServiceKey('wiki')
  await writeFile(keysFile(), line)
  for (const pid of [service.pid(), ...processes()]) sendSignal(pid, 'SIGHUP')
  const linesOfReading = async () => (await service.log()).match(/service keys were read again/g) ?? []
  await expect.poll(async () => (await linesOfReading()).length).toBe(2)
  const headers = { authorization: `Bearer ${key}`, connection: 'close' }
  for (let round = 0; round < 4; round += 1)
    expect((await fetch(`${service.url}/api/service/users/none`, { headers })).status).toBe(404)
  expect((await ask()).status).toBe(200)
  const lines = (await service.log()).trimEnd().split('\n')
  const pids = new Set(lines.map((line) => Number(JSON.parse(line).pid)))
  expect([...pids].filter((pid) => ![service.pid(), ...processes()].includes(pid))).toEqual([])
  expect(pids.size).toBeGreaterThan(1)
})

it('go on when one of them is killed, and it is replaced by one with the same settings', async () => {
  // Read again, this would stop the new process.
  await writeFile(secretFile(), 'changed')
  const [killed = 0] = processes()
  sendSignal(killed, 'SIGKILL')
  await until('the others are alone', () => isGone(killed))
  await until('requests are answered', async () => (await ask().catch(() => undefined))?.status === 200)
  await expect.poll(async () => (await answered()).text).toMatch(/^latchkey_processes 2$/m)
  await writeFile(secretFile(), secretOf('a'))
  expect(processes()).not.toContain(killed)
  // What it has counted stays in the sum: a number that falls would look like a new start of everything.
  await expect.poll(async () => (await answered()).count).toBeGreaterThan(30)
})

it('each know that a session has ended', async () => {
  await addPeople(database.url, ['ada'])
  const sql = testPostgres(database.url)
  const [session] = await beginSessions(sql, 'https://localhost', 'ada', 1)
  const headers = { cookie: `access_token=${session?.token}`, connection: 'close' }
  const statuses = async () => {
    const asks = Array.from({ length: 20 }, async () => (await fetch(`${service.url}/api/auth/me`, { headers })).status)
    return [...new Set(await Promise.all(asks))]
  }
  expect(await statuses()).toEqual([200])
  await sql.query('delete from sessions')
  await sql.close()
  await expect.poll(statuses, { timeout: 20_000 }).toEqual([401])
})

it('end together when the service is told to, and leave no request unanswered', async () => {
  const both = processes()
  const underWay = Array.from({ length: 10 }, async () => (await ask()).status)
  await service.terminate()
  expect(new Set(await Promise.all(underWay))).toEqual(new Set([200]))
  expect(both.filter((pid) => !isGone(pid))).toEqual([])
})

it('end by themselves when the process that supervises them is killed', async () => {
  service = await start()
  const both = processes()
  expect(both.length).toBeGreaterThan(0)
  sendSignal(service.pid(), 'SIGKILL')
  await until('both have gone', () => both.every(isGone))
})

if (isLongRun)
  it('are given up when they crash again and again', async () => {
    service = await start()
    await until('both serve', () => processes().length === 2)
    await until('the service has ended', () => {
      for (const pid of service.alive() ? processes() : []) sendSignal(pid, 'SIGKILL')
      return !service.alive()
    })
  })
