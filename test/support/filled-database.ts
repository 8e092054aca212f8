import { randomBytes, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { gunzipSync } from 'node:zlib'
import { createPacking } from '../../src/backups/backup-file.js'
import { backupTables, columnsLeftOut, isInBackup } from '../../src/backups/backup-tables.js'
import { operatorClient } from '../../src/http/request-origin.js'
import type { Database } from '../../src/platform/database/database.js'
import { joinGroup } from './administrators.js'
import { addAuthenticator } from './authenticator.js'
import type { Browser } from './client.js'
import { emptyPostgres, type FreshDatabase, freshPostgres, testPostgres } from './databases.js'
import { goodPassword, type Latchkey, startLatchkey } from './latchkey.js'
import { openidApplication } from './openid-application.js'
import { addPasskey } from './passkey.js'
import { noStore } from './stores.js'
import { latchkey } from './terminal.js'

/** What the commands for backups and a service beside them are given. */
export const backupSecret = randomBytes(48).toString('hex')
export const backupSettings = (url: string, folder: string, more: Record<string, string> = {}) => ({
  NODE_ENV: 'test',
  DATABASE_URL: url,
  JWT_SECRET: backupSecret,
  DATA_DIR: join(folder, 'data'),
  ...more,
})

/** A command without any database but the one that its settings name. */
export const runCommand = (environment: Record<string, string>, args: string[], input?: string | Buffer) =>
  latchkey(noStore, args, { environment, ...(input !== undefined && { input }) })

/** The same person's browser, sent to another place: cookies go by name, whatever serves them. */
export const movedTo = (service: Latchkey, { jar }: Browser) => {
  const browser = service.browser()
  for (const [name, value] of jar) browser.jar.set(name, value)
  return browser
}

export const using = async <Result>(url: string, work: (database: Database) => Promise<Result>) => {
  const database = testPostgres(url)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

export const withDatabase = async (work: (url: string) => Promise<void>, open = emptyPostgres) => {
  const { url, drop } = await open()
  try {
    await work(url)
  } finally {
    await drop()
  }
}

/** Every row of every table that is in a backup, without the columns that are not. */
export const contentOf = (url: string) =>
  using(url, async (database) => {
    const tables: Record<string, object[]> = {}
    for (const table of Object.keys(backupTables).filter(isInBackup)) {
      const rows = await database.query<{ row: object }>(
        `select to_jsonb(t) - $1::text[] as row from ${table} as t order by to_jsonb(t)::text`,
        [columnsLeftOut(table)],
      )
      tables[table] = rows.map(({ row }) => row)
    }
    return tables
  })

export type FilledDatabase = FreshDatabase & {
  ada: Browser
  /** The code of ada's app, by a clock that is this far ahead. */
  code: (ahead?: number) => string
  recoveryCodes: string[]
}

const addEventsOfMonths = async ({ sql }: Latchkey) => {
  for (const months of [1, 2, 14])
    await sql.query(
      `insert into events (id, kind, ip, user_agent, created_at)
       select overlay(first_event_id((now() - make_interval(months => $1)) at time zone 'utc')::text placing $2 from 25)::uuid,
         'signed_in', '192.0.2.1', E'a\\\\.\\nb\\\\N', now() - make_interval(months => $1)`,
      [months, randomUUID().slice(24)],
    )
  await sql.query('select make_event_months(4)')
}

/** A database in which a service has worked: users, what they sign in with, applications, groups, invitations, events of months. */
export const fillDatabase = async (settings: (url: string) => Record<string, string>): Promise<FilledDatabase> => {
  const { url, drop } = await freshPostgres()
  const service = await startLatchkey({ settings: settings(url) })
  const ada = await service.signedUp('ada')
  const app = await addAuthenticator(ada, service)
  const grace = await service.signedUp('grace')
  await addPasskey(grace, service.url, 'back\\slash "and" é')
  await joinGroup(service, grace, 'grace', 'editors')
  await (await openidApplication(service, { backchannelLogout: 'https://notes.example.com/logout' })).signIn(ada)
  await service.registered('linus')
  await service.sql.query(
    `insert into identities (user_id, provider, subject, linked_at)
     select id, 'provider_b', '4711', now() from users where username = 'linus'`,
  )
  await service.browser().post('/api/auth/reset-password', { email: 'grace@example.com' })
  const waiting = { username: 'waits', email: 'waits@example.com', password: goodPassword }
  await service.browser().post('/api/auth/register', waiting)
  await service.app.rooms.groups.add('guests', operatorClient('root'))
  await service.sql.query(
    `insert into invitations (email_key, made_by, email, operator_hash, created_at, expires_at, groups)
     values ('new@example.com', 'command line', 'new@example.com', sha256('new'), now(), now() + interval '7 days', '{guests}')`,
  )
  await addEventsOfMonths(service)
  await service.advance(0)
  await service.sql.query(
    `insert into outgoing_mail (id, recipient_key, recipient, kind, content, created_at, next_attempt_at)
     values (gen_random_uuid(), 'late@example.com', 'late@example.com', 'reset-password', 'sealed', now(), now())`,
  )
  await service.sql.query(
    `insert into outgoing_webhooks (type, user_id, data) select 'user.created', id, '{"user": {}}' from users`,
  )
  await service.stop()
  return { url, drop, ada, code: app.code, recoveryCodes: app.recoveryCodes }
}

/** A backup whose content was changed, with a checksum that is right. */
export const changedBackup = async (from: string, to: string, change: (content: string) => string) => {
  const content = gunzipSync(await readFile(from)).toString('latin1')
  const withoutChecksum = content.replace(/sha256 [0-9a-f]{64}\n$/, '')
  const [gzip, checksum] = createPacking().stages
  await pipeline([Buffer.from(change(withoutChecksum), 'latin1')], gzip, checksum, createWriteStream(to))
  return to
}
