import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../src/lib/uuid.js'
import { type FreshDatabase, freshPostgres, testPostgres } from '../support/databases.js'
import { inLongRun } from '../support/long-run.js'
import { untilBlocked } from '../support/waits-for-lock.js'

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
/** More than fits into the memory, if all of them were kept, only in the long run. */
const users = inLongRun(100_000, 2_500)
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

  /** The import waits at this name, which another transaction holds meanwhile. */
  const waitingAt = async (name: string, work: () => Promise<void>) => {
    const holder = testPostgres(database.url, { statementTimeoutMs: 120_000 })
    await holder.transaction(async (sql) => {
      await sql.query(
        `insert into users (id, email, email_key, username, username_key, created_at) values ($1, $2, $2, $3, $3, now())`,
        [uuidv7(new Date()), `${name}@example.com`, name],
      )
      await work()
      await sql.query('delete from users where username = $1', [name])
    })
    await holder.close()
  }

  it('needs little memory, can be killed at any moment, and goes on where it was when run again', async () => {
    const sql = testPostgres(database.url)
    const count = async () => (await sql.query<{ count: number }>('select count(*) from users'))[0]?.count ?? 0
    await waitingAt('user1500', async () => {
      const killed = start()
      const ended = output(killed)
      await untilBlocked(sql)
      killed.kill('SIGKILL')
      await ended
    })
    // The server may still be at work on the last statement that it was given.
    const busy =
      "select 1 from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid()"
    await expect.poll(async () => (await sql.query(busy)).length).toBe(0)
    const there = await count()
    expect([1_000, 2_000], 'a batch is in whole or not at all').toContain(there)

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
