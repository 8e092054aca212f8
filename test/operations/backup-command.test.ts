import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backupTables } from '../../src/backups/backup-tables.js'
import { migrate } from '../../src/platform/database/migrate.js'
import { readableTables, writableTables } from '../../src/service/tables.js'
import { emptyPostgres, freshPostgres, migrationNames, migrationsDirectory, urlFor } from '../support/databases.js'
import {
  backupSecret,
  backupSettings,
  changedBackup,
  contentOf,
  type FilledDatabase,
  fillDatabase,
  movedTo,
  runCommand,
  using,
  withDatabase,
} from '../support/filled-database.js'
import { goodPassword, startLatchkey } from '../support/latchkey.js'
import { startWebhookReceiver } from '../support/webhook-receiver.js'

let folder: string
let file: string
let source: FilledDatabase
let backupLine: string
const settings = (url: string, more?: Record<string, string>) => backupSettings(url, folder, more)
const restore = (url: string, args: string[] = [file], more?: Record<string, string>) =>
  runCommand(settings(url, more), ['restore', ...args])

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-backup-'))
  file = join(folder, 'latchkey.backup')
  source = await fillDatabase(settings)
  const { code, out, err } = await runCommand(settings(source.url), ['backup', file])
  expect({ code, out }).toEqual({ code: 0, out: '' })
  backupLine = err
})
afterAll(async () => {
  await source.drop()
  await rm(folder, { recursive: true, force: true })
})

/** What the schema is made of. The parts of events and their indexes are found by what they are: names of indexes differ. */
const schemaOf = (url: string) =>
  using(url, (database) =>
    database.query(
      `with ours as (select oid, relispartition from pg_class where relnamespace = 'public'::regnamespace)
       select 'trigger' as what, pg_get_triggerdef(t.oid) || ' ' || tgenabled::text as says
       from pg_trigger as t join ours on ours.oid = tgrelid where not tgisinternal
       union all
       select 'index', case when relispartition then regexp_replace(pg_get_indexdef(indexrelid), 'INDEX \\w+', '') else pg_get_indexdef(indexrelid) end
       from pg_index join ours on ours.oid = indrelid
       union all
       select 'constraint', conrelid::regclass || ' ' || case when relispartition then '' else conname end || ' ' || pg_get_constraintdef(c.oid)
       from pg_constraint as c join ours on ours.oid = conrelid
       union all
       select 'part', relname || ' ' || pg_get_expr(relpartbound, oid) from pg_class where relispartition and relkind = 'r'
       union all
       select 'function', pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
       order by 1, 2`,
    ),
  )

/** Everything is as it was, and there is one event more. */
const expectSame = async (url: string) => {
  const [before, after] = [await contentOf(source.url), await contentOf(url)]
  const isNew = (row: object) => 'kind' in row && row.kind === 'restored'
  expect(after.events?.filter(isNew)).toMatchObject([
    { ip: 'command line', reason: expect.stringMatching(/^backup of \d{4}-/) },
  ])
  expect({ ...after, events: after.events?.filter((row) => !isNew(row)) }).toEqual(before)
  expect(Object.entries(before).filter(([table, rows]) => rows.length === 0 && usedTables.includes(table))).toEqual([])
}

const usedTables = ['users', 'totp_secrets', 'recovery_codes', 'passkeys', 'sessions', 'identities', 'groups', 'events']
  .concat([
    'invitations',
    'applications',
    'application_tokens',
    'application_keys',
    'pending_registrations',
    'one_time_tokens',
  ])
  .concat(['outgoing_mail', 'content'])

describe('latchkey backup', () => {
  it('has every table of the schema, or says why not', () => {
    expect(Object.keys(backupTables).sort()).toEqual([...writableTables, ...readableTables].sort())
  })

  it('writes one line with rows, bytes and the checksum, and a file for the operator alone', async () => {
    const bytes = await readFile(file)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const size = bytes.length.toLocaleString('en')
    expect(backupLine).toMatch(
      new RegExp(
        `^Backed up \\d+ rows, ${size} bytes, SHA-256 ${sha256}\\. What is sealed in it opens with [^\\n]+\\n$`,
      ),
    )
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  it('has neither secrets, nor waiting mails and webhooks, nor what counts and waits', async () => {
    const text = gunzipSync(await readFile(file)).toString()
    expect(text).not.toContain(backupSecret)
    const tables = Array.from(text.matchAll(/^\{"table":"(\w+)"/gm), ([, name]) => name)
    expect(tables).not.toContain('outgoing_webhooks')
    expect(tables).not.toContain('ended_sessions')
    expect(tables).toContain('outgoing_mail')
    expect(/^\{"table":"outgoing_mail","columns":(.*)\}$/m.exec(text)?.[1]).not.toMatch(/content|next_attempt_at/)
  })

  it('is one snapshot while users sign up, and does not disturb the service', async () => {
    const { url, drop } = await freshPostgres()
    const service = await startLatchkey({ settings: settings(url) })
    let isDone = false
    const busy = (async () => {
      for (let number = 0; !isDone; number += 1) await service.signedUp(`user-${number}`)
    })()
    const live = join(folder, 'live.backup')
    expect(await runCommand(settings(url), ['backup', live])).toMatchObject({ code: 0 })
    isDone = true
    await busy
    await service.stop()
    await drop()
    await withDatabase(async (target) => {
      // Foreign keys are checked at the end: a session without its user would stop the restore.
      expect(await restore(target, [live])).toMatchObject({ code: 0, err: '' })
    })
  })
})

describe('latchkey restore', () => {
  it('brings back every row, and every part of the schema, into an empty database', async () => {
    await withDatabase(async (url) => {
      const { code, out, err } = await restore(url)
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).toMatch(
        /^Restored \d+ rows, as they were at \S+Z\. Sessions, links and invitations go on as they were then\.\n$/,
      )
      await expectSame(url)
      expect(await schemaOf(url)).toEqual(await schemaOf(source.url))
    })
  })

  it('fills a database that is migrated already, and replaces what it had', async () => {
    await withDatabase(async (url) => {
      await using(url, async (database) => {
        await database.query(`insert into groups values ('earlier', now())`)
        await database.query(
          `insert into events (id, kind, ip, user_agent, created_at) values (gen_random_uuid(), 'x', '', '', now())`,
        )
      })
      expect(await restore(url)).toMatchObject({ code: 0, err: '' })
      await expectSame(url)
      expect(await schemaOf(url)).toEqual(await schemaOf(source.url))
    }, freshPostgres)
  })

  it('takes a backup of an older schema, and migrates it', async () => {
    const names = await migrationNames()
    const older = join(folder, 'older-migrations')
    const { cp, rm: remove } = await import('node:fs/promises')
    await cp(migrationsDirectory, older, { recursive: true })
    for (const name of names.slice(20)) await remove(join(older, name))
    await withDatabase(async (from) => {
      await using(from, async (database) => {
        await migrate({ database, directory: older })
        await database.query(
          `insert into users (id, email, email_key, username, username_key, created_at)
           values (gen_random_uuid(), 'old@example.com', 'old@example.com', 'old', 'old', now())`,
        )
        await database.query(
          `insert into events (id, kind, ip, user_agent, created_at) values (gen_random_uuid(), 'x', '', '', now())`,
        )
      })
      const old = join(folder, 'old.backup')
      expect(await runCommand(settings(from), ['backup', old])).toMatchObject({ code: 0 })
      for (const open of [emptyPostgres, freshPostgres])
        await withDatabase(async (url) => {
          expect(await restore(url, [old])).toMatchObject({ code: 0, err: '' })
          await using(url, async (database) => {
            expect(await database.query('select username from users')).toEqual([{ username: 'old' }])
            expect(
              await database.query(`select kind from events where kind in ('x', 'restored') order by kind`),
            ).toHaveLength(2)
            const applied = await database.query<{ name: string }>('select name from schema_migrations order by name')
            expect(applied.map(({ name }) => name)).toEqual(names)
          })
        }, open)
    })
  })

  it('works as an owner who is no superuser, and gives the role of the service its rights', async () => {
    const id = randomBytes(6).toString('hex')
    const [owner, role] = [`latchkey_owner_${id}`, `latchkey_service_${id}`]
    await withDatabase(async (url) => {
      await using(url, async (admin) => {
        for (const name of [owner, role]) await admin.query(`create role ${name} login password 'only-for-this-test'`)
        await admin.query(`grant all on schema public to ${owner}`)
      })
      const as = (user: string) => urlFor(url, { user, password: 'only-for-this-test' })
      try {
        expect(await restore(as(role), [file], { DATABASE_OWNER_URL: as(owner) })).toMatchObject({ code: 0, err: '' })
        await expectSame(url)
        const service = await startLatchkey({ settings: settings(as(role)) })
        expect((await service.browser().post('/login', { username: 'grace', password: goodPassword })).status).toBe(200)
        await service.stop()
        // The role of the service may read all that a backup needs.
        for (const more of [{ DATABASE_OWNER_URL: as(owner) }, undefined])
          expect(await runCommand(settings(as(role), more), ['backup', join(folder, 'again.backup')])).toMatchObject({
            code: 0,
          })
        expect(await restore(as(role))).toMatchObject({
          code: 1,
          err: `The role ${role} does not own the tables of this database: set DATABASE_OWNER_URL. Nothing was restored.\n`,
        })
      } finally {
        await using(url, async (admin) => {
          for (const name of [role, owner]) await admin.query(`drop owned by ${name} cascade`)
          for (const name of [role, owner]) await admin.query(`drop role ${name}`)
        })
      }
    })
  })

  it('lets users go on: with their sessions, the old password and the second factor', async () => {
    await withDatabase(async (url) => {
      expect(await restore(url)).toMatchObject({ code: 0 })
      const service = await startLatchkey({ settings: settings(url) })
      // The tokens from before are refused, and the session is there.
      const ada = movedTo(service, source.ada)
      expect((await ada.get('/api/auth/me')).status).toBe(401)
      expect((await ada.post('/api/auth/refresh')).status).toBe(200)
      expect((await ada.get('/api/auth/me')).status).toBe(200)
      const tab = service.browser()
      expect(await tab.post('/login', { username: 'ada', password: goodPassword })).toMatchObject({ status: 202 })
      expect((await tab.post('/api/auth/second-factor', { code: source.code() })).status).toBe(200)
      const lost = service.browser()
      await lost.post('/login', { username: 'ada', password: goodPassword })
      expect((await lost.post('/api/auth/second-factor', { code: source.recoveryCodes[0] })).status).toBe(200)
      await service.stop()
    })
  })

  it('sends nothing: no mail, no webhook, no notice, neither now nor with the next start', async () => {
    const receiver = await startWebhookReceiver()
    await withDatabase(async (url) => {
      const webhooks = { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: receiver.secret, WEBHOOK_ALLOW_PRIVATE: 'true' }
      expect(await restore(url, [await agedBackup(2)], webhooks)).toMatchObject({ code: 0 })
      const waiting = () =>
        using(url, (database) =>
          database.query(
            `select id from outgoing_mail where next_attempt_at is not null or content is not null
             union all select id from outgoing_webhooks union all select id from logout_notices`,
          ),
        )
      expect(await waiting()).toEqual([])
      const service = await startLatchkey({ settings: settings(url, webhooks) })
      await service.advance(0)
      expect(service.mails()).toEqual([])
      expect(await waiting()).toEqual([])
      expect(receiver.received).toEqual([])
      await service.stop()
    })
    await receiver.stop()
  })

  /** The same backup, as if it had been made so many hours ago. */
  const agedBackup = (hours: number) => {
    const takenAt = new Date(Date.now() - hours * 3_600_000).toISOString()
    return changedBackup(file, join(folder, `${hours}-hours.backup`), (content) =>
      content.replace(/"takenAt":"[^"]+"/, `"takenAt":"${takenAt}"`),
    )
  }

  it('ends sessions, links and invitations of a backup that is older than an hour', async () => {
    const old = await agedBackup(1.1)
    await withDatabase(async (url) => {
      const { code, out } = await restore(url, [old])
      expect({ code, out }).toMatchObject({
        code: 0,
        out: expect.stringMatching(
          /Ended: .*3 sessions.*2 unfinished registrations.*1 invitation.*1 use of an application.* and 2 undo links\.\n$/,
        ),
      })
      const left = await using(url, (database) =>
        database.query(
          `select (select count(*) from sessions) + (select count(*) from application_tokens) + (select count(*) from invitations)
             + (select count(*) from one_time_tokens) + (select count(*) from undos where not is_void) as left, count(*) as users from users`,
        ),
      )
      expect(left).toEqual([{ left: 0, users: 3 }])
      const service = await startLatchkey({ settings: settings(url) })
      const ada = movedTo(service, source.ada)
      expect((await ada.get('/api/auth/me')).status).toBe(401)
      expect((await ada.post('/api/auth/refresh')).status).toBe(401)
      expect((await service.browser().post('/login', { username: 'grace', password: goodPassword })).status).toBe(200)
      await service.stop()
    })
  })

  it('keeps them with --keep-sessions', async () => {
    const old = await agedBackup(30)
    await withDatabase(async (url) => {
      expect(await restore(url, [old, '--keep-sessions'])).toMatchObject({ code: 0 })
      const service = await startLatchkey({ settings: settings(url) })
      expect((await movedTo(service, source.ada).post('/api/auth/refresh')).status).toBe(200)
      await service.stop()
    })
  })

  it('lets a sequence go on after its newest number, and writes numbers of transactions anew', async () => {
    const add = (url: string) =>
      using(url, (database) =>
        database.query(
          'alter table content add column number bigint generated always as identity, add column xact xid8 default pg_current_xact_id()',
        ),
      )
    const from = await freshPostgres()
    await add(from.url)
    await using(from.url, (database) =>
      database.query(
        `insert into content (slug, title, body, updated_at) select 'page-' || n, '', '', now() from generate_series(1, 40) as n`,
      ),
    )
    const numbered = join(folder, 'numbered.backup')
    expect(await runCommand(settings(from.url), ['backup', numbered])).toMatchObject({ code: 0 })
    await withDatabase(async (url) => {
      await add(url)
      expect(await restore(url, [numbered])).toMatchObject({ code: 0 })
      await using(url, async (database) => {
        const [next] = await database.query<{ number: number }>(
          `insert into content (slug, title, body, updated_at) values ('next', '', '', now()) returning number`,
        )
        const [last] = await database.query<{ number: number; fits: boolean }>(
          `select max(number) as number, bool_and(xact < pg_snapshot_xmax(pg_current_snapshot())) as fits from content where slug <> 'next'`,
        )
        expect(last?.fits).toBe(true)
        expect(next?.number).toBe((last?.number ?? 0) + 1)
      })
    }, freshPostgres)
    await from.drop()
  })

  it('keeps the secrets of a backup that has them where none are set', async () => {
    const whole = join(folder, 'whole.backup')
    const made = await runCommand(settings(source.url), ['backup', whole, '--with-secrets'])
    expect(made.err).toMatch(/It has JWT_SECRET and SEALING_KEY: whoever reads it can sign in as any user\.\n$/)
    const { JWT_SECRET: _, ...bare } = settings('', { DATA_DIR: join(folder, 'elsewhere') })
    await withDatabase(async (url) => {
      const { code, err } = await runCommand({ ...bare, DATABASE_URL: url }, ['restore', whole])
      expect({ code, err }).toEqual({
        code: 0,
        err: `The secrets of the backup are kept in ${join(folder, 'elsewhere', 'secrets')}.\n`,
      })
      const kept = join(folder, 'elsewhere', 'secrets', 'jwt_secret')
      expect([(await readFile(kept, 'utf8')).trim(), (await stat(kept)).mode & 0o777]).toEqual([backupSecret, 0o600])
    })
  })
})

describe('the database that the service brings along', () => {
  const own = (dataDir: string) => {
    const { JWT_SECRET: _, DATABASE_URL: __, ...bare } = settings('', { DATA_DIR: dataDir })
    return bare
  }

  it('is filled from a server and moves on to one, with its users, and nothing stays of a broken file', async () => {
    const [dataDir, whole] = [join(folder, 'own', 'data'), join(folder, 'to-own.backup')]
    const second = randomBytes(48).toString('hex')
    const sealing = { JWT_SECRET: second, SEALING_KEY: settings(source.url).JWT_SECRET ?? '' }
    await runCommand(settings(source.url, sealing), ['backup', whole, '--with-secrets'])
    const broken = join(folder, 'broken.backup')
    await writeFile(broken, (await readFile(whole)).subarray(0, -20))
    expect(await runCommand(own(dataDir), ['backup', join(folder, 'none')])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^There is no database to back up: set DATA_DIR/),
    })
    expect(await runCommand(own(dataDir), ['restore', broken])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/is cut or was altered/),
    })
    // The fault may be found before the first line was read. Then there is not even a folder.
    expect(await readdir(dataDir).catch(() => [])).toEqual([])

    expect(await runCommand(own(dataDir), ['restore', whole])).toMatchObject({
      code: 0,
      err: `The secrets of the backup are kept in ${join(dataDir, 'secrets')}.\n`,
    })
    expect((await readFile(join(dataDir, 'secrets', 'jwt_secret'), 'utf8')).trim()).toBe(second)
    const service = await startLatchkey({ stores: 'own', settings: { DATA_DIR: dataDir } })
    const tab = service.browser()
    expect((await tab.post('/login', { username: 'linus', password: goodPassword })).status).toBe(200)
    // While the service runs: a backup is made, and a restore refused.
    const onward = join(folder, 'from-own.backup')
    expect(await runCommand(own(dataDir), ['backup', onward, '--with-secrets'])).toMatchObject({ code: 0 })
    expect(await runCommand(own(dataDir), ['restore', whole])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^A service uses this database|^The database has users/),
    })
    await service.stop()
    expect(await runCommand(own(dataDir), ['restore', whole])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^The database has users/),
    })
    await withDatabase(async (url) => {
      expect(await runCommand(settings(url, sealing), ['restore', onward])).toMatchObject({ code: 0 })
      const moved = await startLatchkey({ settings: settings(url, sealing) })
      expect((await movedTo(moved, tab).post('/api/auth/refresh')).status).toBe(200)
      await moved.stop()
    })
  })
})
