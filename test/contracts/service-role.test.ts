import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.js'
import { createContent } from '../../src/pages/content.js'
import { type Database, isUnusableTable } from '../../src/platform/database/database.js'
import { checkSchema, migrate, SchemaOutdated } from '../../src/platform/database/migrate.js'
import { migrateAsOwner, proveTables } from '../../src/platform/database/open.js'
import { grantsFor, readableTables, writableTables } from '../../src/service/tables.js'
import {
  emptyPostgres,
  type FreshDatabase,
  migrationsDirectory,
  testPostgres,
  testServerUrl,
  urlFor,
} from '../support/databases.js'

describe('the role of the running service', () => {
  const suffix = randomBytes(6).toString('hex')
  const [ownerRole, serviceRole] = [`latchkey_owner_${suffix}`, `latchkey "service" ${suffix}`]
  const password = 'not/so@secret:1'
  let admin: Database
  let fresh: FreshDatabase
  let service: Database
  let urls: { url: string; ownerUrl: string }

  beforeAll(async () => {
    admin = testPostgres(testServerUrl())
    fresh = await emptyPostgres()
    const name = new URL(fresh.url).pathname.slice(1)
    await admin.query(`create role ${ownerRole} login password '${password}'`)
    await admin.query(`create role ${quoted(serviceRole)} login password '${password}'`)
    await admin.query(`alter database ${name} owner to ${ownerRole}`)
    urls = {
      url: urlFor(fresh.url, { user: encodeURIComponent(serviceRole), password: encodeURIComponent(password) }),
      ownerUrl: urlFor(fresh.url, { user: ownerRole, password: encodeURIComponent(password) }),
    }
    service = testPostgres(urls.url)
  })

  afterAll(async () => {
    await service.close()
    await fresh.drop()
    for (const role of [ownerRole, serviceRole]) await admin.query(`drop role ${quoted(role)}`)
    await admin.close()
  })

  it('cannot migrate, and is told who can', async () => {
    const attempt = migrate({ database: service, directory: migrationsDirectory })
    await expect(attempt).rejects.toThrow(SchemaOutdated)
    await expect(attempt).rejects.toThrow('run `latchkey migrate` as the role that owns the schema')
  })

  it('is granted what it needs by the owner, as often as that is run', async () => {
    expect(await migrateAsOwner({ ...urls, directory: migrationsDirectory, grantsFor })).not.toEqual([])
    expect(await migrateAsOwner({ ...urls, directory: migrationsDirectory, grantsFor })).toEqual([])
    await expect(checkSchema({ database: service, directory: migrationsDirectory })).resolves.toBeUndefined()
    await expect(migrate({ database: service, directory: migrationsDirectory })).resolves.toEqual([])
  })

  it('is told that only rights are missing when it was granted nothing', async () => {
    const owner = testPostgres(urls.ownerUrl)
    await owner.query(`revoke all on schema_migrations from ${quoted(serviceRole)}`)
    await expect(checkSchema({ database: service, directory: migrationsDirectory })).rejects.toThrow(
      'this role has no rights on them',
    )
    await owner.close()
    await migrateAsOwner({ ...urls, directory: migrationsDirectory, grantsFor })
  })

  it('is unhealthy without its tables and without its rights on them, and healthy with both', async () => {
    await expect(proveTables(service, writableTables)).resolves.toBeUndefined()
    await expect(proveTables(service, [...writableTables, 'lost_table'])).rejects.toThrow(': lost_table')
    const owner = testPostgres(urls.ownerUrl)
    await owner.query(`revoke insert on events, users from ${quoted(serviceRole)}`)
    await expect(proveTables(service, writableTables)).rejects.toThrow(/may not write them: events, users$/)
    await owner.close()
    await migrateAsOwner({ ...urls, directory: migrationsDirectory, grantsFor })
  })

  it('may read every view', async () => {
    const views = await service.query<{ name: string }>(
      'select viewname as name from pg_views where schemaname = current_schema()',
    )
    expect(views).not.toEqual([])
    for (const { name } of views) await expect(service.query(`select 1 from ${name}`)).resolves.toEqual([])
  })

  it('starts without example content, which it may not write', async () => {
    const content = createContent({ database: service, clock: systemClock })
    await content.seed(service)
    expect(await content.list()).toEqual([])
  })

  it('keeps what a newer program has granted when an older one migrates', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'latchkey-migrations-'))
    await cp(migrationsDirectory, directory, { recursive: true })
    const { length: count } = await readdir(migrationsDirectory)
    const [known, next] = [count, count + 1].map((number) => String(number).padStart(4, '0'))
    const text = `-- older programs: can run from ${known}\ngrant insert on content to ${quoted(serviceRole)};`
    await writeFile(join(directory, `${next}-newer.sql`), text)
    const owner = testPostgres(urls.ownerUrl)
    // Without the role: the newer program would grant it anew and so take this one back.
    await migrate({ database: owner, directory })
    expect(await migrateAsOwner({ ...urls, directory: migrationsDirectory, grantsFor })).toEqual([])
    await expect(service.query(`insert into content values ('a', 'b', 'c', now())`)).resolves.toEqual([])
    await owner.query('delete from content')
    await owner.query('delete from schema_migrations where name = $1', [`${next}-newer.sql`])
    await owner.close()
    await rm(directory, { recursive: true })
    await migrateAsOwner({ ...urls, directory: migrationsDirectory, grantsFor })
  })

  it('causes webhooks, even without rights on their tables', async () => {
    const owner = testPostgres(urls.ownerUrl)
    await owner.query("insert into webhooks_wanted (until) values (now() + interval '1 day')")
    await owner.query(`revoke all on outgoing_webhooks, webhooks_wanted from ${quoted(serviceRole)}`)
    await service.query(
      `insert into users (id, email, email_key, username, username_key, created_at)
       values (gen_random_uuid(), 'w', 'w', 'w', 'w', now())`,
    )
    await service.query('delete from users')
    expect(await owner.query('select type from outgoing_webhooks')).toEqual([{ type: 'user.deleted' }])
    await owner.query('delete from webhooks_wanted')
    await owner.query('delete from outgoing_webhooks')
    await owner.close()
    await migrateAsOwner({ ...urls, directory: migrationsDirectory, grantsFor })
  })

  it('leaves an entry for a session that it ends, even without rights on the list', async () => {
    const owner = testPostgres(urls.ownerUrl)
    const id = '0190c0de-0000-7000-8000-000000000001'
    await service.query(
      `insert into users (id, email, email_key, username, username_key, created_at) values ($1, 'a', 'a', 'a', 'a', now())`,
      [id],
    )
    await service.query(
      `insert into sessions (id, user_id, token_hash, generation, issued_at, rotated_at, expires_at, ip,
         user_agent, created_at, last_used_at, methods, authenticated_at, second_factor_required, signed_in_as)
       values ($1, $1, '', 0, now(), now(), now() + interval '1 day', '', '', now(), now(), '{pwd}', now(), false, 'a')`,
      [id],
    )
    await owner.query(`revoke all on ended_sessions from ${quoted(serviceRole)}`)
    // A table of the same name among the caller's own must not catch the entry.
    await service.transaction(async (sql) => {
      await sql.query('create temporary table ended_sessions (sid uuid, min_generation integer) on commit drop')
      await sql.query('delete from users')
    })
    expect(await owner.query('select sid, min_generation from ended_sessions')).toEqual([
      { sid: id, min_generation: null },
    ])
    await owner.query('delete from ended_sessions')
    await owner.close()
    await migrateAsOwner({ ...urls, directory: migrationsDirectory, grantsFor })
  })

  it('has the months of events made for it, and only those dropped that are over', async () => {
    const owner = testPostgres(urls.ownerUrl)
    await owner.query('drop table events_earlier')
    expect(await service.query('select make_event_months() as made')).toEqual([{ made: 2 }])
    const everything = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
    expect(await service.query('select drop_event_months($1) as dropped', [everything])).toEqual([{ dropped: 0 }])
    await owner.close()
  })

  it.each(writableTables)('may read and write %s', async (table) => {
    await expect(service.query(`select * from ${table}`)).resolves.toEqual([])
    await expect(service.query(`delete from ${table}`)).resolves.toEqual([])
  })

  it.each(readableTables)('may only read %s', async (table) => {
    await expect(service.query(`select * from ${table}`)).resolves.toBeInstanceOf(Array)
    for (const statement of [`delete from ${table}`, `insert into ${table} select * from ${table}`])
      await expect(service.query(statement)).rejects.toSatisfy(isUnusableTable)
  })

  it.each([
    'create table mine (id integer)',
    'alter table users add column mine integer',
    'drop table users',
    'truncate users',
    'create index mine on users (name)',
    "update events set reason = 'other'",
    'alter table events disable trigger event_changed',
    'select 1 from events_other',
    'delete from events_other',
    'drop table events_other',
    'create table mine partition of events default',
  ])('may not %s', async (text) => {
    await expect(service.query(text)).rejects.toMatchObject({ code: '42501' })
  })
})

const quoted = (identifier: string) => `"${identifier.replaceAll('"', '""')}"`
