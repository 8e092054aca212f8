import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  type Database,
  StoreUnavailable,
  type Transaction,
  TransactionMisuse,
} from '../../src/platform/database/database.js'
import { testPostgres } from '../support/databases.js'
import { recordStores } from '../support/recorded-stores.js'
import { openPostgresStore, type TestStore } from '../support/stores.js'

/** A way to PostgreSQL on which a `begin` can get lost. */
const withoutBegins = async (address: string) => {
  const { hostname, port, href } = new URL(address)
  let isBroken = false
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    client.on('data', (sent) => {
      const at = isBroken ? sent.indexOf('begin\0') : -1
      if (at >= 0) {
        sent.write('bexin', at)
        isBroken = false
      }
      upstream.write(sent)
    })
    upstream.on('data', (answer) => client.write(answer))
    client.on('close', () => upstream.destroy()).on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = new URL(href)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const breakNextBegin = () => {
    isBroken = true
  }
  return { url: url.href, breakNextBegin, close: () => server.close() }
}

// Whatever holds here may be relied upon by every store.
describe('PostgreSQL', () => {
  let store: TestStore
  let database: Database

  beforeAll(async () => {
    store = await openPostgresStore({ empty: true })
    database = store.database
    await database.transaction((sql) => sql.script('create table notes (id integer primary key, text text); select 1'))
  })

  afterAll(async () => {
    await store.drop()
  })

  const count = async () => (await database.query<{ count: number }>('select count(*) as count from notes'))[0]?.count

  describe('values', () => {
    const roundTrip = async (type: string, value: unknown) =>
      (await database.query<{ value: unknown }>(`select $1::${type} as value`, [value]))[0]?.value

    it.each([
      ['boolean', true],
      ['integer', -7],
      ['bigint', 9_007_199_254_740_991],
      ['bigint', 9_007_199_254_740_993n],
      ['numeric', '12345678901234567890.50'],
      ['double precision', 1.5],
      ['text', 'naïve “quotes” \\ and 🗝️'],
      ['text', ''],
      ['uuid', '018f2f6e-0000-7000-8000-000000000001'],
      ['jsonb', { a: [1, 'two', null], b: { c: true } }],
      ['jsonb', 'a string is a JSON value too'],
      ['jsonb', [1, 2]],
      ['json', { a: 1 }],
      ['bytea', Buffer.from([0, 1, 92, 255])],
      ['timestamptz', new Date('2026-11-01T12:34:56.789Z')],
      ['text[]', ['plain', 'with, comma', 'with "quotes"', 'back\\slash', '', 'NULL', '{}', null]],
      ['integer[]', [1, 2, 3]],
      ['text[]', []],
      ['uuid[]', ['018f2f6e-0000-7000-8000-000000000001']],
      ['bytea[]', [Buffer.from([0, 255]), Buffer.from([])]],
      ['timestamptz[]', [new Date(0), null]],
      ['boolean[]', [true, false]],
    ])('give %s back as it was: %o', async (type, value) => {
      expect(await roundTrip(type, value)).toEqual(value)
    })

    it.each(['boolean', 'bigint', 'text', 'jsonb', 'bytea', 'timestamptz', 'uuid', 'text[]'])(
      'give null back as null for %s',
      async (type) => {
        expect(await roundTrip(type, null)).toBeNull()
      },
    )

    it('have the classes that programs expect', async () => {
      const [row] = await database.query<{ bytes: unknown; moment: unknown; count: unknown }>(
        `select '\\x00ff'::bytea as bytes, '2026-11-01 00:00:00+00'::timestamptz as moment, count(*) as count`,
      )
      expect(row?.bytes).toBeInstanceOf(Uint8Array)
      expect(row?.moment).toBeInstanceOf(Date)
      expect(row?.count).toBe(1)
    })

    it('keep the type of a parameter when it is null at first and a value later', async () => {
      const text = 'select coalesce($1, now()) is not null as given, $1::timestamptz as value'
      expect(await database.query(text, [null])).toEqual([{ given: true, value: null }])
      expect(await database.query(text, [new Date(5)])).toEqual([{ given: true, value: new Date(5) }])
    })

    it('refuse undefined and what cannot be written, and go on with the next statement', async () => {
      await expect(database.query('select $1::text', [undefined])).rejects.toThrow(TypeError)
      for (let round = 0; round < 2; round += 1) {
        await expect(database.query('select $1::timestamptz as at', [new Date(Number.NaN)])).rejects.toThrow(
          'Invalid time value',
        )
        expect(await database.query('select $1::timestamptz as at', [new Date(1)])).toEqual([{ at: new Date(1) }])
      }
    })
  })

  it('is not healthy while it accepts no writes, and keeps no connection for which that was set', async () => {
    await database.query('set default_transaction_read_only = on')
    const refused = database.ping()
    await expect(refused).rejects.toThrow(StoreUnavailable)
    await expect(refused).rejects.toThrow('The database accepts no writes')
    await expect(database.ping()).resolves.toBeUndefined()
  })

  describe('errors of a statement', () => {
    it('pass with their code and the name of the constraint', async () => {
      await database.query('insert into notes values (1, $1)', ['first'])
      const again = database.query('insert into notes values (1, $1)', ['s3cret value'])
      await expect(again).rejects.toMatchObject({ code: '23505', constraint_name: 'notes_pkey' })
      await expect(again).rejects.not.toBeInstanceOf(StoreUnavailable)
    })

    it.each([
      ['insert into notes values ($1, null)', [1]],
      ['select $1::integer', ['s3cret']],
      ['select $1::uuid', ['s3cret']],
      ['select nothing from nowhere where x = $1', ['s3cret']],
    ])('carry no values: %s', async (text, parameters) => {
      const error = await database.query(text, parameters).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(Error)
      const everything = everythingOn(error)
      expect(everything).not.toContain('s3cret')
      expect(everything).not.toContain('(id)=(1)')
    })

    // The last two end the connection.
    const codes = ['53100', '53300', '55P03', '57014', '57P03', '25006', '08006']
    it.each(codes)('become StoreUnavailable when the store is to blame: %s', async (code) => {
      const text = `do $$ begin raise exception 'no' using errcode = '${code}'; end $$`
      await expect(database.query(text)).rejects.toThrow(StoreUnavailable)
      await expect(database.query('select 1 as one')).resolves.toEqual([{ one: 1 }])
    })

    it('leave the connection usable', async () => {
      await expect(database.query('select 1/0')).rejects.toMatchObject({ code: '22012' })
      expect(await database.query('select 1 as one')).toEqual([{ one: 1 }])
    })
  })

  describe('a transaction', () => {
    it('commits what it did when its work resolves, and gives its result', async () => {
      const result = await database.transaction(async (sql) => {
        await sql.query('insert into notes values (10, $1)', ['kept'])
        return 'done'
      })
      expect(result).toBe('done')
      expect(await database.query('select text from notes where id = 10')).toEqual([{ text: 'kept' }])
    })

    it('takes everything back when its work rejects, and rejects with the same error', async () => {
      const reason = new Error('changed my mind')
      const work = database.transaction(async (sql) => {
        await sql.query('insert into notes values (11, null)')
        throw reason
      })
      await expect(work).rejects.toBe(reason)
      expect(await database.query('select 1 from notes where id = 11')).toEqual([])
    })

    it('says when it is committed, and nothing if it is taken back or the commit fails', async () => {
      const said: string[] = []
      const isKept = async () => (await database.query('select 1 from notes where id = 14')).length === 1
      await database.transaction(async (sql) => {
        sql.afterCommit(() => said.push('committed'))
        await sql.query('insert into notes values (14, null)')
        expect(said).toEqual([])
      })
      expect([said, await isKept()]).toEqual([['committed'], true])
      const undone = database.transaction(async (sql) => {
        sql.afterCommit(() => said.push('undone'))
        throw new Error('changed my mind')
      })
      await expect(undone).rejects.toThrow('changed my mind')
      const failed = database.transaction(async (sql) => {
        sql.afterCommit(() => said.push('failed'))
        await sql.query('select 1/0').catch(() => undefined)
      })
      await expect(failed).rejects.toMatchObject({ code: '22012' })
      expect(said).toEqual(['committed'])
    })

    it('runs statements that were started together, one after the other', async () => {
      const rows = await database.transaction((sql) =>
        Promise.all([1, 2, 3].map((value) => sql.query('select $1::integer as value', [value]))),
      )
      expect(rows).toEqual([[{ value: 1 }], [{ value: 2 }], [{ value: 3 }]])
    })

    it('asks together what was started together', async () => {
      const { seen, databaseUrl, close } = await recordStores({ databaseUrl: store.url })
      const recorded = testPostgres(databaseUrl)
      const texts = ['select 1 as a', 'select 2 as b', 'select 3 as c']
      const work = () =>
        recorded.transaction(async (sql) => {
          const [, ...rows] = await Promise.all(['select 0', ...texts].map((text) => sql.query(text)))
          return rows
        })
      // The first time, each is prepared.
      await work()
      seen.length = 0
      expect(await work()).toEqual([[{ a: 1 }], [{ b: 2 }], [{ c: 3 }]])
      expect(seen.map(({ asked }) => asked)).toEqual([['begin', 'select 0', ...texts], ['commit']])
      await recorded.close()
      await close()
    })

    it('gives each of those that were started together its own time', async () => {
      const hasty = testPostgres(store.url, { poolSize: 1, statementTimeoutMs: 500 })
      const sleep = 'select pg_sleep(0.4) is not null as slept'
      const all = hasty.transaction(async (sql) => {
        await sql.query('select 1')
        return Promise.all(Array.from({ length: 5 }, () => sql.query(sleep)))
      })
      await expect(all).resolves.toHaveLength(5)
      await hasty.close()
    })

    it('changes nothing before it has begun, and commits together with what its work does not wait for', async () => {
      const { seen, databaseUrl, close } = await recordStores({ databaseUrl: store.url })
      const recorded = testPostgres(databaseUrl)
      const [awaited, last] = [`update notes set text = 'a' where id = -3`, `update notes set text = 'b' where id = -3`]
      const work = () =>
        recorded.transaction(async (sql) => {
          await Promise.all([sql.query('select 0'), sql.query(awaited)])
          sql.unawaited(sql.query(last))
        })
      await work()
      seen.length = 0
      await work()
      expect(seen.map(({ asked }) => asked)).toEqual([['begin', 'select 0'], [awaited], [last, 'commit']])
      await recorded.close()
      await close()
    })

    it('keeps nothing if a statement fails for which its work does not wait, and says why', async () => {
      const said: string[] = []
      const insert = 'insert into notes values (18, null)'
      const work = (last: (sql: Transaction) => Promise<unknown>) =>
        database.transaction(async (sql) => {
          sql.afterCommit(() => said.push('committed'))
          await sql.query('select 1')
          sql.unawaited(sql.query(insert), last(sql))
        })
      await expect(work((sql) => sql.query('select 1/0'))).rejects.toMatchObject({ code: '22012' })
      await expect(work((sql) => sql.query('select $1', [undefined]))).rejects.toThrow('A parameter is undefined')
      const alone = database.transaction(async (sql) => sql.unawaited(sql.query('select 1/0'), sql.query(insert)))
      await expect(alone).rejects.toMatchObject({ code: '22012' })
      expect(said).toEqual([])
      expect(await database.query('select 1 from notes where id = 18')).toEqual([])
    })

    it('leaves nothing of itself to the next transaction of its connection when it fails', async () => {
      const one = testPostgres(store.url, { poolSize: 1 })
      const failing = () =>
        one.transaction(async (sql) => {
          await sql.query('select 1')
          sql.unawaited(sql.query('select 1/0'))
        })
      const refused = (id: number) =>
        one.transaction(async (sql) => {
          await sql.query('insert into notes values ($1, null)', [id])
          throw new Error('refused')
        })
      for (let id = 1_000; id < 1_100; id += 1) await Promise.allSettled([failing(), refused(id)])
      expect(await one.query('select id from notes where id >= 1000')).toEqual([])
      await one.close()
    })

    it('changes nothing if it could not begin, whatever waits behind its first statement', async () => {
      const { url, breakNextBegin, close } = await withoutBegins(store.url)
      const one = testPostgres(url, { poolSize: 1 })
      const insert = (sql: Transaction, id: number) => sql.query('insert into notes values ($1, null)', [id])
      await one.transaction((sql) => insert(sql, 2_000))
      const works: ((sql: Transaction) => Promise<unknown>)[] = [
        async (sql) => sql.unawaited(insert(sql, 2_001), insert(sql, 2_002), insert(sql, 2_003)),
        async (sql) => sql.unawaited(sql.query('select id from notes for update'), insert(sql, 2_004)),
        (sql) => Promise.all([sql.query('select 1'), insert(sql, 2_005)]),
      ]
      for (const work of works) {
        breakNextBegin()
        await expect(one.transaction(work)).rejects.toThrow('syntax error')
      }
      expect(await one.query('select id from notes where id >= 2000')).toEqual([{ id: 2_000 }])
      await one.close()
      close()
    })

    it('fails with the first error of those that were started together', async () => {
      const before = await count()
      const work = database.transaction(async (sql) => {
        await sql.query('select 1')
        const insert = 'insert into notes (id) values ($1)'
        await Promise.allSettled([sql.query(insert, [-1]), sql.query('select 1 / 0'), sql.query(insert, [-2])])
      })
      await expect(work).rejects.toThrow('division by zero')
      expect(await count()).toBe(before)
    })

    it('says also after the statements behind the one that failed why it failed', async () => {
      const work = database.transaction(async (sql) => {
        await sql.query('select 1')
        const slow = sql.query('select 1 / 0').catch(async (error) => {
          await wait(1)
          throw error
        })
        await Promise.all([slow, sql.query('select 2')])
      })
      await expect(work).rejects.toThrow('division by zero')
    })

    it('rejects, and keeps nothing, when a failed statement was swallowed', async () => {
      const work = database.transaction(async (sql) => {
        await sql.query('insert into notes values (12, null)')
        await sql.query('select 1/0').catch(() => undefined)
      })
      await expect(work).rejects.toMatchObject({ code: '22012' })
      expect(await database.query('select 1 from notes where id = 12')).toEqual([])
    })

    it('keeps nothing when its first statement failed and its work went on, also one that could not be sent', async () => {
      const work = database.transaction(async (sql) => {
        await sql.query('select 1/0').catch(() => undefined)
        await sql.query('insert into notes values (15, null)').catch(() => undefined)
      })
      await expect(work).rejects.toMatchObject({ code: '22012' })
      const unsent = database.transaction(async (sql) => {
        await sql.query('select $1', [undefined]).catch(() => undefined)
        await sql.query('insert into notes values (15, null)')
      })
      await expect(unsent).rejects.toThrow('A parameter is undefined')
      expect(await database.query('select 1 from notes where id = 15')).toEqual([])
    })

    it('may begin with a script, and may have no statement', async () => {
      await database.transaction((sql) => sql.script('insert into notes values (16, null); select 1'))
      const undone = database.transaction(async (sql) => {
        await sql.script('insert into notes values (17, null); select 1')
        throw new Error('changed my mind')
      })
      await expect(undone).rejects.toThrow('changed my mind')
      expect(await database.transaction(async () => 'nothing asked')).toBe('nothing asked')
      expect(await database.query('select id from notes where id in (16, 17)')).toEqual([{ id: 16 }])
    })

    it('waits for a statement that its work forgot to await', async () => {
      await database.transaction(async (sql) => {
        void sql.query('insert into notes values (13, null)')
      })
      expect(await database.query('select 1 as one from notes where id = 13')).toEqual([{ one: 1 }])
    })

    it('refuses the outer handle inside, at once', async () => {
      const work = database.transaction(async () => await database.query('select 1'))
      await expect(work).rejects.toThrow(TransactionMisuse)
      await expect(database.transaction(() => database.ping())).rejects.toThrow(TransactionMisuse)
    })

    it('refuses another transaction inside, at once', async () => {
      const work = database.transaction(() => database.transaction(async () => 'never'))
      await expect(work).rejects.toThrow(TransactionMisuse)
    })

    it('refuses its handle after its end', async () => {
      const kept = await database.transaction(async (sql) => [sql])
      await expect(kept[0]?.query('select 1')).rejects.toThrow(TransactionMisuse)
    })

    it('leaves the outer handle to whatever goes on after its end', async () => {
      let later: Promise<unknown> = Promise.resolve()
      await database.transaction(async () => {
        later = wait(50).then(() => database.query('select 2 as two'))
      })
      expect(await later).toEqual([{ two: 2 }])
    })

    it('lets others wait and then go on, and shows them nothing before its end', async () => {
      const before = await count()
      const [, seen] = await Promise.all([
        database.transaction(async (sql) => {
          await sql.query('insert into notes values (20, null)')
          await sql.query('insert into notes values (21, null)')
        }),
        count(),
      ])
      expect([before, (before ?? 0) + 2]).toContain(seen)
      expect(await count()).toBe((before ?? 0) + 2)
    })

    it('takes twenty of its kind at once without losing an update', async () => {
      await database.query(`insert into notes values (30, '0')`)
      const add = () =>
        database.transaction(async (sql) => {
          const [row] = await sql.query<{ text: string }>('select text from notes where id = 30 for update')
          await sql.query('update notes set text = $1 where id = 30', [String(Number(row?.text) + 1)])
        })
      await Promise.all(Array.from({ length: 20 }, add))
      expect(await database.query('select text from notes where id = 30')).toEqual([{ text: '20' }])
    })
  })

  it('runs many statements at once', async () => {
    const rows = await Promise.all(
      Array.from({ length: 200 }, (_, value) =>
        database.query<{ value: number }>('select $1::integer as value', [value]),
      ),
    )
    expect(rows.map(([row]) => row?.value)).toEqual(Array.from({ length: 200 }, (_, value) => value))
  })

  it('prepares a statement anew, unnoticed, when its table changed', async () => {
    await database.query('create table changing (a integer)')
    expect(await database.query('select * from changing')).toEqual([])
    await database.query('alter table changing add column b integer')
    await database.query('insert into changing values (1, 2)')
    expect(await database.query('select * from changing')).toEqual([{ a: 1, b: 2 }])
  })

  it('plans once what does not change with its table', async () => {
    const one = testPostgres(store.url, { poolSize: 1 })
    const texts = [
      'with found as (select * from notes where id = -1) select id from found',
      'with found as (select id from notes where id = -1) select * from found',
      'select count(*) as count from notes',
    ]
    for (const text of texts) for (let time = 0; time < 2; time += 1) await one.query(text)
    const prepared = await one.query<{ statement: string }>('select statement from pg_prepared_statements')
    await one.close()
    expect(prepared.map(({ statement }) => statement)).toEqual(expect.arrayContaining(texts))
  })

  it('reads the same rows from a statement the first time and later, also where it begins a transaction', async () => {
    const text = `select 1::bigint as one, array[2::bigint, null] as more, null::text as none,
      '{"a": 1}'::jsonb as json, '2026-11-01 00:00:00+00'::timestamptz as moment`
    const row = { one: 1, more: [2, null], none: null, json: { a: 1 }, moment: new Date('2026-11-01') }
    const one = testPostgres(store.url, { poolSize: 1 })
    for (let time = 0; time < 3; time += 1) {
      expect(await one.query(text)).toEqual([row])
      expect(await one.transaction((sql) => Promise.all([sql.query(text), sql.query(text)]))).toEqual([[row], [row]])
    }
    await one.close()
  })

  it('never sends a statement twice: one that was prepared for another type fails once, and works the next time', async () => {
    await database.query('create table retyped (a integer)')
    const add = () => database.query('insert into retyped values (1) returning a')
    expect(await add()).toEqual([{ a: 1 }])
    await database.query('alter table retyped alter column a type text')
    const results = await Promise.allSettled(Array.from({ length: 8 }, add))
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(StoreUnavailable)
    }
    const answered = results.filter(({ status }) => status === 'fulfilled').length
    expect(await database.query('select count(*) as count from retyped')).toEqual([{ count: 1 + answered }])
    expect(await add()).toEqual([{ a: '1' }])
  })

  it('answers a ping, and refuses it for a moment after a statement has found the disk full', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      // The faked clock begins at 0, and other cases have found the disk full by the real one.
      vi.advanceTimersByTime(86_400_000)
      await expect(database.ping()).resolves.toBeUndefined()
      const full = `do $$ begin raise exception 'No space left on device' using errcode = '53100'; end $$`
      await expect(database.query(full)).rejects.toThrow(StoreUnavailable)
      await expect(database.ping()).rejects.toThrow('No space left on device')
      vi.advanceTimersByTime(20_000)
      await expect(database.ping()).resolves.toBeUndefined()
    } finally {
      vi.useRealTimers()
    }
  })

  // The last one: it closes the database that all of them share.
  it('finishes what is under way when it closes, and refuses what comes later', async () => {
    const underWay = database.transaction(async (sql) => {
      await sql.query('insert into notes values (40, null)')
      await sql.query('insert into notes values (41, null)')
      return 'kept'
    })
    await wait(5)
    await database.close()
    expect(await underWay).toBe('kept')
    await expect(database.query('select 1')).rejects.toThrow(StoreUnavailable)
    await expect(database.close()).resolves.toBeUndefined()
  })
})

/** Every property, hidden ones too, as a careless logger might find them. */
const everythingOn = (error: unknown, depth = 0): string => {
  if (!(error instanceof Error) || depth > 5) return String(error)
  const own = Object.getOwnPropertyNames(error).map((name) => {
    const value: unknown = Reflect.get(error, name)
    return value instanceof Error ? everythingOn(value, depth + 1) : `${name}=${JSON.stringify(value)}`
  })
  return `${error.message} ${own.join(' ')}`
}
