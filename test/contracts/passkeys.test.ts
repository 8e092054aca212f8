import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as passkeys from '../../src/factors/passkeys.store.js'
import { uuidv7 } from '../../src/lib/uuid.js'
import { openPostgresStore, type TestStore } from '../support/stores.js'

const now = new Date('2026-03-01T12:00:00Z')
const bytes = (fill: number) => Buffer.alloc(64, fill)

describe('passkeys on PostgreSQL', () => {
  let store: TestStore
  const user = uuidv7(now)
  beforeAll(async () => {
    store = await openPostgresStore()
    await store.database.query(
      `insert into users (id, email, email_key, username, username_key, created_at)
       values ($1, 'ada@example.com', 'ada@example.com', 'ada', 'ada', now())`,
      [user],
    )
  })
  afterAll(() => store.drop())

  const add = (fill: number, host = 'example.com') =>
    passkeys.insert(store.database, {
      id: uuidv7(now),
      user_id: user,
      credential_id: bytes(fill),
      public_key: bytes(fill),
      counter: 0,
      transports: ['internal', 'hybrid'],
      relying_party: host,
      name: 'Phone',
      synced: false,
      clockOffset: 0,
    })

  it('are added once, found by their credential, renamed, counted by host and removed', async () => {
    const { database: sql } = store
    const [added] = await add(1)
    expect(await add(1)).toEqual([])
    await add(2, 'old.example.com')
    const [found] = await passkeys.selectByCredential(sql, bytes(1), 'example.com')
    expect(found).toEqual(added)
    expect(found).toMatchObject({ counter: 0, transports: ['internal', 'hybrid'], last_used_at: null })
    expect(Buffer.from(found?.public_key ?? []).equals(bytes(1))).toBe(true)
    expect(await passkeys.selectByCredential(sql, bytes(2), 'example.com')).toEqual([])
    expect(await passkeys.countUsable(sql, user, 'example.com')).toEqual([{ count: 1 }])
    expect(await passkeys.countByHost(sql, 'example.com')).toEqual([{ all: 2, for_other_hosts: 1 }])
    expect(await passkeys.rename(sql, added?.id ?? '', uuidv7(now), 'mine')).toEqual([])
    expect(await passkeys.rename(sql, added?.id ?? '', user, 'mine')).toMatchObject([{ name: 'mine' }])
    await passkeys.remove(sql, added?.id ?? '')
    expect(await passkeys.selectOfUser(sql, user)).toHaveLength(1)
    expect(await passkeys.removeAll(sql, user)).toHaveLength(1)
  })

  it('accept a counter that grows, or one that is always 0', async () => {
    const { database: sql } = store
    const [added] = await add(3)
    const use = async (counter: number) =>
      (await passkeys.acceptUse(sql, { id: added?.id ?? '', counter, synced: true, now })).length
    expect([await use(0), await use(0), await use(2 ** 32 - 2), await use(2 ** 32 - 2), await use(0)]).toEqual([
      1, 1, 1, 0, 0,
    ])
    expect(await use(2 ** 32 - 1)).toBe(1)
    expect(await passkeys.selectOfUser(sql, user)).toMatchObject([{ counter: 2 ** 32 - 1, synced: true }])
  })

  it('go with their user', async () => {
    const { database: sql } = store
    await add(5)
    await sql.query('delete from users')
    expect(await sql.query('select 1 from passkeys')).toEqual([])
  })
})
