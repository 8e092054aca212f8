import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { minutes } from '../../src/lib/durations.js'
import type { Transaction } from '../../src/platform/database/database.js'
import type { Browser } from '../support/client.js'
import { testPostgres } from '../support/databases.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { overtaken, untilBlocked } from '../support/waits-for-lock.js'

const client = operatorClient('root')
let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { GENERAL_LIMIT: '10000/15m', REFRESH_GRACE: '30s' } })
  for (const name of ['admins', 'staff']) await latchkey.app.rooms.groups.add(name, client)
})
afterAll(() => latchkey.stop())

const idOf = async (username: string) => {
  const user = await latchkey.app.rooms.users.findByLogin(username)
  return user?.id ?? ''
}
const change = async (username: string, wanted: { add?: string[]; remove?: string[] }) =>
  latchkey.app.rooms.groupChanges.change({ userId: await idOf(username), client }, wanted)
const verify = (tab: Browser, query: string) => tab.get(`/api/auth/verify?${query}`)
const groupsIn = (tab: Browser) =>
  JSON.parse(Buffer.from(tab.jar.get('access_token')?.split('.')[1] ?? '', 'base64url').toString()).groups

describe('a group', () => {
  it('is in the token, the header, the account and the access check of its members', async () => {
    const tab = await latchkey.signedUp('ada')
    expect(groupsIn(tab)).toEqual([])
    const outside = await verify(tab, 'group=admins,staff&fresh=10m')
    expect([outside.status, outside.body.code, outside.headers.get('x-auth-step-up')]).toEqual([
      403,
      'group_required',
      '/step-up?group=1',
    ])
    await change('ada', { add: ['staff', 'admins'] })
    expect((await verify(tab, 'group=staff')).status).toBe(401)
    const member = await verify(tab, 'group=staff&renew=1')
    expect([member.status, member.headers.get('x-auth-groups')]).toEqual([204, 'admins,staff'])
    expect(groupsIn(tab)).toEqual(['admins', 'staff'])
    expect((await verify(tab, 'group=guests,admins')).status).toBe(204)
    expect((await verify(tab, 'group=guests')).body.code).toBe('group_required')
    const { body } = await tab.get('/api/auth/account')
    expect((body.user as { groups: string[] }).groups).toEqual(['admins', 'staff'])
    // The group is looked at first: to prove it again would not help.
    await latchkey.advance(11 * minutes)
    expect((await verify(tab, 'group=guests&fresh=10m')).body.code).toBe('group_required')
    expect((await verify(tab, 'group=staff&fresh=10m')).body.code).toBe('step_up_required')
  })

  it('that is taken away counts no more at once, and signs no user out', async () => {
    const tab = await latchkey.signedUp('bea')
    await change('bea', { add: ['staff'] })
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    expect((await verify(tab, 'group=staff')).status).toBe(204)
    await change('bea', { remove: ['staff'] })
    expect((await verify(tab, 'group=staff')).status).toBe(401)
    expect((await verify(tab, 'group=staff&renew=1')).body.code).toBe('group_required')
    expect((await tab.get('/api/auth/account')).status).toBe(200)
    const events = (await tab.get('/api/auth/events')).body.events as { kind: string; reason: string }[]
    const changes = events.filter(({ kind }) => kind.startsWith('group_')).map(({ kind, reason }) => [kind, reason])
    expect(changes).toEqual([
      ['group_left', 'staff'],
      ['group_joined', 'staff'],
    ])
  })

  it('changes for every session, also for a page that is renewing its tokens at that moment', async () => {
    const tab = await latchkey.signedUp('cy')
    const other = latchkey.browser()
    await other.post('/login', { username: 'cy', password: goodPassword })
    const old = tab.copy()
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    await change('cy', { add: ['staff'] })
    // These browsers still have the previous refresh token, and their access token is refused by now: all get the same new token.
    const late = [old, old.copy(), old.copy()]
    for (const each of late) {
      expect((await each.post('/api/auth/refresh')).status).toBe(200)
      expect((await verify(each, 'group=staff')).status).toBe(204)
    }
    expect(new Set(late.map(({ jar }) => jar.get('refresh_token'))).size).toBe(1)
    // The browser that had the newest refresh token gets new tokens, too.
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    expect((await verify(tab, 'group=staff')).status).toBe(204)
    expect((await other.post('/api/auth/refresh')).status).toBe(200)
    expect((await verify(other, 'group=staff')).status).toBe(204)
  })

  it('does not come between a user and signing out everywhere: the browser renews its token and asks again', async () => {
    const tab = await latchkey.signedUp('wes')
    const other = latchkey.browser()
    await other.post('/login', { username: 'wes', password: goodPassword })
    // As at an instance that has not read of the change yet, and lets the access token pass.
    await latchkey.sql.query('update sessions set oldest_generation = generation + 1 where user_id = $1', [
      await idOf('wes'),
    ])
    const refused = await tab.act('/api/auth/logout-all')
    expect([refused.status, refused.setCookies]).toEqual([401, []])
    expect((await other.post('/api/auth/refresh')).status).toBe(200)
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    expect((await tab.act('/api/auth/logout-all')).status).toBe(204)
    expect((await other.post('/api/auth/refresh')).status).toBe(401)
  })

  it('does not make a stolen token good: after its grace an old one ends the session', async () => {
    const tab = await latchkey.signedUp('dan')
    const old = tab.copy()
    await tab.post('/api/auth/refresh')
    await latchkey.sql.query(`update sessions set rotated_at = rotated_at - interval '31 seconds'`)
    await change('dan', { add: ['staff'] })
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    expect((await old.post('/api/auth/refresh')).status).toBe(401)
    expect((await tab.post('/api/auth/refresh')).status).toBe(401)
  })

  it('is already the new one for a sign-in and for a rotation that have waited for the change', async () => {
    const tab = await latchkey.signedUp('eve')
    const join = async (sql: Transaction, id: string, groups: string) => {
      await sql.query('update users set groups = $2 where id = $1', [id, `{${groups}}`])
      await latchkey.app.rooms.sessions.giveGroups(sql, id)
    }
    const late = latchkey.browser()
    await overtaken(
      latchkey,
      'eve',
      () => late.post('/login', { username: 'eve', password: goodPassword }),
      (sql, id) => join(sql, id, 'staff'),
    )
    expect(groupsIn(late)).toEqual(['staff'])

    const other = testPostgres(String(latchkey.config.databaseUrl))
    const { refreshing } = await other.transaction(async (sql) => {
      await join(sql, await idOf('eve'), 'admins,staff')
      const sent = tab.post('/api/auth/refresh')
      await untilBlocked(latchkey.sql)
      return { refreshing: sent }
    })
    expect((await refreshing).status).toBe(200)
    await other.close()
    expect(groupsIn(tab)).toEqual(['admins', 'staff'])
    expect((await verify(tab, 'group=admins')).status).toBe(204)
  })

  it('is refused if there is none of that name, if there are too many, or if the token would be too long', async () => {
    const email = `fay@${'d'.repeat(60)}.${'e'.repeat(60)}.${'f'.repeat(50)}.example.com`
    await latchkey.signedUp('fay', { email })
    expect(await change('fay', { add: ['nothing'] })).toMatchObject({ refused: 'no_group', group: 'nothing' })
    const long = Array.from({ length: 17 }, (_, index) => `group-${index}-`.padEnd(32, 'x'))
    for (const name of long) await latchkey.app.rooms.groups.add(name, client)
    const byNumber = { refused: 'too_many_groups', message: 'A user can be in at most 16 groups' }
    expect(await change('fay', { add: long })).toEqual(byNumber)
    expect(await change('fay', { add: long.slice(0, 16) })).toMatchObject({ result: true })
    const tab = latchkey.browser()
    await tab.post('/login', { username: 'fay', password: goodPassword })
    expect(tab.jar.get('access_token')?.length).toBeLessThanOrEqual(1800)
    expect(groupsIn(tab)).toHaveLength(16)
    const renamed = await tab.send('PATCH', '/api/auth/account', { username: '漢'.repeat(64) }, { csrf: true })
    expect([renamed.status, renamed.body.code]).toEqual([409, 'too_many_groups'])
    expect(renamed.body.message).toContain('would be too long')
    expect((await latchkey.app.rooms.users.findByLogin('fay'))?.username).toBe('fay')
    // The same with the longest name first, and then the address.
    const named = await latchkey.signedUp('漢'.repeat(64), { email: 'han@example.com' })
    expect(await change('漢'.repeat(64), { add: long.slice(0, 16) })).toMatchObject({ result: true })
    await named.post('/api/auth/refresh')
    const changes = createEmailChanges(latchkey)
    const moved = email.replace('fay', 'han')
    expect((await changes.ask(named, moved)).status).toBe(202)
    const refused = await changes.confirm(named, await changes.confirmToken(moved))
    expect([refused.status, refused.body.code]).toEqual([409, 'too_many_groups'])
    expect(await changes.emailOf('漢'.repeat(64))).toBe('han@example.com')
  })

  it('is deleted only without members, who lose it a part at a time', async () => {
    const { groups, groupChanges } = latchkey.app.rooms
    await groups.add('beta', client)
    for (const name of ['gil', 'hal', 'ivy']) await latchkey.signedUp(name).then(() => change(name, { add: ['beta'] }))
    expect(await groups.remove('beta', client)).toEqual({ refused: 'group_has_members' })
    expect(await groupChanges.removeMembers(client, 'beta', 2)).toBe(2)
    expect(await groupChanges.removeMembers(client, 'beta', 2)).toBe(1)
    expect(await groups.remove('beta', client)).toBeUndefined()
    expect(await groups.remove('beta', client)).toEqual({ refused: 'no_group' })
    expect(await change('gil', { add: ['beta'] })).toMatchObject({ refused: 'no_group' })
  })

  it('can be left by users while it is being deleted: no two wait for each other', async () => {
    const { groups, groupChanges } = latchkey.app.rooms
    await groups.add('gamma', client)
    const names = ['pia', 'quin', 'rob', 'sue']
    for (const name of names) await latchkey.signedUp(name).then(() => change(name, { add: ['gamma'] }))
    const deleteIt = async () => {
      while ((await groups.remove('gamma', client))?.refused === 'group_has_members')
        await groupChanges.removeMembers(client, 'gamma', 2)
    }
    const leave = async (name: string) => change(name, { remove: ['gamma'] })
    await Promise.all([deleteIt(), deleteIt(), ...names.map(leave), ...names.map(leave)])
    expect(await latchkey.sql.query(`select 1 from users where groups @> '{gamma}'`)).toEqual([])
  })

  it('is left by a user and joined by the same one in one change, with two events and one webhook', async () => {
    await latchkey.signedUp('tom')
    await change('tom', { add: ['staff'] })
    await latchkey.sql.query(
      "insert into webhooks_wanted (until) values (now() + interval '1 hour') on conflict do nothing",
    )
    await change('tom', { add: ['admins'], remove: ['staff'] })
    const id = await idOf('tom')
    const queued = await latchkey.sql.query<{ type: string; groups: string[] }>(
      `select type, data -> 'user' -> 'groups' as groups from outgoing_webhooks where user_id = $1`,
      [id],
    )
    await latchkey.sql.query('delete from webhooks_wanted')
    await latchkey.sql.query('delete from outgoing_webhooks')
    expect(queued).toEqual([{ type: 'user.updated', groups: ['admins'] }])
    const recorded = await latchkey.sql.query<{ kind: string; reason: string }>(
      "select kind, reason from events where user_id = $1 and kind like 'group_%' order by id",
      [id],
    )
    // Both are written in the same moment.
    expect(recorded.slice(1).toSorted((left, right) => left.kind.localeCompare(right.kind))).toEqual([
      { kind: 'group_joined', reason: 'admins' },
      { kind: 'group_left', reason: 'staff' },
    ])
  })

  it('changes twice within one grace: the tokens of both times still get the newest', async () => {
    const tab = await latchkey.signedUp('uma')
    const [first, second] = [tab.copy(), tab.copy()]
    await tab.post('/api/auth/refresh')
    await change('uma', { add: ['staff'] })
    expect((await first.post('/api/auth/refresh')).status).toBe(200)
    await change('uma', { add: ['admins'] })
    expect((await second.post('/api/auth/refresh')).status).toBe(200)
    expect(groupsIn(second)).toEqual(['admins', 'staff'])
    for (const each of [tab, first]) expect((await each.post('/api/auth/refresh')).status).toBe(200)
    expect(new Set([tab, first, second].map(({ jar }) => jar.get('refresh_token'))).size).toBe(1)
  })

  it('does not shorten the longer grace of tokens that were renewed at the proxy', async () => {
    const tab = await latchkey.signedUp('val')
    const page = tab.copy()
    tab.jar.delete('access_token')
    expect((await verify(tab, 'renew=1')).status).toBe(204)
    await change('val', { add: ['staff'] })
    expect((await tab.copy().post('/api/auth/refresh')).status).toBe(200)
    await latchkey.sql.query(`update sessions set rotated_at = rotated_at - interval '60 seconds'`)
    // The answer of the application was slow: the browser has the tokens of the renewal only now.
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    expect((await page.post('/api/auth/refresh')).status).toBe(200)
  })

  it('of an invitation is that of the account which is created with it', async () => {
    const email = 'jon@example.com'
    const { groups, invitations } = latchkey.app.rooms
    for (const name of ['renewed', 'deleted-since']) await groups.add(name, client)
    await invitations.invite({ email, key: email }, client, { groups: ['staff', 'renewed', 'deleted-since'] })
    // A later group of the same name is not the group of the invitation.
    for (const name of ['renewed', 'deleted-since']) await groups.remove(name, client)
    await latchkey.advance(1 * minutes)
    await groups.add('renewed', client)
    const tab = await latchkey.registered('jon')
    expect(groupsIn(tab)).toEqual(['staff'])
  })

  it('is renewed into a token of a release that had none', async () => {
    const tab = await latchkey.signedUp('kim')
    await latchkey.sql.query(`update users set groups = '{staff}' where username = 'kim'`)
    await latchkey.sql.query(
      `update sessions set groups = '{staff}' where user_id = (select id from users where username = 'kim')`,
    )
    const [, payload = ''] = tab.jar.get('access_token')?.split('.') ?? []
    const { groups: _, sub, iss, aud, ...claims } = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const { tokens } = latchkey.app.rooms
    tab.jar.set('access_token', tokens.signAccess({ ...claims, groups: undefined }))
    expect((await verify(tab, 'group=staff')).body.code).toBe('group_required')
    expect((await verify(tab, 'renew=1')).headers.get('set-cookie')).toBeNull()
    expect((await verify(tab, 'group=staff&renew=1')).status).toBe(204)
    expect(groupsIn(tab)).toEqual(['staff'])
  })
})

it('many users who lose a group while their pages refresh stay signed in, and are refused', async () => {
  const names = ['lea', 'mia', 'ned', 'ole']
  const tabs = await Promise.all(names.map((name) => latchkey.signedUp(name)))
  await Promise.all(names.map((name) => change(name, { add: ['admins'] })))
  await Promise.all(tabs.map((tab) => tab.post('/api/auth/refresh')))
  const thefts = () => latchkey.sql.query("select 1 from events where kind = 'refresh_theft'")
  const before = await thefts()
  await Promise.all([
    ...names.map((name) => change(name, { remove: ['admins'] })),
    ...tabs.flatMap((tab) => Array.from({ length: 10 }, () => tab.copy().post('/api/auth/refresh'))),
  ])
  for (const tab of tabs) {
    expect((await verify(tab, 'group=admins&renew=1')).body.code).toBe('group_required')
    expect((await tab.get('/api/auth/account')).status).toBe(200)
  }
  expect(await thefts()).toEqual(before)
})
