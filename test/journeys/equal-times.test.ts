import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { goodPassword, type Latchkey, startLatchkey } from '../harness/latchkey.js'

/** Makes what is written for somebody with an account slower than any real database does, to see whether it shows. */
const slowDown = `
  create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.09); return new; end $$;
  create trigger slow_events before insert on events for each row when (new.user_id is not null) execute function slow();
  create trigger slow_mails before insert on outgoing_mail for each row
    when (new.kind = 'already-registered') execute function slow();`

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey()
  await latchkey.signedUp('known')
  await latchkey.sql.transaction((sql) => sql.script(slowDown))
})
afterAll(() => latchkey.stop())

let turn = 0
const failedSignIn = (who: string) =>
  latchkey.browser().post('/login', { username: `${who}@example.com`, password: 'wrong' })
const registration = (who: string) => {
  const person = { username: `new${++turn}`, email: `${who}@example.com`, password: goodPassword }
  return latchkey.browser().post('/api/auth/register', person)
}

// The quickest of several answers says most about the work and least about the machine. A difference that is really there
// shows every time; one that a busy machine makes does not.
describe('takes the same time with and without an account:', { retry: 4 }, () => {
  it.each([
    ['a failed sign-in', failedSignIn],
    ['a registration', registration],
  ])('%s', async (_, act) => {
    const quickest = { known: Number.POSITIVE_INFINITY, nobody: Number.POSITIVE_INFINITY }
    for (let sample = 0; sample < 6; sample++) {
      for (const who of ['known', 'nobody'] as const) {
        const begun = performance.now()
        await act(who)
        quickest[who] = Math.min(quickest[who], performance.now() - begun)
      }
    }
    expect(Math.abs(quickest.known - quickest.nobody)).toBeLessThan(60)
  })
})

it('a registration writes the same rows with and without an account', async () => {
  const count = async () => {
    const tables = ['pending_registrations', 'outgoing_mail', 'events', 'one_time_tokens', 'users']
    const counts = tables.map((table) => `(select count(*)::int from ${table}) as ${table}`)
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
