import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../src/lib/uuid.js'
import { type TestStore, testStores } from '../support/stores.js'

describe.each(testStores)('events on $name', ({ open }) => {
  let store: TestStore
  const query = (text: string, values: unknown[] = []) => store.database.query<{ kind: string }>(text, values)
  const write = (kind: string, age: string) =>
    query(
      `insert into events (id, kind, ip, user_agent, created_at, name_mark, log_pending)
       values ($1, $2, '', '', now() - $3::interval, 'mark', true)`,
      [uuidv7(new Date()), kind, age],
    )
  beforeAll(async () => {
    store = await open()
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
  ])('refuse: %s', async (change) => {
    await expect(query(change)).rejects.toThrow('events cannot be changed')
  })

  it('forget names, are noted as logged, and can be purged after 90 days', async () => {
    await query('update events set name_mark = null, log_pending = false')
    await query(`delete from events where kind = 'old'`)
    expect(await query('select kind from events')).toEqual([{ kind: 'new' }])
  })
})
