import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Consequences,
  consequencesOf,
  type Initiator,
  isDeletion,
} from '../../src/account-changes/account-change-table.js'

import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import type { Database } from '../../src/platform/database/database.js'
import { loadConfig } from '../../src/settings/config.js'
import { changeDetails, client, kindsByInitiator, prepareAccount } from '../support/account-kinds.js'
import { type Browser, createBrowser } from '../support/client.js'
import { freshPostgres, testPostgres } from '../support/databases.js'
import { inLongRun, isLongRun } from '../support/long-run.js'
import { freePort } from '../support/servers/server.js'
import { type Instance, secretOf, startInstance } from '../support/site/instance.js'
import { addPeople, password } from '../support/site/site.js'
import { until } from '../support/until.js'

const openTestDatabase = async () => {
  const { url, drop } = await freshPostgres()
  const sql = testPostgres(url)
  /** Holds the locks that stop a process in the middle. */
  const locks = testPostgres(url, { statementTimeoutMs: 120_000 })
  const countBackends = async (condition: string) => {
    const other = 'datname = current_database() and pid <> pg_backend_pid()'
    return (await sql.query(`select 1 from pg_stat_activity where ${other} and ${condition}`)).length
  }
  return {
    url,
    sql,
    locks,
    untilStopped: (count: number) =>
      // Transactions of several statements that wait for a lock.
      until(`${count} changes wait`, async () => {
        return (await countBackends("wait_event_type = 'Lock' and xact_start < query_start")) >= count
      }),
    untilOver: () => until('its transactions are over', async () => (await countBackends("state <> 'idle'")) === 0),
    drop: async () => {
      await sql.close()
      await locks.close()
      await drop()
    },
  }
}
type TestDatabase = Awaited<ReturnType<typeof openTestDatabase>>

describe('every kind of change of an account', () => {
  const program = fileURLToPath(new URL('../support/account-changer.mjs', import.meta.url))
  let database: TestDatabase
  let accounts: Awaited<ReturnType<typeof prepareAll>>
  let settings: Record<string, string>
  let changer: ChildProcess | undefined

  beforeAll(async () => {
    database = await openTestDatabase()
    settings = { NODE_ENV: 'test', DATABASE_URL: database.url, JWT_SECRET: secretOf('a') }
    await database.sql.query("insert into webhooks_wanted (until) values (now() + interval '1 day')")
    accounts = await prepareAll()
  })
  afterAll(async () => {
    changer?.kill('SIGKILL')
    await database?.drop()
  })

  const prepareAll = async () => {
    const nouns = await openRoomsForCommand(loadConfig(settings), 'service role')
    const prepared = []
    for (const { kind, initiator } of kindsByInitiator) {
      const account = await prepareAccount(nouns.database, nouns, `${kind}-${initiator}`.replaceAll('_', '-'))
      const row = consequencesOf(kind)
      const statement = isDeletion(row)
        ? 'delete from users where id = $1'
        : "update users set name = 'Changed' where id = $1"
      prepared.push({ ...account, kind, initiator, row, details: changeDetails[kind], statement })
    }
    await nouns.close()
    return prepared
  }
  type Account = (typeof accounts)[number]

  const begin = (changes: readonly Account[]) => {
    const argument = JSON.stringify({ settings, client, changes })
    changer = spawn(process.execPath, [program, argument], { stdio: ['ignore', 'pipe', 'inherit'] })
    return changer
  }
  const kill = async (running: ChildProcess) => {
    running.kill('SIGKILL')
    if (running.exitCode === null && running.signalCode === null) await once(running, 'exit')
  }

  const getsTokens = ({ thisSession }: Consequences, initiator: Initiator) =>
    thisSession === 'new tokens' && (initiator === 'caller' || initiator === 'link')
  /** Which kinds write to a table. In the order in which a change comes to them. */
  const writersOf: Record<string, (row: Consequences, initiator: Initiator) => boolean> = {
    ended_sessions: (row, initiator) => row.otherSessions !== 'stay' || getsTokens(row, initiator),
    outgoing_webhooks: ({ webhook }) => webhook !== null,
    undos: ({ undo }) => undo !== null,
    outgoing_mail: ({ mail }) => mail !== null,
    events: ({ event }) => event !== null,
  }

  /** Which parts of a change are there, of those that the table names. */
  const partsOf = async ({ user, own, other, row, initiator }: Account) => {
    const [found] = await database.sql.query<Record<string, boolean>>(
      `select
         not exists (select 1 from users where id = $1 and name is null) as data,
         exists (select 1 from outgoing_mail where recipient = $2 and kind = $3) as mail,
         exists (select 1 from undos where user_id = $1 and kind = $4 and made_at > now() - interval '12 hours') as undo,
         exists (select 1 from outgoing_webhooks where user_id = $1) as webhook,
         exists (select 1 from events where kind = $5 and (user_id = $1 or reason = $1::text)) as event,
         not exists (select 1 from sessions where id = $6) as sessions,
         not exists (select 1 from sessions where id = $7 and generation = 0) as tokens`,
      [user.id, user.email, row.mail, row.undo, row.event, other, own],
    )
    const { undo, webhook, event } = row
    // The last mail of an account does not show whom it was for.
    const mail = isDeletion(row) ? null : row.mail
    const sessions = row.otherSessions.startsWith('stay') ? null : row.otherSessions
    const expected = { data: true, mail, undo, webhook, event, sessions, tokens: getsTokens(row, initiator) || null }
    return Object.entries(expected).flatMap(([part, wanted]) => (wanted === null ? [] : [[part, found?.[part]]]))
  }

  it('is stopped in the middle by one of these tables', () => {
    const stopped = ({ row, initiator }: Account) => Object.values(writersOf).some((writes) => writes(row, initiator))
    expect(accounts.filter((account) => !stopped(account))).toEqual([])
  })

  const done = new Set<Account>()
  const namedPartsOf = async (account: Account) => {
    const parts = await partsOf(account)
    const isDone = parts[0]?.[1] === true
    if (isDone) done.add(account)
    const name = `${account.kind} by ${account.initiator}`
    expect([name, parts]).toEqual([name, parts.map(([part]) => [part, isDone])])
    return { name, isDone }
  }

  // The last one: a change that is stopped there has written all that follows from it. If it waits for nothing more, its commit is on the way.
  it.each(inLongRun(Object.keys(writersOf), ['events']))(
    'is there with all that follows from it, or not at all, if the process was killed when it wrote to %s',
    async (table) => {
      const writers = accounts.filter(
        (account) => !done.has(account) && writersOf[table]?.(account.row, account.initiator),
      )
      await database.locks.transaction(async (holding) => {
        await holding.query(`lock table ${table} in share mode`)
        const running = begin(writers)
        await database.untilStopped(writers.length)
        await kill(running)
      })
      await database.untilOver()
      for (const account of writers) await namedPartsOf(account)
    },
  )

  it('is there with all that follows from it, or not at all, if the process was killed at any moment', async () => {
    const left = accounts.filter((account) => !done.has(account))
    const running = begin(left)
    let said = ''
    running.stdout?.on('data', (chunk) => {
      said += chunk
    })
    await until('a change is done', () => said.includes('is done'))
    await kill(running)
    await database.untilOver()
    for (const account of left) {
      const { name, isDone } = await namedPartsOf(account)
      if (said.includes(`${name} is done`)) expect([name, isDone]).toEqual([name, true])
    }
    const lastMails = await database.sql.query("select 1 from outgoing_mail where kind = 'account-deleted'")
    expect(lastMails).toHaveLength([...done].filter(({ row }) => isDeletion(row)).length)
  })
})

describe('a request that changes an account', () => {
  let database: TestDatabase
  let sql: Database
  let service: Instance

  beforeAll(async () => {
    database = await openTestDatabase()
    sql = database.sql
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
      `insert into email_changes (user_id, email, email_key, hash, session_id, code_tries_left, asked_at, expires_at)
       values ($1, 'changed@example.org', 'changed@example.org', $2, gen_random_uuid(), 5, now(), now() + interval '1 day')`,
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
         not exists (select 1 from sessions as r join users as u on u.id = r.user_id where u.username = 'undoing') as undone_sessions,
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

  const kill = async () => {
    service.signal('SIGKILL')
    await until('the process is gone', () => !service.alive())
  }

  it('has done a change with its event, or nothing of it, if the service was killed at any moment', async () => {
    await prepareLinks()
    const tabs = await Promise.all(people.map(signIn))
    const { first, answers } = await sendAll(tabs)
    await first
    await kill()
    const statuses = await answers
    await database.untilOver()
    const now = await done()
    expect(
      now.every((state) => typeof state === 'boolean'),
      JSON.stringify(now),
    ).toBe(true)
    // What was answered is done.
    for (const [at, status] of statuses.entries()) expect([status, status !== 204 || now[at]]).toEqual([status, true])
    // In every run, that nothing was left says that it can be asked for again.
    if (!isLongRun) return
    await service.again()
    const left = people.filter((_, at) => !now[at])
    for (const person of left) expect((await requests[person](await signIn(person))).status).toBe(204)
    expect(await done()).toEqual([true, true, true])
  })
})
