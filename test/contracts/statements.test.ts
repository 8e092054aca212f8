import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Sql } from '../../src/platform/database/database.js'
import { expiringTables } from '../../src/service/background.js'
import { deleteExpired } from '../../src/service/expired-rows.store.js'
import { openPostgresStore, type TestStore } from '../support/stores.js'

type StoreFunction = (sql: object, ...rest: unknown[]) => unknown

const home = fileURLToPath(new URL('../../src', import.meta.url))

/** Their arguments are names of tables. Sealed values and backups have tests of their own. */
const takesTables = ['sealed-values.store.ts', 'expired-rows.store.ts', 'backups.store.ts']
const deletions = expiringTables.map((each) => ({
  name: `deleteExpired ${each.table}`,
  call: ((sql: Sql) => deleteExpired(sql, each, { now: new Date(), clockOffset: 0 }, 1)) as StoreFunction,
}))

const storeFunctions = async () => {
  const files = (await readdir(home, { recursive: true })).filter(
    (file) => file.endsWith('.store.ts') && !takesTables.some((name) => file.endsWith(name)),
  )
  const modules = await Promise.all(files.map((file) => import(join(home, file)) as Promise<object>))
  return modules.flatMap((module, at) =>
    Object.entries(module)
      .filter(([, exported]) => typeof exported === 'function')
      .map(([name, call]) => ({ name: `${files[at]} ${name}`, call: call as StoreFunction })),
  )
}

/** Stands for every argument of a store: each property, element and result of it is again the same. */
const anything: unknown = new Proxy(() => anything, {
  apply: () => anything,
  get: (_, key) => {
    if (key === Symbol.toPrimitive) return () => 'anything'
    if (key === Symbol.iterator) return () => [anything][Symbol.iterator]()
    return key === 'then' ? undefined : anything
  },
  // What a store takes with `...rest` of an object and looks into.
  ownKeys: () => ['at', 'proof'],
  getOwnPropertyDescriptor: () => ({ value: anything, enumerable: true, configurable: true }),
})

/** The statements that a function of a store sends. */
const statementsOf = async (call: StoreFunction) => {
  const statements: string[] = []
  const query = async (text: string) => {
    statements.push(text)
    return [anything]
  }
  await call({ query }, anything, anything, anything, anything, anything)
  return statements
}

let store: TestStore
beforeAll(async () => {
  store = await openPostgresStore()
})
afterAll(() => store?.drop())

// Some run only after months, or after a fault: a column that was renamed would be noticed by users first.
it('PostgreSQL understands every statement of every store', async () => {
  const problems: string[] = []
  let prepared = 0
  for (const { name, call } of [...deletions, ...(await storeFunctions())]) {
    const statements = await statementsOf(call)
    if (statements.length === 0) problems.push(`${name} sends no statement`)
    for (const statement of statements) {
      prepared += 1
      await store.database.query(`prepare statement_${prepared} as ${statement}`).catch((error: Error) => {
        problems.push(`${name}: ${error.message}\n${statement}`)
      })
    }
  }
  expect(problems).toEqual([])
  expect(prepared).toBeGreaterThan(200)
})
