import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AdminOverview, type AdminUserDetails, adminPath } from '#contract/admin/admin-bodies.js'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

// What someone at a helpdesk wants to know about a user who calls.

let latchkey: Latchkey
let root: Awaited<ReturnType<typeof signedUpInGroup>>
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ADMIN_GROUP: 'admins' } })
  root = await signedUpInGroup(latchkey, 'root1', 'admins')
})
afterAll(() => latchkey.stop())

const get = async <Body>(path: string) => (await root.tab.get(`${adminPath}${path}`)).body as Body
const detailsOf = (id: string) => get<AdminUserDetails>(`/users/${id}`)

it('mails that wait or were refused are named at their user, and refused ones in the overview', async () => {
  await latchkey.signedUp('ina')
  const id = await idOf(latchkey, 'ina')
  const why = async () => (await detailsOf(id)).why.map(({ code, detail }) => [code, detail])
  expect(await why()).toEqual([])
  await latchkey.sql.query(
    `insert into outgoing_mail (id, recipient_key, user_id, kind, created_at, next_attempt_at, last_error)
     values ($1, 'y', $2, 'welcome', $3, $4, 'connect ECONNREFUSED')`,
    [crypto.randomUUID(), id, latchkey.clock.now(), new Date('2100-01-01')],
  )
  expect(await why()).toEqual([['mails_waiting', 'connect ECONNREFUSED']])
  await latchkey.sql.query(`delete from outgoing_mail where recipient_key = 'y'`)
  const note = (kind: 'mail_refused' | 'mail_accepted', reason: string) =>
    latchkey.app.nouns.events.record({ kind, reason, userId: id }, { ip: '', userAgent: '' })
  await note('mail_refused', 'reset-password: 550 5.1.1: no such user')
  expect(await why()).toEqual([['mail_refused', '550 5.1.1: no such user']])
  expect((await get<AdminOverview>('/overview')).attention).toMatchObject([{ code: 'mails_refused', count: 1 }])
  await note('mail_accepted', 'reset-password')
  expect(await why()).toEqual([])
})
