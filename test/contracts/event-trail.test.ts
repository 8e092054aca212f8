import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/lib/clock.js'
import { days, hours } from '../../src/lib/durations.js'
import { uuidFloor, uuidv7 } from '../../src/lib/uuid.js'
import { createEvents } from '../../src/messages/events.js'
import { createNameMarks } from '../../src/users/usernames.js'
import { createWrongClock } from '../support/clock.js'
import { openPostgresStore, type TestStore } from '../support/stores.js'

describe('events on PostgreSQL', () => {
  let store: TestStore
  const query = (text: string, values: unknown[] = []) => store.database.query<{ kind: string }>(text, values)
  const write = (kind: string, age: string) =>
    query(
      `insert into events (id, kind, ip, user_agent, created_at, name_mark, log_pending)
       values ($1, $2, '', '', now() - $3::interval, 'mark', true)`,
      [uuidv7(new Date()), kind, age],
    )
  beforeAll(async () => {
    store = await openPostgresStore()
    await write('new', '89 days')
    await write('old', '91 days')
  })
  afterAll(() => store?.drop())

  it.each([
    `update events set reason = 'other'`,
    `update events set name_mark = 'other'`,
    `update events set created_at = now() - interval '1 year'`,
    `delete from events where kind = 'new'`,
    'truncate events',
    'truncate events_earlier',
    'truncate events_other',
  ])('refuse: %s', async (change) => {
    await expect(query(change)).rejects.toThrow('events cannot be changed')
  })

  it('forget names, are noted as logged, and can be purged after 90 days', async () => {
    await query('update events set name_mark = null, log_pending = false')
    await query(`delete from events where kind = 'old'`)
    expect(await query('select kind from events')).toEqual([{ kind: 'new' }])
  })
})

/** Ids begin with their time: a month is a range of ids. */
describe('months of events on PostgreSQL', () => {
  let store: TestStore
  const writeAt = async (moment: Date) => {
    const [row] = await store.database.query<{ part: string }>(
      `insert into events (id, kind, ip, user_agent, created_at) values ($1, 'signed_out', '', '', $2)
       returning tableoid::regclass::text as part`,
      [uuidv7(moment), moment],
    )
    return row?.part
  }
  const parts = async () =>
    (await store.database.query<{ part: string }>('select part::text from event_months() order by first_id')).map(
      ({ part }) => part,
    )
  const monthFrom = (months: number) => {
    const now = new Date()
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1))
  }
  const nameOf = (month: Date) => `events_${month.toISOString().slice(0, 7).replace('-', '_')}`
  const addPast = (month: Date, next: Date) =>
    store.database.query(`create table ${nameOf(month)} partition of events
      for values from ('${uuidFloor(month)}') to ('${uuidFloor(next)}')`)

  const eventsWith = (clock: Clock) =>
    createEvents({
      database: store.database,
      clock,
      nameMarks: createNameMarks([]),
      listeners: [],
      administrators: { checkActor: async () => {} },
      onLost: () => {},
    })
  const purgeWith = (clock: Clock) => eventsWith(clock).purge(store.database, 500)
  const make = (database = store.database) => eventsWith(systemClock).makeMonths(database)

  beforeAll(async () => {
    store = await openPostgresStore()
    // As if it had been migrated today: the template of the tests may be older.
    await store.database.query('drop table events_earlier')
    await store.database.query(`create table events_earlier partition of events
      for values from (minvalue) to ('${uuidFloor(monthFrom(2))}')`)
  })
  afterAll(() => store?.drop())

  it('take what came before them as one part, and refuse no event, whatever its time', async () => {
    expect(await make()).toBe(0)
    expect(await writeAt(new Date())).toBe('events_earlier')
    expect(await writeAt(new Date(0))).toBe('events_earlier')
    expect(await writeAt(new Date(Date.now() + 400 * days))).toBe('events_other')
  })

  it('keep what they have of a user when the user is deleted, and nothing that is personal', async () => {
    const user = 'aaaaaaaa-0000-4000-8000-000000000000'
    await store.database.query(
      `insert into users (id, email, email_key, username, username_key, created_at) values ($1, 'a', 'a', 'a', 'a', now())`,
      [user],
    )
    const moments = [new Date(0), new Date(), new Date('2500-01-01')]
    for (const id of [...moments.map(uuidv7), randomUUID(), 'ffffffff-ffff-4fff-bfff-ffffffffffff'])
      await store.database.query(
        `insert into events (id, kind, user_id, ip, user_agent, created_at, actor_id, actor_reason)
         values ($1, 'deleted_with_user', $2, '203.0.113.7', 'a browser', now(), $2, 'why')`,
        [id, user],
      )
    await store.database.query('delete from users where id = $1', [user])
    const left = await store.database.query(
      `select user_id, actor_id, actor_reason, ip, user_agent, count(*)::int from events where kind = 'deleted_with_user'
       group by 1, 2, 3, 4, 5`,
    )
    expect(left).toEqual([{ user_id: null, actor_id: null, actor_reason: null, ip: '', user_agent: '', count: 5 }])
  })

  it('are made once they are needed, as after a year without the service, and only once', async () => {
    await store.database.query('drop table events_earlier')
    const others = await Promise.all(Array.from({ length: 3 }, () => store.another()))
    const made = await Promise.all(others.map(make))
    expect(made.reduce((sum, each) => sum + each, 0)).toBe(2)
    expect(await parts()).toEqual([nameOf(monthFrom(0)), nameOf(monthFrom(1))])
    expect(await writeAt(new Date())).toBe(nameOf(monthFrom(0)))
    expect(await writeAt(monthFrom(1))).toBe(nameOf(monthFrom(1)))
    const month = nameOf(monthFrom(1))
    await expect(store.database.query(`truncate ${month}`)).rejects.toThrow('events cannot be changed')
    await expect(store.database.query(`delete from ${month}`)).rejects.toThrow('events cannot be changed')
  })

  it('leave a month where it is that was begun without one', async () => {
    await store.database.query(`drop table ${nameOf(monthFrom(1))}`)
    expect(await writeAt(monthFrom(1))).toBe('events_other')
    expect(await make()).toBe(0)
    expect(await parts()).toEqual([nameOf(monthFrom(0))])
  })

  it('are dropped by the purge when all of them is over for 90 days by both clocks; of the next one some rows are deleted', async () => {
    // The youngest month that is wholly over, and the one in which 90 days ago is.
    const middle = new Date(Date.now() - 90 * days)
    const half = new Date(Date.UTC(middle.getUTCFullYear(), middle.getUTCMonth(), 1))
    const before = (month: Date) => new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() - 1, 1))
    const whole = before(half)
    await addPast(whole, half)
    await addPast(half, new Date(Date.UTC(half.getUTCFullYear(), half.getUTCMonth() + 1, 1)))
    for (const moment of [whole, half, new Date(half.getTime() - 1), new Date(middle.getTime() + hours)])
      await writeAt(moment)
    expect(await purgeWith(createWrongClock(-60 * days))).toBe(0)
    expect(await parts()).toContain(nameOf(whole))
    expect(await purgeWith(createWrongClock(60 * days))).toBe(500)
    expect(await parts()).toEqual([nameOf(half), nameOf(monthFrom(0))])
    expect(await purgeWith(systemClock)).toBe(1)
    expect(await parts()).toContain(nameOf(half))
  })
})
