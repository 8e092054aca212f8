import { afterAll, beforeAll, expect, it } from 'vitest'
import { minResponseTime } from '../../src/lib/timing.js'
import { documentedOperations } from '../support/api-document.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let asker: Browser
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ADMIN_GROUP: '', MAIL_SIGN_IN: 'on' } })
  await latchkey.signedUp('known')
  asker = await latchkey.signedUp('asker')
})
afterAll(() => latchkey.stop())

let turn = 0
const failedSignIn = (who: string) =>
  latchkey.browser().post('/login', { username: `${who}@example.com`, password: 'wrong' })
const registration = (who: string) => {
  const person = { username: `new${++turn}`, email: `${who}@example.com`, password: goodPassword }
  return latchkey.browser().post('/api/auth/register', person)
}

type Answer = { status: number; body: unknown }
const posting = (path: string, rest: object) => (who: string) =>
  latchkey.browser().post(path, { email: `${who}@example.com`, username: `${who}@example.com`, ...rest })

/** The routes that are sent a name or an address, and do not tell whether there is such an account. */
const hiding: Record<string, (who: string) => Promise<Answer>> = {
  'post /login': failedSignIn,
  'post /api/auth/login': posting('/api/auth/login', { password: 'wrong' }),
  'post /api/auth/register': registration,
  'post /reset-password': posting('/reset-password', {}),
  'post /api/auth/reset-password': posting('/api/auth/reset-password', {}),
  'post /api/auth/reset-password by username': (who) =>
    latchkey.browser().post('/api/auth/reset-password', { email: who }),
  'post /api/auth/mail-login': posting('/api/auth/mail-login', {}),
  'post /api/auth/email': (who) => asker.act('/api/auth/email', { email: `${who}@example.com` }),
}
/** The other routes, and why they need not hide accounts. */
const open: Record<string, string> = {
  'post /api/auth/setup': 'it works while there is no account only',
  'post /api/auth/password-strength': 'it looks for no account',
  'patch /api/auth/account': 'who is signed in may learn that a username is taken',
  'post /api/auth/mail-login/registration': 'who chooses a username may learn that it is taken',
  'post /api/auth/delete-account': 'the name is compared with that of the caller only',
  'post /api/auth/second-factor/delete': 'the name is compared with that of the sign-in that waits',
}

it('every route that is sent a name or an address hides accounts, or says why it need not', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  type Schema = { $ref?: string; properties?: object }
  type Body = { content?: Record<string, { schema: Schema }> }
  const { schemas } = body.components as { schemas: Record<string, Schema> }
  const operations = documentedOperations(body) as { method: string; path: string; requestBody?: Body }[]
  const named = operations.filter(({ requestBody }) => {
    const { $ref, properties } = requestBody?.content?.['application/json']?.schema ?? {}
    const fields = Object.keys(properties ?? schemas[$ref?.split('/').at(-1) ?? '']?.properties ?? {})
    return fields.some((field) => ['email', 'username', 'login'].includes(field))
  })
  const listed = [...Object.keys(hiding), ...Object.keys(open)].filter((each) => !each.includes(' by '))
  expect(named.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(listed.sort())
})

it.each(Object.entries(hiding))('%s answers alike with and without an account, and not too soon', async (_, send) => {
  const answers = []
  for (const who of ['known', 'nobody']) {
    const asked = Date.now()
    const { status, body } = await send(who)
    expect(Date.now() - asked).toBeGreaterThan(minResponseTime - 5)
    answers.push({ status, body })
  }
  expect(answers[0]).toEqual(answers[1])
  expect([202, 401]).toContain(answers[0]?.status)
})

// On a busy machine, the time that the database takes with and without an account cannot be compared. But any machine shows that the
// answer waits for a fixed time from the moment of writing, which hides the difference.
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
    // The wait starts a moment before the row is written. On a busy machine, one of the waits can be over by then.
    // A timer may be early by a millisecond.
    expect(Math.max(...waits)).toBeGreaterThan(minResponseTime - 5)
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
