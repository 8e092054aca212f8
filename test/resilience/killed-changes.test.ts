import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '../../src/platform/database/database.js'
import { type Browser, createBrowser } from '../support/client.js'
import { freshPostgres, testPostgres } from '../support/databases.js'
import { freePort } from '../support/servers/server.js'
import { type Instance, startInstance } from '../support/site/instance.js'
import { addPeople, password } from '../support/site/site.js'
import { until } from '../support/until.js'

let database: Awaited<ReturnType<typeof freshPostgres>>
let sql: Database
/** Holds the locks that stop the service in the middle. */
let locks: Database
let service: Instance

beforeAll(async () => {
  database = await freshPostgres()
  sql = testPostgres(database.url)
  locks = testPostgres(database.url, { statementTimeoutMs: 120_000 })
  await addPeople(database.url, [...people].sort())
  const port = await freePort()
  service = await startInstance(port, {
    // Not production: over plain HTTP a browser would not send its cookies.
    NODE_ENV: 'development',
    DATABASE_URL: database.url,
    REDIS_URL: process.env.TEST_REDIS_URL ?? '',
    REDIS_PREFIX: `test:${port}:`,
    // Nobody answers there: the mails wait.
    SMTP_URL: 'smtp://127.0.0.1:9',
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    DRAIN_DELAY: '0ms',
  })
})
afterAll(async () => {
  await service?.stop()
  await sql?.close()
  await locks?.close()
  await database?.drop()
})

const people = ['changing', 'undoing', 'deleting'] as const
type Person = (typeof people)[number]
const tokens = { changing: 'confirm-token', undoing: 'email-undo-token' }
const hashOf = (token: string) => createHash('sha256').update(token).digest()

const idOf = async (person: Person) =>
  (await sql.query<{ id: string }>('select id from users where username = $1', [person]))[0]?.id

/** As if the mails with these links had arrived. */
const prepareLinks = async () => {
  await sql.query(
    `insert into email_changes values ($1, 'changed@example.org', 'changed@example.org', $2, now(), now() + interval '1 day')`,
    [await idOf('changing'), hashOf(tokens.changing)],
  )
  await sql.query(
    `insert into undos (hash, user_id, kind, email, email_key, since, made_at, expires_at)
     values ($2, $1, 'email', 'before@example.org', 'before@example.org', now(), now(), now() + interval '7 days')`,
    [await idOf('undoing'), hashOf(tokens.undoing)],
  )
}
const signIn = async (username: Person) => {
  const tab = createBrowser(service.url)
  const { status, text } = await tab.post('/login', { username, password })
  if (status !== 200) throw new Error(`${username} could not sign in: ${text}`)
  return tab
}
const requests: Record<Person, (tab: Browser) => Promise<{ status: number }>> = {
  changing: (tab) => tab.post('/api/auth/email/confirm', { token: tokens.changing }),
  undoing: (tab) => tab.post('/api/auth/email/undo', { token: tokens.undoing }),
  deleting: (tab) => tab.act('/api/auth/delete-account', { username: 'deleting' }),
}

/** All three at once, each answered with its status, or 0 if the process died. */
const sendAll = async (tabs: readonly Browser[]) => {
  const sent = people.map((person, at) =>
    requests[person](tabs[at] as Browser).then(
      ({ status }) => status,
      () => 0,
    ),
  )
  return { answers: Promise.all(sent), first: Promise.race(sent) }
}

/** Of each change its parts, in the order of `people`: all of them are there, or none. */
const done = async () => {
  const rows = await sql.query<Record<string, boolean>>(
    `select
       exists (select 1 from users where email = 'changed@example.org') as changed_email,
       not exists (select 1 from email_changes) as changed_waits,
       exists (select 1 from undos where email = 'changing@example.com') as changed_reserved,
       exists (select 1 from outgoing_mail where kind = 'email-changed') as changed_mail,
       exists (select 1 from events where kind = 'email_changed') as changed_event,
       exists (select 1 from users where email = 'before@example.org') as undone_email,
       not exists (select 1 from undos where email = 'before@example.org') as undone_link,
       exists (select 1 from users where username = 'undoing' and password_hash is null) as undone_password,
       not exists (select 1 from refresh_token_records as r join users as u on u.id = r.user_id where u.username = 'undoing') as undone_sessions,
       exists (select 1 from outgoing_mail where kind = 'account-restored') as undone_mail,
       exists (select 1 from events where kind = 'email_change_undone') as undone_event,
       not exists (select 1 from users where username = 'deleting') as deleted_user,
       exists (select 1 from outgoing_mail where kind = 'account-deleted') as deleted_mail,
       exists (select 1 from events where kind = 'account_deleted') as deleted_event`,
  )
  const parts = Object.entries(rows[0] ?? {})
  return ['changed', 'undone', 'deleted'].map((change) => {
    const states = new Set(parts.filter(([name]) => name.startsWith(change)).map(([, isDone]) => isDone))
    return states.size === 1 ? [...states][0] : parts.filter(([name]) => name.startsWith(change))
  })
}

const countBackends = async (condition: string) => {
  const other = 'datname = current_database() and pid <> pg_backend_pid()'
  return (await sql.query(`select 1 from pg_stat_activity where ${other} and ${condition}`)).length
}
/** Transactions of several statements that wait for a lock. */
const inTheMiddle = "wait_event_type = 'Lock' and xact_start < query_start"
const kill = async () => {
  service.signal('SIGKILL')
  await until('the process is gone', () => !service.alive())
}
const restart = async () => {
  await until('its transactions are over', async () => (await countBackends("state <> 'idle'")) === 0)
  await service.again()
}

it('a process that is killed in the middle has changed nothing, whichever table it was writing', async () => {
  await prepareLinks()
  const tabs = await Promise.all(people.map(signIn))
  for (const table of ['outgoing_mail', 'events']) {
    await locks.transaction(async (holding) => {
      await holding.query(`lock table ${table} in share mode`)
      await sendAll(tabs)
      await until('all three wait', async () => (await countBackends(inTheMiddle)) >= 3)
      await kill()
    })
    await restart()
    expect(await done(), table).toEqual([false, false, false])
  }
})

it('a process that is killed at any moment has done a change with its event, or nothing of it', async () => {
  const tabs = await Promise.all(people.map(signIn))
  const { first, answers } = await sendAll(tabs)
  await first
  await kill()
  const statuses = await answers
  await restart()
  const now = await done()
  expect(
    now.every((state) => typeof state === 'boolean'),
    JSON.stringify(now),
  ).toBe(true)
  // What was answered is done.
  for (const [at, status] of statuses.entries()) expect([status, status !== 204 || now[at]]).toEqual([status, true])
  const left = people.filter((_, at) => !now[at])
  for (const person of left) expect((await requests[person](await signIn(person))).status).toBe(204)
  expect(await done()).toEqual([true, true, true])
})
