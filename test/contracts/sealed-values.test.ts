import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { checkSealedValues } from '../../src/commands/doctor/accounts.js'
import type { SealedColumn } from '../../src/keys/sealed-columns.js'
import { createSealedValues } from '../../src/keys/sealed-values.js'
import { uuidv7 } from '../../src/lib/uuid.js'
import type { Database } from '../../src/platform/database/database.js'
import { secretOf } from '../support/site/instance.js'
import { openPostgresStore, type TestStore } from '../support/stores.js'

const column: SealedColumn = {
  table: 'kept_secrets',
  column: 'secret',
  id: { column: 'id', type: 'uuid' },
  what: 'kept secrets',
}
const [older, newer, foreign] = [secretOf('o'), secretOf('n'), secretOf('f')]
const valuesOf = (...secrets: string[]) => createSealedValues(secrets, [column])

const addRows = async (sql: Database, values: ReturnType<typeof valuesOf>, count: number) => {
  const rows = Array.from({ length: count }, (_, index) => ({ id: uuidv7(new Date()), text: `secret ${index}` }))
  const sealed = rows.map(({ id, text }) => values.of(column).seal(id, text))
  await sql.query('insert into kept_secrets select * from unnest($1::uuid[], $2::text[])', [
    rows.map(({ id }) => id),
    sealed,
  ])
  return rows
}
const stored = (sql: Database) => sql.query<{ id: string; secret: string }>('select id, secret from kept_secrets')

describe('sealed values on PostgreSQL', () => {
  let store: TestStore
  let sql: Database
  beforeAll(async () => {
    store = await openPostgresStore()
    sql = store.database
    await sql.query('create table kept_secrets (id uuid primary key, secret text)')
  })
  beforeEach(async () => {
    await sql.query('delete from kept_secrets')
  })
  afterAll(() => store.drop())

  /** The texts that can be opened, in order; undefined for each that cannot. */
  const opened = async (...secrets: string[]) => {
    const rows = await stored(sql)
    return rows
      .map(({ id, secret }) =>
        valuesOf(...secrets)
          .of(column)
          .open(id, secret),
      )
      .sort()
  }

  it('are brought under the first key, however many there are, and once', async () => {
    await addRows(sql, valuesOf(older), 601)
    await sql.query('insert into kept_secrets (id) values ($1)', [uuidv7(new Date())])
    expect(await valuesOf(newer, older).reseal(sql)).toBe(601)
    expect((await sql.query('select 1 from kept_secrets where secret is null')).length).toBe(1)
    await sql.query('delete from kept_secrets where secret is null')
    expect((await opened(newer)).filter((text) => text === undefined)).toEqual([])
    expect(new Set(await opened(older))).toEqual(new Set([undefined]))
    const before = await stored(sql)
    expect(await valuesOf(newer, older).reseal(sql)).toBe(0)
    expect(await stored(sql)).toEqual(before)
  })

  it('stop the start while a key is missing, and stay as they are', async () => {
    await addRows(sql, valuesOf(older), 2)
    await addRows(sql, valuesOf(newer), 3)
    const before = await stored(sql)
    await expect(valuesOf(foreign, newer).reseal(sql)).rejects.toThrow(
      'SEALING_KEY: 2 of the kept secrets in the database cannot be opened: the key that sealed them is missing.',
    )
    expect(await stored(sql)).toEqual(before)
    expect(await valuesOf(foreign, newer, older).reseal(sql)).toBe(5)
  })

  it('stop the start if one was changed or moved to another row', async () => {
    const [first, second] = await addRows(sql, valuesOf(older), 2)
    await sql.query('update kept_secrets set secret = (select secret from kept_secrets where id = $1) where id = $2', [
      first?.id,
      second?.id,
    ])
    expect(await opened(older)).toEqual([first?.text, undefined])
    await expect(valuesOf(newer, older).reseal(sql)).rejects.toThrow(`changed or moved (kept_secrets, ${second?.id})`)
  })

  it('tell doctor which keys are still needed', async () => {
    const judged = (...sealingKey: string[]) =>
      checkSealedValues(sql, { sealingKey, jwtSecret: [foreign], dataDir: '' }, [column])
    const byJwtSecret = () =>
      checkSealedValues(sql, { sealingKey: undefined, jwtSecret: [older], dataDir: '' }, [column])
    expect(await judged(newer)).toEqual({ level: 'ok', says: 'no secrets are stored' })
    await addRows(sql, valuesOf(older), 1)
    expect(await byJwtSecret()).toEqual({ level: 'ok', says: '1 stored secret, sealed with JWT_SECRET' })
    expect(await judged(newer)).toMatchObject({
      level: 'error',
      says: expect.stringMatching(/key of 1 stored secret is missing.* it is the JWT_SECRET of that time\./),
    })
    expect(await judged(newer, older)).toMatchObject({
      level: 'warning',
      says: expect.stringContaining('do not remove it'),
    })
    await valuesOf(newer, older).reseal(sql)
    expect(await judged(newer, older)).toEqual({
      level: 'ok',
      says: '1 stored secret, sealed with SEALING_KEY; they need only the first of its 2 keys',
    })
  })
})

it('can be read and written by instances with the lists of every step of a rotation, while both re-seal', async () => {
  const store = await openPostgresStore()
  const [one, two] = [store.database, await store.another()]
  await one.query('create table kept_secrets (id uuid primary key, secret text)')
  let refused = 0
  /** An instance that re-seals, reads everything and writes, over and over. */
  const instance = async (sql: Database, ...secrets: string[]) => {
    const values = valuesOf(...secrets)
    for (let round = 0; round < 5; round += 1) {
      await addRows(sql, values, 20)
      await values.reseal(sql)
      for (const { id, secret } of await stored(sql)) if (values.of(column).open(id, secret) === undefined) refused += 1
    }
  }
  const steps = [
    [[older], [older, newer]],
    [
      [older, newer],
      [newer, older],
    ],
    [
      [newer, older],
      [newer, older],
    ],
    [[newer, older], [newer]],
  ]
  for (const [here = [], there = []] of steps) {
    await Promise.all([instance(one, ...here), instance(two, ...there)])
    // What the others wrote after its start is sealed again by the restart that the next step begins with.
    await valuesOf(...there).reseal(two)
  }
  expect(refused).toBe(0)
  await store.drop()
})
