import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { later } from '../../src/lib/clock.js'
import { hours, minutes } from '../../src/lib/durations.js'
import { nilUuid, uuidv7 } from '../../src/lib/uuid.js'
import type { Database } from '../../src/platform/database/database.js'
import { createEndedSessions } from '../../src/sessions/ended-sessions.js'
import * as sessions from '../../src/sessions/sessions.store.js'

import { createMovableClock } from '../support/clock.js'
import { openPostgresStore, type TestStore } from '../support/stores.js'

const log = { warn: () => undefined, info: () => undefined }

/** A reader as a process has one, and what it reads about. */
const toolsFor = (sql: Database) => {
  /** As a process would have it: loaded, and read again when the test says so. */
  const reader = async () => {
    const clock = createMovableClock()
    const ended = createEndedSessions({ followApplications: async () => undefined, database: sql, clock, log })
    await ended.load()
    return {
      ...ended,
      clock,
      read: ended.load,
      has: (sid: string, gen = 0, { userId, iat }: { userId: string; iat: number } = { userId: nilUuid, iat: 0 }) =>
        ended.refusesToken({ sid, gen, userId, iat }),
    }
  }

  const addUser = async () => {
    const id = uuidv7(new Date())
    await sql.query(
      `insert into users (id, email, email_key, username, username_key, created_at) values ($1, $2, $2, $2, $2, now())`,
      [id, id],
    )
    return id
  }
  const addSession = async (userId: string, lifetime = '30 days') => {
    const id = uuidv7(new Date())
    await sql.query(
      `insert into sessions (id, user_id, token_hash, generation, issued_at, rotated_at, expires_at, ip,
         user_agent, created_at, last_used_at, methods, authenticated_at, second_factor_required, signed_in_as)
       values ($1, $2, '', 3, now(), now(), now() + $3::interval, '192.0.2.7', 'Test', now(), now(), '{pwd}', now(), false, '')`,
      [id, userId, lifetime],
    )
    return id
  }

  return { reader, addUser, addSession }
}

type Opened = { sql: Database; tools: ReturnType<typeof toolsFor> }

/** A store for the tests of a group. Its parts are there once the tests run. */
const useStore = () => {
  const at = {} as Opened
  let store: TestStore
  beforeAll(async () => {
    store = await openPostgresStore()
    at.sql = store.database
    at.tools = toolsFor(at.sql)
  })
  afterAll(() => store.drop())
  return at
}

const tryList = (at: Opened) => {
  const ways: [string, (session: string, user: string) => Promise<unknown>][] = [
    ['a delete in plain SQL', (id) => at.sql.query('delete from sessions where id = $1', [id])],
    ['the end of its user', (_, user) => at.sql.query('delete from users where id = $1', [user])],
    ['truncate', () => at.sql.query('truncate sessions')],
  ]
  it.each(ways)('has a session that was ended by %s', async (_, end) => {
    const user = await at.tools.addUser()
    const session = await at.tools.addSession(user)
    const ended = await at.tools.reader()
    expect(ended.has(session, 3)).toBe(false)
    await end(session, user)
    await ended.read()
    expect([ended.has(session, 3), ended.has(uuidv7(new Date()), 3)]).toEqual([true, false])
    expect((await at.tools.reader()).has(session, 3)).toBe(true)
  })

  it('has a user all of whose sessions ended, for tokens of sessions that the database does not know, until they have expired', async () => {
    const userId = await at.tools.addUser()
    const ended = await at.tools.reader()
    const before = Math.floor(Date.now() / 1000)
    const [row] = await sessions.deleteAllOfUser(at.sql, 'user_disabled', userId, 0)
    const acceptedFrom = (row?.accepted_from.getTime() ?? 0) / 1000
    expect(acceptedFrom).toBeGreaterThan(before)
    await ended.read()
    const refuses = (iat: number, about = userId) => ended.has(uuidv7(new Date()), 3, { userId: about, iat })
    expect([refuses(before), refuses(acceptedFrom - 1), refuses(acceptedFrom)]).toEqual([true, true, false])
    expect(refuses(before, await at.tools.addUser())).toBe(false)
    const late = await at.tools.reader()
    expect(late.has(nilUuid, 0, { userId, iat: before })).toBe(true)
    expect((await late.since()).users).toContainEqual({ userId, before: acceptedFrom })
    ended.clock.advance(26 * minutes)
    await at.sql.query('delete from ended_sessions')
    await ended.read()
    expect(refuses(before)).toBe(false)
  })

  it('says why a session ended, if the statement does', async () => {
    const user = await at.tools.addUser()
    const [out, over, plain, surplus] = [
      await at.tools.addSession(user),
      await at.tools.addSession(user),
      await at.tools.addSession(user),
      await at.tools.addSession(user),
    ]
    await sessions.deleteRecordOfUser(at.sql, 'signed_out', out, user)
    const far = new Date(Date.now() + 1 * hours)
    await at.sql.query('update sessions set issued_at = $2 where id <> $1', [over, later(far, 1)])
    await sessions.purgeAfter(at.sql, nilUuid, { now: new Date(), begun: new Date(0), refreshed: far }, 100)
    await at.sql.query('delete from sessions where id = $1', [plain])
    const allLive = { now: new Date(), begun: new Date(0), refreshed: new Date(0) }
    await sessions.deleteSurplus(at.sql, 'session_ended', user, nilUuid, 0, allLive)
    const reasonOf = async (id: string) =>
      (await at.sql.query<{ reason: string | null }>('select reason from ended_sessions where sid = $1', [id]))[0]
    expect(await reasonOf(out)).toEqual({ reason: 'signed_out' })
    expect(await reasonOf(over)).toEqual({ reason: 'expired' })
    expect(await reasonOf(plain)).toEqual({ reason: null })
    expect(await reasonOf(surplus)).toEqual({ reason: 'session_ended' })
  })

  it('refuses what a change of the password has replaced, and not what came of it', async () => {
    const session = await at.tools.addSession(await at.tools.addUser())
    const ended = await at.tools.reader()
    await at.sql.query('update sessions set generation = 5, oldest_generation = 5 where id = $1', [session])
    await ended.read()
    expect([ended.has(session, 4), ended.has(session, 5)]).toEqual([true, false])
    await at.sql.query('update sessions set generation = 6, last_used_at = now() where id = $1', [session])
    await at.sql.query('delete from sessions where id = $1', [session])
    await ended.read()
    expect(ended.has(session, 6)).toBe(true)
  })

  it('has no session that had expired, and none whose end was rolled back', async () => {
    const user = await at.tools.addUser()
    const [expired, spared] = [await at.tools.addSession(user, '-1 second'), await at.tools.addSession(user)]
    const ended = await at.tools.reader()
    await at.sql.query('delete from sessions where id = $1', [expired])
    const undone = at.sql.transaction(async (inside) => {
      await inside.query('delete from sessions where id = $1', [spared])
      throw new Error('changed its mind')
    })
    await expect(undone).rejects.toThrow('changed its mind')
    await ended.read()
    expect([ended.has(expired), ended.has(spared)]).toEqual([false, false])
  })

  it('reads many entries page by page, and each of them', async () => {
    const ended = await at.tools.reader()
    const before = ended.size().entries
    await at.sql.query('insert into ended_sessions (sid) select gen_random_uuid() from generate_series(1, 6000)')
    await ended.read()
    expect(ended.size().entries - before).toBe(6_000)
    expect((await at.tools.reader()).size().entries - before).toBe(6_000)
  })

  const otherServers: [string, (news: object) => object][] = [
    ['on another server', (news) => ({ ...news, server: 'another one' })],
    ['when the numbers of transactions go back', (news) => ({ ...news, snapshot: '700:700:' })],
  ]
  it.each(otherServers)('is read as a whole again %s, and forgets nothing', async (_, change) => {
    let changed = (news: object) => news
    const query: Database['query'] = async <Row>(text: string, parameters?: readonly unknown[]) =>
      (await at.sql.query<object>(text, parameters)).map((row) => changed(row) as Row)
    const ended = await toolsFor({ ...at.sql, query }).reader()
    const [known, elsewhere] = [uuidv7(new Date()), uuidv7(new Date())]
    await at.sql.query('insert into ended_sessions (sid) values ($1)', [known])
    await ended.read()
    await at.sql.query('delete from ended_sessions where sid = $1', [known])
    // A number that a reader on this server has passed long ago.
    await at.sql.query(`insert into ended_sessions (xact, sid) values ('5', $1)`, [elsewhere])
    await ended.read()
    expect([ended.has(known), ended.has(elsewhere)]).toEqual([true, false])
    changed = change
    await ended.read()
    expect([ended.has(known), ended.has(elsewhere)]).toEqual([true, true])
  })

  it('is kept for 20 minutes, in the database as well', async () => {
    const session = await at.tools.addSession(await at.tools.addUser())
    await at.sql.query('delete from sessions where id = $1', [session])
    const ended = await at.tools.reader()
    const entries = async () => at.sql.query('select 1 from ended_sessions where sid = $1', [session])
    ended.clock.advance(19 * minutes)
    await ended.purge(at.sql, 500)
    expect(await entries()).toHaveLength(1)
    expect(ended.has(session)).toBe(true)
    ended.clock.advance(2 * minutes)
    let rounds = 0
    while ((await ended.purge(at.sql, 500)) >= 500) rounds += 1
    // The 6,000 of the test before went in batches of 5,000.
    expect(rounds).toBe(1)
    expect(await entries()).toEqual([])
    await ended.read()
    expect(ended.has(session)).toBe(true)
    ended.clock.advance(10 * minutes)
    await ended.read()
    expect(ended.has(session)).toBe(false)
    expect(ended.size()).toEqual({ entries: 0, bytes: 0 })
  })
}

const sidsOf = ({ entries }: { entries: { sid: string }[] }) => entries.map(({ sid }) => sid)

const tryListForPrograms = (at: Opened) => {
  beforeAll(() => at.sql.query('delete from ended_sessions'))
  const add = (minGeneration: number | null = null) =>
    at.sql.query<{ sid: string }>(
      'insert into ended_sessions (sid, min_generation) values (gen_random_uuid(), $1) returning sid',
      [minGeneration],
    )

  it('is whole at first, and then what is new', async () => {
    const { since } = await at.tools.reader()
    const [one] = await add()
    const [two] = await add(5)
    const whole = await since()
    expect(whole).toMatchObject({
      entries: [
        { ...one, minGeneration: null },
        { ...two, minGeneration: 5 },
      ],
      complete: true,
    })
    const nothing = await since(whole.cursor)
    expect(nothing).toMatchObject({ entries: [], complete: false })
    const [three] = await add()
    expect(await since(nothing.cursor)).toMatchObject({ entries: [{ ...three, minGeneration: null }], complete: false })
    expect(sidsOf(await since(whole.cursor))).toEqual([three?.sid])
  })

  it('takes several answers when it is long, and misses nothing that is added meanwhile', async () => {
    const { since } = await at.tools.reader()
    const [{ count } = { count: 0 }] = await at.sql.query<{ count: number }>(
      'select count(*)::int as count from ended_sessions',
    )
    await at.sql.query('insert into ended_sessions (sid) select gen_random_uuid() from generate_series(1, 10500)')
    const first = await since()
    expect([first.entries.length, first.complete]).toEqual([10_000, true])
    const [added] = await add()
    const second = await since(first.cursor)
    const third = await since(second.cursor)
    const all = [first, second, third].flatMap(sidsOf)
    expect([second.complete, third.complete]).toEqual([false, false])
    expect(new Set(all).size).toBe(count + 10_501)
    expect(all).toContain(added?.sid)
    expect((await since(third.cursor)).entries).toEqual([])
  })

  it('is whole again for a cursor that is too old, of another server, or not ours', async () => {
    const { since, clock } = await at.tools.reader()
    await at.sql.query('delete from ended_sessions')
    const [one] = await add()
    const { cursor } = await since()
    const altered = (change: (values: unknown[]) => void) => {
      const values: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
      change(values)
      return Buffer.from(JSON.stringify(values)).toString('base64url')
    }
    const isWhole = async (text: string) => {
      const answer = await since(text)
      return answer.complete && sidsOf(answer).join() === one?.sid
    }
    expect(await isWhole(altered(() => undefined))).toBe(false)
    const strange = [
      '',
      'garbage',
      `${cursor.slice(0, -4)}`,
      altered((values) => values.splice(1, 1, 'another server')),
      altered((values) => values.splice(2, 1, '999999999999:999999999999:')),
      altered((values) => values.splice(2, 1, '5:4:')),
      altered((values) => values.splice(2, 1, '5:9:8,6')),
      altered((values) => values.splice(2, 1, '5:9:9')),
      altered((values) => values.splice(2, 1, null)),
      altered((values) => values.splice(3, 1, `1' or true`)),
      altered((values) => values.splice(4, 1, 'no id')),
    ]
    for (const text of strange) expect([text, await isWhole(text)]).toEqual([text, true])
    clock.advance(11 * minutes)
    expect(await isWhole(cursor)).toBe(true)
  })

  it('can be waited for', async () => {
    const ended = await at.tools.reader()
    expect(await ended.waitForNews(1)).toBe(false)
    const waiting = ended.waitForNews(60_000)
    await add()
    await ended.read()
    expect(await waiting).toBe(true)
    const again = ended.waitForNews(60_000)
    ended.add({ sid: uuidv7(new Date()), minGeneration: null })
    expect(await again).toBe(true)
  })
}

describe('on PostgreSQL', () => {
  const at = useStore()
  describe('the list of ended sessions', () => tryList(at))
  describe('the list for other programs', () => tryListForPrograms(at))
})

it('misses no entry that commits late, whatever was read in between', async () => {
  const store = await openPostgresStore()
  const sql = store.database
  const { reader, addUser, addSession } = toolsFor(sql)
  const user = await addUser()
  const [late, early, later] = [await addSession(user), await addSession(user), await addSession(user)]
  const ended = await reader()
  let between = await ended.since()
  const other = await store.another()
  const end = (database: Pick<Database, 'query'>, id: string) =>
    database.query('delete from sessions where id = $1', [id])
  await other.transaction(async (inside) => {
    await end(inside, late)
    await end(sql, early)
    await ended.read()
    await ended.read()
    expect([ended.has(late), ended.has(early)]).toEqual([false, true])
    between = await ended.since(between.cursor)
  })
  await end(sql, later)
  await ended.read()
  expect([ended.has(late), ended.has(later)]).toEqual([true, true])
  expect([sidsOf(between), sidsOf(await ended.since(between.cursor))]).toEqual([[early], [late, later]])
  await store.drop()
})

it('gives other programs an entry that commits between two answers of a long list', async () => {
  const store = await openPostgresStore()
  const { since } = await toolsFor(store.database).reader()
  const other = await store.another()
  const late = uuidv7(new Date())
  const first = await other.transaction(async (held) => {
    await held.query('insert into ended_sessions (sid) values ($1)', [late])
    await store.database.query(
      'insert into ended_sessions (sid) select gen_random_uuid() from generate_series(1, 10500)',
    )
    return since()
  })
  const second = await since(first.cursor)
  const third = await since(second.cursor)
  expect([first, second, third].map(({ entries }) => entries.length)).toEqual([10_000, 500, 1])
  expect(sidsOf(third)).toEqual([late])
  await store.drop()
})
