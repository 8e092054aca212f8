import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkSchema, migrate, pendingMigrations } from '../../src/platform/database/migrate.js'
import { emptyPostgres, migrationsDirectory, testPostgres } from '../support/databases.js'

describe('a schema of its own in the database of another program', () => {
  it('is named by the address, and holds everything', async () => {
    const fresh = await emptyPostgres()
    const other = testPostgres(fresh.url)
    const own = testPostgres(`${fresh.url}?search_path=latchkey`)
    try {
      await other.transaction((sql) =>
        sql.script('create table users (id int); create table schema_migrations (version text)'),
      )
      await expect(migrate({ database: own, directory: migrationsDirectory })).rejects.toThrow(
        'has no schema of the search_path latchkey that this role may use: create it',
      )
      await other.query('create schema latchkey')
      await migrate({ database: own, directory: migrationsDirectory })
      expect(
        await other.query(`select tablename as name from pg_tables where schemaname = 'public' order by 1`),
      ).toEqual([{ name: 'schema_migrations' }, { name: 'users' }])
      expect(await own.query('select username from latchkey.users')).toEqual([])
      expect(await pendingMigrations({ database: own, directory: migrationsDirectory })).toEqual([])
    } finally {
      await Promise.all([own.close(), other.close()])
      await fresh.drop()
    }
  })
})

describe('a schema that was created after the tables and comes before them in the search_path', () => {
  it('gets none of the next tables', async () => {
    const fresh = await emptyPostgres()
    const [before, after] = [testPostgres(fresh.url), testPostgres(`${fresh.url}?search_path=later,public`)]
    const directory = await mkdtemp(join(tmpdir(), 'latchkey-migrations-'))
    try {
      await writeFile(join(directory, '0001-first.sql'), 'create table a (id integer);')
      await migrate({ database: before, directory })
      await before.query('create schema later')
      // The service itself finds its tables.
      await expect(checkSchema({ database: after, directory })).resolves.toBeUndefined()
      await writeFile(join(directory, '0002-second.sql'), '-- older programs: must stop\ncreate table b (id integer);')
      await expect(migrate({ database: after, directory })).rejects.toThrow(
        'has the tables of Latchkey in the schema public, and the search_path later,public would create new ones in the schema later',
      )
      expect(await before.query(`select 1 from pg_class where relnamespace = 'later'::regnamespace`)).toEqual([])
      expect(await migrate({ database: before, directory })).toEqual(['0002-second.sql'])
    } finally {
      await Promise.all([before.close(), after.close()])
      await fresh.drop()
      await rm(directory, { recursive: true, force: true })
    }
  })
})
