import { afterAll, beforeAll, expect, it } from 'vitest'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey()
})
afterAll(() => latchkey.stop())

it('lets a session that has ended end no other', async () => {
  const tab = await latchkey.signedUp('owner')
  const other = latchkey.browser()
  await other.post('/login', { username: 'owner', password: goodPassword })
  const sessions = (await tab.get('/api/auth/sessions')).body.sessions as { id: string; current: boolean }[]
  const [mine, theirs] = [sessions.find(({ current }) => current), sessions.find(({ current }) => !current)]
  expect((await tab.remove(`/api/auth/sessions/${theirs?.id}`)).status).toBe(204)
  expect((await other.remove(`/api/auth/sessions/${mine?.id}`)).body.code).toBe('not_authenticated')
  expect((await other.act('/api/auth/logout-all')).body.code).toBe('not_authenticated')
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)
})
