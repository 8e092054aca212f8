import { afterAll, beforeAll, expect, it } from 'vitest'
import { minResponseTime } from '../../src/http/at-least.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey()
  await latchkey.signedUp('known')
})
afterAll(() => latchkey.stop())

let turn = 0
const failedSignIn = (who: string) =>
  latchkey.browser().post('/login', { username: `${who}@example.com`, password: 'wrong' })
const registration = (who: string) => {
  const person = { username: `new${++turn}`, email: `${who}@example.com`, password: goodPassword }
  return latchkey.browser().post('/api/auth/register', person)
}

// How long the database takes for each of them cannot be compared on a busy machine. That the answer waits for a fixed time
// from the moment of writing, which hides it, can be seen on any.
it.each([
  ['a failed sign-in', failedSignIn, 'events'],
  ['a registration', registration, 'outgoing_mail'],
])('%s waits for the same time with and without an account', async (_, act, table) => {
  for (const who of ['known', 'nobody']) {
    const waits: number[] = []
    for (let sample = 0; sample < 4; sample++) {
      await act(who)
      const answered = Date.now()
      const [row] = await latchkey.sql.query<{ last: Date }>(`select max(created_at) as last from ${table}`)
      waits.push(answered - (row?.last.getTime() ?? 0))
    }
    // The wait starts a moment before the row is written, on a busy machine a longer one. A timer may be early by a millisecond.
    expect(Math.max(...waits)).toBeGreaterThan(minResponseTime - 5)
    expect(Math.min(...waits)).toBeGreaterThan(minResponseTime / 2)
  }
})

it('a registration writes the same rows with and without an account', async () => {
  const count = async () => {
    const tables = ['pending_registrations', 'outgoing_mail', 'one_time_tokens', 'users']
    const counts = tables.map((table) => `(select count(*)::int from ${table}) as ${table}`)
    // That the mail was sent is written down later, for both.
    counts.push(`(select count(*)::int from events where kind not like 'mail%') as events`)
    const [row] = await latchkey.sql.query<Record<string, number>>(`select ${counts.join(', ')}`)
    return Object.values(row ?? {})
  }
  const written = []
  await latchkey.sql.query('delete from outgoing_mail')
  for (const email of ['known@example.com', 'fresh@example.com']) {
    const before = await count()
    await latchkey.browser().post('/api/auth/register', { username: `row${++turn}`, email, password: goodPassword })
    const after = await count()
    written.push(after.map((each, at) => each - (before[at] ?? 0)))
  }
  expect(written).toEqual([
    [1, 1, 0, 0, 0],
    [1, 1, 0, 0, 0],
  ])
})
