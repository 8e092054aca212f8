import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FreshDatabase, freshPostgres, testPostgres } from '../support/databases.js'

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const users = 25_000
const heapInMegabytes = 48

function* lines() {
  yield 'email,username,name,password_hash\r\n'
  for (let at = 0; at < users; at += 1)
    yield `user${at}@example.com,user${at},"Number ""${at}"", of ${'very '.repeat(30)}many",$2b$10$${String(at).padStart(53, 'x')}\r\n`
}

const output = (child: ChildProcess) => {
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
  return new Promise<{ code: number | null; text: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, text }))
  })
}

describe('a large import, by the program itself', () => {
  let database: FreshDatabase
  let folder: string
  let file: string

  beforeAll(async () => {
    database = await freshPostgres()
    folder = await mkdtemp(join(tmpdir(), 'latchkey-large-'))
    file = join(folder, 'users.csv')
    await pipeline(Readable.from(lines()), createWriteStream(file))
  })
  afterAll(async () => {
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })

  const start = () =>
    spawn(process.execPath, [`--max-old-space-size=${heapInMegabytes}`, program, 'user', 'import', file], {
      cwd: folder,
      env: { PATH: process.env.PATH, NODE_ENV: 'test', DATABASE_URL: database.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    })

  it('needs little memory, can be killed at any moment, and goes on where it was when run again', async () => {
    const sql = testPostgres(database.url)
    const count = async () => (await sql.query<{ count: number }>('select count(*) from users'))[0]?.count ?? 0
    const killed = start()
    const ended = output(killed)
    await expect.poll(count).toBeGreaterThan(0)
    killed.kill('SIGKILL')
    await ended
    // The server may still be at work on the last statement that it was given.
    const busy =
      "select 1 from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid()"
    await expect.poll(async () => (await sql.query(busy)).length).toBe(0)
    const there = await count()
    expect(there % 1_000, 'a batch is in whole or not at all').toBe(0)
    expect(there).toBeLessThan(users)

    const { code, text } = await output(start())
    const number = (value: number) => value.toLocaleString('en')
    expect(text).toContain(
      `Added ${number(users - there)} users; ${number(there)} existed already; 0 rows were refused.\n`,
    )
    expect(code).toBe(0)
    expect(await count()).toBe(users)
    await sql.close()
  })
})
