import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { emptyPostgres, type FreshDatabase, migrationNames, testPostgres, urlFor } from '../support/databases.js'
import { noStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

const role = `latchkey_service_${randomBytes(6).toString('hex')}`

describe('latchkey migrate in production, with nothing but the address of the owner', () => {
  let database: FreshDatabase
  let admin: ReturnType<typeof testPostgres>
  beforeAll(async () => {
    database = await emptyPostgres()
    admin = testPostgres(database.url)
    await admin.query(`create role ${role} login password 'only-for-this-test'`)
  })
  afterAll(async () => {
    await admin.query(`drop owned by ${role}`)
    await admin.query(`drop role ${role}`)
    await admin.close()
    await database.drop()
  })

  const migrate = (args: string[], settings: Record<string, string> = {}) =>
    latchkey(noStore, ['migrate', ...args], {
      environment: { NODE_ENV: 'production', DATABASE_OWNER_URL: database.url, ...settings },
    })
  const tables = async () =>
    (await admin.query("select 1 from information_schema.tables where table_schema = 'public'")).length
  const mayReadUsers = async () =>
    (await admin.query<{ may: boolean }>('select has_table_privilege($1, $2, $3) as may', [role, 'users', 'select']))[0]

  const named = () => {
    const { pathname, host } = new URL(database.url)
    return `the database ${pathname.slice(1)} at ${host}`
  }

  it('says what it would do and changes nothing', async () => {
    const names = await migrationNames()
    const would = `Would create the tables of ${named()}.\n`
    expect(await migrate(['--dry-run'])).toMatchObject({ code: 0, out: would, err: '' })
    const status = await migrate(['--status'])
    expect(status).toMatchObject({ code: 0, err: '' })
    expect(status.out.match(/^\S+ {2}not applied(?=;|$)/gm)).toEqual(names.map((name) => `${name}  not applied`))
    expect(await migrate(['--status', '--dry-run'])).toMatchObject({ code: 2 })
    expect(await tables()).toBe(0)
  })

  it('leaves the database of another program as it is, and doctor says so once', async () => {
    await admin.query('create table products (id int)')
    const foreign = `${named().replace('the', 'The')} belongs to another program: its schema public has the tables products.`
    for (const args of [[], ['--dry-run'], ['--status'], ['--grant-to', role]])
      expect(await migrate(args)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(foreign) })
    expect(await tables()).toBe(1)
    const environment = { NODE_ENV: 'test', DATABASE_URL: database.url }
    const { out } = await latchkey(noStore, ['doctor'], { environment })
    expect(out.split('another program')).toHaveLength(2)
    await admin.query('drop table products')
  })

  it('makes no tables in a schema of the owner alone, where the service would not find them', async () => {
    const owner = decodeURIComponent(new URL(database.url).username)
    await admin.query(`create schema ${owner}`)
    const hidden = `The tables would be in the schema ${owner}, where the role ${role} does not look`
    for (const args of [[], ['--dry-run']])
      expect(await migrate([...args, '--grant-to', role])).toMatchObject({
        code: 1,
        err: expect.stringContaining(hidden),
      })
    const toldWhere = { DATABASE_OWNER_URL: `${database.url}?search_path=${owner}` }
    expect(await migrate(['--dry-run', '--grant-to', role], toldWhere)).toMatchObject({ code: 0 })
    await admin.query(`drop schema ${owner}`)
  })

  it('checks the role before it changes anything, also in a dry run', async () => {
    const missing = { code: 1, err: 'The role latchkey_nobody does not exist: create it before migrating.\n' }
    expect(await migrate(['--grant-to', 'latchkey_nobody'])).toMatchObject(missing)
    expect(await migrate(['--dry-run', '--grant-to', 'latchkey_nobody'])).toMatchObject(missing)
    const url = urlFor(database.url, { user: 'latchkey_nobody' })
    expect(await migrate(['--dry-run'], { DATABASE_URL: url })).toMatchObject(missing)
    expect(await migrate(['--grant-to', ' '])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^--grant-to takes the name of a role, and the name is empty\./),
    })
    expect(await migrate(['--dry-run', '--grant-to', role])).toMatchObject({ code: 0 })
    const service = urlFor(database.url, { user: role, password: 'only-for-this-test' })
    const forbidden = { code: 1, err: expect.stringContaining('this role may not do it') }
    expect(await migrate(['--dry-run'], { DATABASE_OWNER_URL: service })).toMatchObject(forbidden)
    expect(await tables()).toBe(0)
  })

  it('migrates without the signing secret, and says that nothing was granted', async () => {
    const { code, out, err } = await migrate([])
    expect({ code, out }).toEqual({ code: 0, out: `Created the tables of ${named()}.\n` })
    expect(err).toContain('--grant-to')
    expect((await migrate(['--status'])).out).toMatch(/^(\d{4}-[\w-]+\.sql {2}applied \d{4}-\d\d-\d\dT\S+Z.*\n)+$/)
    expect((await migrate(['--dry-run'])).out).toBe(`Nothing to apply: ${named()} is up to date.\n`)
    expect(await mayReadUsers()).toEqual({ may: false })
  })

  it('grants to the role that it is told, or to the one of DATABASE_URL', async () => {
    expect(await migrate(['--grant-to', role])).toMatchObject({ code: 0, err: '' })
    expect(await mayReadUsers()).toEqual({ may: true })
    await admin.query(`revoke all on users from ${role}`)
    const url = urlFor(database.url, { user: role, password: 'only-for-this-test' })
    expect(await migrate([], { DATABASE_URL: url })).toMatchObject({ code: 0, err: '' })
    expect(await mayReadUsers()).toEqual({ may: true })
    const missing = { code: 1, err: expect.stringContaining('latchkey_nobody does not exist') }
    expect(await migrate(['--grant-to', 'latchkey_nobody'])).toMatchObject(missing)
  })

  const applyFuture = (oldest: number | null) =>
    admin.query(
      `insert into schema_migrations (name, checksum, applied_at, oldest_program) values ('9999-future.sql', 'x', now(), $1)`,
      [oldest],
    )
  const removeFuture = () => admin.query(`delete from schema_migrations where name = '9999-future.sql'`)

  it('says on a newer schema that it grants nothing', async () => {
    await applyFuture(1)
    const newer = `Nothing to apply: ${named()} has 9999-future.sql of a newer version, and this version can run on it.\n`
    expect(await migrate(['--grant-to', role])).toMatchObject({
      code: 0,
      out: newer,
      err: expect.stringMatching(`^Nothing was granted to ${role}: only the newer version knows`),
    })
    expect(await migrate(['--dry-run'])).toMatchObject({ code: 0, out: newer })
    const status = await migrate(['--status'])
    expect(status).toMatchObject({ code: 0, err: '' })
    expect(status.out).toMatch(
      /9999-future\.sql {2}applied \S+Z, by a newer version; versions that have migration 1 can/,
    )
    await removeFuture()
  })

  it('lists a schema on which it must not run, and says so', async () => {
    await applyFuture(null)
    const { code, out, err } = await migrate(['--status'])
    expect({ code, err }).toEqual({
      code: 1,
      err: 'The database has 9999-future.sql, which is newer than this program and does not let it run: start the newer program.\n',
    })
    expect(out).toMatch(
      /^0001-schema\.sql {2}applied \S+Z\n(?:0.*\n)*9999-future\.sql {2}applied \S+Z, by a newer version\n$/,
    )
    await removeFuture()
  })

  it('has no other role to grant to in the database that it brings along', async () => {
    const answer = await latchkey(noStore, ['migrate', '--grant-to', role], { environment: {} })
    expect(answer).toMatchObject({ code: 1, err: expect.stringMatching(/^--grant-to is for a PostgreSQL that/) })
  })

  it('makes no database in production where no folder is named', async () => {
    const answer = await latchkey(noStore, ['migrate'], { environment: { NODE_ENV: 'production' } })
    expect(answer).toMatchObject({ code: 1, err: expect.stringMatching(/^There is no database in .*: set DATA_DIR/) })
  })
})

describe('latchkey migrate on the database that it brings along', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'latchkey-migrate-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const run = (...args: string[]) => latchkey(noStore, args, { environment: { DATA_DIR: join(folder, 'data') } })

  it('changes nothing when asked for help or for what it would do, and neither does serve --help', async () => {
    for (const command of ['migrate', 'serve']) expect(await run(command, '--help')).toMatchObject({ code: 0, err: '' })
    const would = await run('migrate', '--dry-run')
    expect(would).toMatchObject({
      code: 0,
      out: expect.stringContaining('Would create the tables of the database in '),
    })
    const status = await run('migrate', '--status')
    expect([status.code, status.out.match(/^\S+ {2}not applied(?=;|$)/gm)?.length]).toEqual([
      0,
      (await migrationNames()).length,
    ])
    expect(await readdir(folder)).toEqual([])
  })

  it('applies what is missing once, and says so', async () => {
    const created = /^Created the tables of the database in .*\/data\.\n$/
    expect(await run('migrate')).toMatchObject({ code: 0, out: expect.stringMatching(created) })
    expect((await stat(join(folder, 'data'))).mode & 0o777).toBe(0o700)
    const upToDate = /^Nothing to apply: the database in .*\/data is up to date\. latchkey has the rights it needs\.\n$/
    expect(await run('migrate')).toMatchObject({ code: 0, out: expect.stringMatching(upToDate) })
  })
})
