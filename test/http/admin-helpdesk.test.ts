import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AdminOverview, type AdminUserDetails, type AdminUsers, adminPath } from '#contract/admin/admin-bodies.js'
import type { ProfileFieldDefinition } from '#contract/profile-fields.js'
import { nextSignInObstacles } from '../../src/admin/obstacles.js'
import { noAccessReason } from '../../src/applications/applications.js'
import { createProfileFields } from '../../src/users/profile-fields.js'
import { createTerms } from '../../src/users/terms.js'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import { addApplication } from '../support/applications.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

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

const send = (method: string, path: string, body: object) =>
  root.tab.send(method, `${adminPath}${path}`, body, { csrf: true })

it('a search for an address without an account says that it was invited, or registered and is not confirmed', async () => {
  const find = async (search: string) => (await get<AdminUsers>(`/users?search=${search}`)).withoutAccount
  expect(await find('new@example.com')).toBeNull()
  await send('POST', '/invitations', { email: 'new@example.com' })
  expect(await find('New@example.com')).toMatchObject({ invitedAt: expect.any(String), registeredAt: null })
  const registration = { username: 'late', email: 'late@example.com', password: goodPassword }
  expect((await latchkey.browser().post('/api/auth/register', registration)).status).toBe(202)
  expect(await find('late@example.com')).toEqual({
    email: 'late@example.com',
    invitedAt: null,
    registeredAt: expect.any(String),
  })
  expect(await find('late@')).toBeNull()
  expect(await find('root1@example.com')).toBeNull()
})

it('an invitation that is sent again keeps its groups, unless others are given', async () => {
  await send('POST', '/groups', { name: 'staff' })
  const invite = async (body: object) =>
    (await send('POST', '/invitations', { email: 'again@example.com', ...body })).body.groups
  expect(await invite({ groups: ['staff'] })).toEqual(['staff'])
  expect(await invite({})).toEqual(['staff'])
  expect(await invite({ groups: [] })).toEqual([])
})

it('says what a user is asked for at the next sign-in, and which application refused them', async () => {
  await latchkey.signedUp('joe')
  const id = await idOf(latchkey, 'joe')
  const { rooms, platform } = latchkey.app
  const user = await rooms.users.findById(id)
  if (!user) throw new Error('joe has no account')
  const definitions: ProfileFieldDefinition[] = [
    { key: 'team', type: 'text', labels: { en: 'Team' }, required: true, registration: false, editedBy: 'user' },
  ]
  const asking = {
    database: latchkey.sql,
    terms: createTerms({ ...platform, version: '2' }),
    profileFields: createProfileFields({ ...platform, definitions }),
  }
  expect(await nextSignInObstacles(asking, user)).toMatchObject([
    { code: 'must_give_fields', subject: 'team' },
    { code: 'must_agree_to_terms', subject: '2' },
  ])

  await send('POST', '/groups', { name: 'crew' })
  await addApplication(latchkey, { name: 'Flights', access: 'groups', groups: ['crew'] })
  const refused = { kind: 'application_refused', reason: noAccessReason('Flights'), userId: id } as const
  await rooms.events.record(refused, { ip: '192.0.2.1', userAgent: '' })
  expect((await detailsOf(id)).why).toMatchObject([{ code: 'no_access', subject: 'Flights', detail: 'crew' }])
  await send('PATCH', `/users/${id}/groups`, { add: ['crew'] })
  expect((await detailsOf(id)).why).toEqual([])
})

it('mails that wait or were refused are named at their user, and refused ones in the overview, as are limits of the service', async () => {
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
    latchkey.app.rooms.events.record({ kind, reason, userId: id }, { ip: '', userAgent: '' })
  await note('mail_refused', 'reset-password: 550 5.1.1: no such user')
  expect(await why()).toEqual([['mail_refused', '550 5.1.1: no such user']])
  expect((await get<AdminOverview>('/overview')).attention).toMatchObject([{ code: 'mails_refused', count: 1 }])
  await latchkey.app.rooms.events.record({ kind: 'ceiling_reached', reason: 'total_mails' }, { ip: '', userAgent: '' })
  expect((await get<AdminOverview>('/overview')).attention).toMatchObject([
    { code: 'mails_refused' },
    { code: 'ceiling_reached', count: 1, message: expect.stringMatching(/^1 limit of the whole service was reached/) },
  ])
  await note('mail_accepted', 'reset-password')
  expect(await why()).toEqual([])
})
