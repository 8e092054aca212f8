import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Database, StoreUnavailable } from '../../src/platform/database/database.js'
import {
  checkSchema,
  ForeignSchema,
  MigrationsBroken,
  migrate,
  pendingMigrations,
  SchemaOutdated,
  SchemaTooNew,
  schemaStatus,
} from '../../src/platform/database/migrate.js'
import { readableTables, writableTables } from '../../src/service/tables.js'
import {
  emptyPostgres,
  type FreshDatabase,
  freshPostgres,
  migrationsDirectory,
  testPostgres,
} from '../support/databases.js'
import { until } from '../support/until.js'

const stop = '-- older programs: must stop\n'
const from = (number: string) => `-- older programs: can run from ${number}\n`
const first = `create table a (x text); -- a comment; with a semicolon\ninsert into a values (';');\n`

const tablesOf = async (database: Database) => {
  const rows = await database.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
  )
  return rows.map(({ name }) => name)
}

const appliedOn = (database: Database) => database.query('select name from schema_migrations order by name')

describe('migrations on PostgreSQL', () => {
  let database: Database
  let remove: () => Promise<void>
  let directory: string
  const file = (title: string, text: string) => writeFile(join(directory, title), text)

  beforeAll(async () => {
    const { url, drop } = await emptyPostgres()
    database = testPostgres(url)
    remove = drop
  })

  beforeEach(async () => {
    await database.transaction((sql) => sql.script('drop schema public cascade; create schema public;'))
    directory = await mkdtemp(join(tmpdir(), 'latchkey-migrations-'))
    await file('0001-first.sql', first)
    await file('0002-second.sql', `${stop}create table b (id integer); create table c (id integer);`)
  })

  afterEach(() => rm(directory, { recursive: true, force: true }))

  afterAll(async () => {
    await database.close()
    await remove()
  })

  it('apply every file once, in order, with several statements each', async () => {
    expect(await pendingMigrations({ database, directory })).toEqual(['0001-first.sql', '0002-second.sql'])
    expect(await migrate({ database, directory })).toEqual(['0001-first.sql', '0002-second.sql'])
    expect(await migrate({ database, directory })).toEqual([])
    expect(await tablesOf(database)).toEqual(['a', 'b', 'c', 'schema_migrations'])
    await expect(checkSchema({ database, directory })).resolves.toBeUndefined()
  })

  it('keep what was applied when a later one fails, and go on from there', async () => {
    await file('0002-second.sql', `${stop}create table b (id integer); create table a (again integer);`)
    await expect(migrate({ database, directory })).rejects.toMatchObject({ code: '42P07' })
    expect(await tablesOf(database)).toEqual(['a', 'schema_migrations'])
    await file('0002-second.sql', `${stop}create table b (id integer);`)
    expect(await migrate({ database, directory })).toEqual(['0002-second.sql'])
  })

  it('say what to run when the schema is behind', async () => {
    await expect(checkSchema({ database, directory })).rejects.toThrow(SchemaOutdated)
    await expect(checkSchema({ database, directory })).rejects.toThrow(
      'The database lacks 0001-first.sql: run `latchkey migrate`',
    )
    expect(await tablesOf(database)).toEqual([])
  })

  it('refuse a file that was changed after it was applied, but not for its line ends', async () => {
    await migrate({ database, directory })
    await file('0001-first.sql', first.replaceAll('\n', '\r\n'))
    await expect(migrate({ database, directory })).resolves.toEqual([])
    await file('0002-second.sql', `${stop}create table b (id bigint);`)
    await expect(migrate({ database, directory })).rejects.toThrow(MigrationsBroken)
    await expect(migrate({ database, directory })).rejects.toThrow('0002-second.sql was changed')
  })

  it('refuse a schema that is newer than the program, and change nothing', async () => {
    await file('0003-third.sql', `${stop}create table d (id integer);`)
    await migrate({ database, directory })
    await rm(join(directory, '0003-third.sql'))
    await expect(migrate({ database, directory })).rejects.toThrow(SchemaTooNew)
    await expect(checkSchema({ database, directory })).rejects.toThrow(SchemaTooNew)
    expect(await appliedOn(database)).toHaveLength(3)
  })

  it('let an older program run on a newer schema that allows it, and change nothing', async () => {
    await file('0003-third.sql', `${from('0002')}create table d (id integer);`)
    await file('0004-fourth.sql', `${from('0001')}create table e (id integer);`)
    await migrate({ database, directory })
    const before = await database.query('select * from schema_migrations order by name')
    await rm(join(directory, '0004-fourth.sql'))
    await rm(join(directory, '0003-third.sql'))
    await expect(checkSchema({ database, directory })).resolves.toBeUndefined()
    expect(await migrate({ database, directory })).toEqual([])
    expect(await database.query('select * from schema_migrations order by name')).toEqual(before)
    expect(await schemaStatus({ database, directory })).toMatchObject({
      applied: [
        { name: '0001-first.sql', oldestProgram: null },
        { name: '0002-second.sql', oldestProgram: null },
        { name: '0003-third.sql', oldestProgram: 2 },
        { name: '0004-fourth.sql', oldestProgram: 1 },
      ],
      pending: [],
      newer: ['0003-third.sql', '0004-fourth.sql'],
    })
  })

  it('refuse a program that is older than one of the newer migrations allows', async () => {
    await file('0003-third.sql', `${from('0002')}alter table b add column name text;`)
    await file('0004-fourth.sql', `${from('0003')}alter table b drop column id;`)
    await migrate({ database, directory })
    await rm(join(directory, '0004-fourth.sql'))
    await expect(checkSchema({ database, directory })).resolves.toBeUndefined()
    await rm(join(directory, '0003-third.sql'))
    for (const attempt of [migrate, checkSchema, schemaStatus]) {
      await expect(attempt({ database, directory })).rejects.toThrow(SchemaTooNew)
      await expect(attempt({ database, directory })).rejects.toThrow(
        'The database has 0004-fourth.sql, which is newer than this program and does not let it run',
      )
    }
  })

  it('refuse an older program whose own migrations are not all there, although the newer ones allow it', async () => {
    await file('0003-third.sql', `${from('0001')}create table d (id integer);`)
    await migrate({ database, directory })
    await rm(join(directory, '0003-third.sql'))
    await database.query(`delete from schema_migrations where name = '0002-second.sql'`)
    await expect(migrate({ database, directory })).rejects.toThrow('0002-second.sql was not applied')
    await file('0002-second.sql', `${stop}create table b (id bigint);`)
    await expect(migrate({ database, directory })).rejects.toThrow(MigrationsBroken)
  })

  it.each(['select 1', '-- older programs: may run\n', from('0002'), from('0000'), ` ${stop}`, `select 1;\n${stop}`])(
    'must say first which older programs can run on them: not %j',
    async (text) => {
      await file('0002-second.sql', text)
      await expect(migrate({ database, directory })).rejects.toThrow(
        '0002-second.sql must begin with "-- older programs:',
      )
      expect(await tablesOf(database)).toEqual([])
    },
  )

  it('refuse gaps, doubles and other names', async () => {
    await file('0004-fourth.sql', `${stop}select 1`)
    await expect(migrate({ database, directory })).rejects.toThrow(MigrationsBroken)
    await rm(join(directory, '0004-fourth.sql'))
    await file('0002-other.sql', `${stop}select 1`)
    await expect(migrate({ database, directory })).rejects.toThrow(MigrationsBroken)
    await rm(join(directory, '0002-other.sql'))
    await file('third.sql', 'select 1')
    await expect(migrate({ database, directory })).rejects.toThrow('third.sql is not named NNNN-name.sql')
    expect(await tablesOf(database)).toEqual([])
  })

  it('refuse a history with a hole in it', async () => {
    await migrate({ database, directory })
    await database.query(`delete from schema_migrations where name = '0001-first.sql'`)
    await expect(migrate({ database, directory })).rejects.toThrow('0001-first.sql was not applied')
  })

  it.each([
    ['no tables of ours', 'create table products (id int); create table "User" (id int)', 'User, products'],
    ['four tables', 'create table d (); create table a (); create table c (); create table b ()', 'a, b, c and others'],
    ['Rails', 'create table schema_migrations (version text primary key)', 'schema_migrations'],
    ['golang-migrate', 'create table schema_migrations (version bigint, dirty boolean)', 'schema_migrations'],
  ])('leave a schema of another program as it is: %s', async (_, text, tables) => {
    await database.transaction((sql) => sql.script(text))
    const before = await tablesOf(database)
    for (const attempt of [migrate, schemaStatus]) {
      await expect(attempt({ database, directory })).rejects.toThrow(ForeignSchema)
      await expect(attempt({ database, directory })).rejects.toThrow(
        new RegExp(
          `^The database \\S+ (at \\S+:\\d+ )?belongs to another program: its schema public has the tables ${tables}\\. `,
        ),
      )
    }
    expect(await tablesOf(database)).toEqual(before)
  })

  it('go on beside what others add later, and beside the tables of an extension', async () => {
    await database.transaction((sql) =>
      // A member of an extension, as `create extension postgis` makes it.
      sql.script('create table spatial_ref_sys (id int); alter extension plpgsql add table spatial_ref_sys'),
    )
    await migrate({ database, directory })
    await database.query('create table products (id int)')
    await file('0003-third.sql', `${from('0002')}create table d (id integer);`)
    expect(await migrate({ database, directory })).toEqual(['0003-third.sql'])
    await database.query('alter extension plpgsql drop table spatial_ref_sys')
  })

  it('make the program’s own schema', async () => {
    expect(await migrate({ database, directory: migrationsDirectory })).not.toEqual([])
    expect(await tablesOf(database)).toEqual([...writableTables, ...readableTables].sort())
  })
})

describe('migrations on PostgreSQL by several at once', () => {
  let fresh: FreshDatabase
  let directory: string

  beforeEach(async () => {
    fresh = await emptyPostgres()
    directory = await mkdtemp(join(tmpdir(), 'latchkey-migrations-'))
  })

  afterEach(async () => {
    await fresh.drop()
    await rm(directory, { recursive: true, force: true })
  })

  it('run once when ten instances start together', async () => {
    await cp(migrationsDirectory, directory, { recursive: true })
    const ten = Array.from({ length: 10 }, () => testPostgres(fresh.url, { poolSize: 1 }))
    const results = await Promise.all(ten.map((database) => migrate({ database, directory })))
    const applied = results.flat().sort()
    expect(applied).toEqual([...new Set(applied)])
    expect(applied.length).toBeGreaterThan(0)
    await Promise.all(ten.map((database) => checkSchema({ database, directory })))
    await Promise.all(ten.map((database) => database.close()))
  })

  it('give way to a request that locks their tables in another order, and come again', async () => {
    await writeFile(join(directory, '0001-first.sql'), 'create table a (id integer); create table b (id integer);')
    const [owner, service] = [testPostgres(fresh.url), testPostgres(fresh.url)]
    await migrate({ database: owner, directory })
    await writeFile(join(directory, '0002-both.sql'), `${stop}alter table a add x text; alter table b add x text;`)
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const request = service.transaction(async (sql) => {
      await sql.query('insert into b values (1)')
      begin()
      const waiting = 'select from pg_locks where not granted and relation = $1::regclass'
      await until('the migration waits for b', async () => (await sql.query(waiting, ['b'])).length > 0)
      await sql.query('insert into a values (1)')
    })
    await begun
    expect(await migrate({ database: owner, directory })).toEqual(['0002-both.sql'])
    await request
    expect(await service.query('select id, x from a')).toEqual([{ id: 1, x: null }])
    await Promise.all([owner, service].map((database) => database.close()))
  })

  it('are resumed by another instance when the one that ran them was killed', async () => {
    await writeFile(join(directory, '0001-first.sql'), 'create table a (seconds integer); insert into a values (60);')
    const slow = 'create table b (id integer); select pg_sleep((select seconds from a));'
    await writeFile(join(directory, '0002-slow.sql'), `${stop}${slow}`)
    const [doomed, other, admin] = [testPostgres(fresh.url), testPostgres(fresh.url), testPostgres(fresh.url)]
    const running = () =>
      admin.query<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
      )
    const first = migrate({ database: doomed, directory }).catch((error: unknown) => error)
    await until('the slow migration runs', async () => (await running()).length > 0)
    const second = migrate({ database: other, directory })
    await admin.query('update a set seconds = 0')
    for (const { pid } of await running()) await admin.query('select pg_terminate_backend($1)', [pid])
    expect(await first).toBeInstanceOf(StoreUnavailable)
    expect(await second).toEqual(['0002-slow.sql'])
    expect(await appliedOn(admin)).toHaveLength(2)
    await Promise.all([doomed, other, admin].map((database) => database.close()))
  })
})

describe('a fresh database for a test', () => {
  it('has the current schema and shares nothing with the next one', async () => {
    const [first, second] = await Promise.all([freshPostgres(), freshPostgres()])
    const [one, two] = [testPostgres(first.url), testPostgres(second.url)]
    await one.query(`insert into content values ('a', 'b', 'c', now())`)
    expect(await two.query('select * from content')).toEqual([])
    await expect(checkSchema({ database: two, directory: migrationsDirectory })).resolves.toBeUndefined()
    await Promise.all([one.close(), two.close()])
    await Promise.all([first.drop(), second.drop()])
  })
})
