import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adminPath, userActions } from '#contract/admin/admin-bodies.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { minutes } from '../../src/lib/durations.js'
import { idOf, joinGroup, signedUpInGroup } from '../support/administrators.js'
import { addAuthenticator, createAuthenticator } from '../support/authenticator.js'
import type { Answer, Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let ada: Awaited<ReturnType<typeof signedUpInGroup>>
let sue: Awaited<ReturnType<typeof signedUpInGroup>>
beforeAll(async () => {
  const settings = {
    ADMIN_GROUP: 'admins',
    SUPPORT_GROUP: 'helpdesk',
    PROVIDER_B_CLIENT_ID: 'client',
    PROVIDER_B_CLIENT_SECRET: 'secret',
  }
  latchkey = await startLatchkey({ settings })
  ada = await signedUpInGroup(latchkey, 'ada', 'admins')
  sue = await signedUpInGroup(latchkey, 'sue', 'helpdesk')
})
afterAll(() => latchkey.stop())

const codeOf = ({ status, body }: Answer) => `${status} ${body.code ?? ''}`.trim()
const refused = '403 fresh_sign_in_required'

/** Every request that needs a fresh session, whatever is sent with it. */
const sensitive = () =>
  latchkey.app.routes
    .list()
    .filter(({ isSensitive }) => isSensitive)
    .map(({ method, url }) => ({
      method,
      url: url.replace(':id', '0190c0de-0000-7000-8000-000000000001').replace(':provider', 'github'),
    }))

const later = async ({ tab }: { tab: Browser }, time: number) => {
  latchkey.clock.advance(time)
  await tab.post('/api/auth/refresh')
}

describe('the second factor of an administrator who changes the own account', () => {
  it('must be of the last five minutes at every request that needs a fresh session, of support too', async () => {
    expect(sensitive().map(({ url }) => url)).toEqual(
      expect.arrayContaining([
        '/api/auth/recovery-codes',
        '/api/auth/totp',
        '/api/auth/totp/new',
        '/api/auth/totp/new/confirm',
        '/api/auth/passkeys/options',
        '/api/auth/passkeys',
        '/api/auth/email',
        '/api/auth/tokens',
      ]),
    )
    for (const member of [ada, sue]) {
      await member.prove()
      await later(member, 5 * minutes + 1)
      for (const { method, url } of sensitive()) {
        const answer = await member.tab.send(method, url, method === 'GET' ? undefined : {}, { csrf: true })
        const asked = [codeOf(answer), answer.body.methods]
        expect(asked, `${member.username} ${method} ${url}`).toEqual([refused, ['totp', 'recovery_code']])
      }
      const passwords = { currentPassword: goodPassword, newPassword: `${goodPassword} 2` }
      expect(codeOf(await member.tab.act('/api/auth/change-password', passwords))).toBe(refused)
      const renamed = await member.tab.send('PATCH', '/api/auth/account', { username: 'other' }, { csrf: true })
      expect(codeOf(renamed)).toBe(refused)
    }
  })

  it('cannot be made with copied cookies: neither by recovery codes nor by another app', async () => {
    await ada.prove()
    await later(ada, 6 * minutes)
    const thief = { tab: ada.tab.copy() }
    const added = { name: 'Mine', redirect: ['https://thief.example/callback'], allow: 'everyone' }
    const add = () => thief.tab.send('POST', `${adminPath}/applications`, added, { csrf: true })
    for (const path of ['/api/auth/recovery-codes', '/api/auth/totp/new'])
      expect(codeOf(await thief.tab.act(path)), path).toBe(refused)
    expect(codeOf(await add())).toBe(refused)
    await ada.prove()
    expect((await ada.tab.act('/api/auth/recovery-codes')).body.recoveryCodes).toHaveLength(10)
  })

  it('stays as it is for other users: the sign-in of the last ten minutes is enough', async () => {
    const tab = await latchkey.signedUp('tom')
    const app = await addAuthenticator(tab, latchkey)
    latchkey.clock.advance(1 * minutes)
    await tab.act('/api/auth/step-up', { code: app.code() })
    await later({ tab }, 9 * minutes)
    expect((await tab.act('/api/auth/recovery-codes')).status).toBe(200)
  })

  it('is not asked for while the account has none: the first is added, and is itself no proof', async () => {
    const tab = await latchkey.signedUp('new')
    await joinGroup(latchkey, tab, 'new', 'helpdesk')
    await later({ tab }, 6 * minutes)
    const begun = await tab.act('/api/auth/totp')
    const app = createAuthenticator(String(begun.body.secret), latchkey)
    expect((await tab.act('/api/auth/totp/confirm', { code: app.code(-30_000) })).status).toBe(200)
    expect(codeOf(await tab.act('/api/auth/recovery-codes'))).toBe(refused)
    expect((await tab.act('/api/auth/step-up', { code: app.code() })).status).toBe(200)
    expect((await tab.act('/api/auth/recovery-codes')).status).toBe(200)
  })
})

describe('what an administrator does to an account of an administrator or of support', () => {
  const reason = 'left the company'
  const send = (by: { tab: Browser }, method: string, path: string, body: object = { reason }) =>
    by.tab.send(method, `${adminPath}${path}`, body, { csrf: true })
  const groups = (by: { tab: Browser }, id: string, change: object) =>
    send(by, 'PATCH', `/users/${id}/groups`, { reason, ...change })

  /** The administrators who were told by this request. The rows are written in its transaction. */
  const toldBy = async (request: () => Promise<Answer>) => {
    const [before] = await latchkey.sql.query<{ id: string }>('select max(id::text) as id from outgoing_mail')
    const answer = await request()
    const rows = await latchkey.sql.query<{ recipient: string }>(
      "select recipient from outgoing_mail where kind = 'administrator-changed' and id::text > $1",
      [before?.id ?? ''],
    )
    const names = rows.map(({ recipient }) => recipient.replace('@example.com', ''))
    return [answer.status, ...[...new Set(names)].sort()]
  }

  it('needs a second factor of the last five minutes, and what is done to others does not', async () => {
    const bea = await signedUpInGroup(latchkey, 'bea', 'admins')
    await latchkey.signedUp('una')
    const una = await idOf(latchkey, 'una')
    await ada.prove()
    await later(ada, 6 * minutes)
    for (const { id } of [bea, sue]) {
      for (const action of Object.keys(userActions))
        expect(codeOf(await send(ada, 'POST', `/users/${id}/${action}`)), action).toBe(refused)
      expect(codeOf(await send(ada, 'POST', `/users/${id}/delete`, { username: 'bea' }))).toBe(refused)
      expect(codeOf(await send(ada, 'PATCH', `/users/${id}/fields`, { fields: {} }))).toBe(refused)
      const token = '0190c0de-0000-7000-8000-000000000001'
      expect(codeOf(await send(ada, 'POST', `/users/${id}/end-token`, { token, reason }))).toBe(refused)
      expect(codeOf(await groups(ada, id, { add: ['admins'] }))).toBe(refused)
    }
    for (const group of ['admins', 'helpdesk'])
      for (const change of [{ add: [group] }, { remove: [group] }])
        expect(codeOf(await groups(ada, una, change)), JSON.stringify(change)).toBe(refused)
    expect(await toldBy(() => send(ada, 'POST', `/users/${una}/end-sessions`))).toEqual([204])
    await ada.prove()
    expect(await toldBy(() => groups(ada, bea.id, { remove: ['admins'] }))).toEqual([200, 'ada', 'bea'])
  })

  it('is mailed to all who were administrators before or are after it, with who, whom, why and a link to the event', async () => {
    const cleo = await signedUpInGroup(latchkey, 'cleo', 'admins')
    await latchkey.signedUp('accomplice')
    const accomplice = await idOf(latchkey, 'accomplice')
    await ada.prove()
    const before = [...latchkey.mails()]
    expect(await toldBy(() => groups(ada, accomplice, { add: ['admins'] }))).toEqual([200, 'accomplice', 'ada', 'cleo'])
    const { text } = await latchkey.mailTo('cleo@example.com', /account accomplice/, before)
    const [event] = await latchkey.sql.query<{ id: string }>(
      "select id from events where kind = 'group_joined' and user_id = $1",
      [accomplice],
    )
    const shown = text.replaceAll('\u200b', '')
    expect(shown).toContain('ada has just changed the account accomplice')
    expect(shown).toContain('added to groups (admins)')
    expect(shown).toContain(`Reason: ${reason}`)
    expect(shown).toContain(`${latchkey.url}/api/auth/admin#events/${event?.id}`)

    const everyone = ['accomplice', 'ada', 'cleo']
    const act = (action: string, id = cleo.id) => toldBy(() => send(ada, 'POST', `/users/${id}/${action}`))
    for (const action of ['end-sessions', 'reset-factors', 'send-reset', 'clear-limits', 'disable'])
      expect(await act(action), action).toEqual([204, ...everyone])
    // Whoever is out of the group, or disabled, is told of that and of nothing later.
    expect(await toldBy(() => groups(ada, accomplice, { remove: ['admins'] }))).toEqual([200, 'accomplice', 'ada'])
    expect(await act('enable')).toEqual([204, 'ada', 'cleo'])
    // After a lock-down the address may be a thief's.
    expect(await act('lock-down')).toEqual([204, 'ada'])
    expect(await toldBy(() => send(ada, 'POST', `/users/${cleo.id}/delete`, { username: 'cleo' }))).toEqual([
      204,
      'ada',
    ])
    expect(await act('end-sessions', accomplice)).toEqual([204])
    expect(await act('disable', accomplice)).toEqual([204])
  })

  it('is mailed if it is an account of support, and if support does it', async () => {
    const helper = await signedUpInGroup(latchkey, 'helper', 'helpdesk')
    await ada.prove()
    expect(await toldBy(() => groups(ada, helper.id, { remove: ['helpdesk'] }))).toEqual([200, 'ada'])
    expect(await toldBy(() => groups(ada, helper.id, { add: ['helpdesk'] }))).toEqual([200, 'ada'])
    await sue.prove()
    const before = [...latchkey.mails()]
    expect(await toldBy(() => send(sue, 'POST', `/users/${helper.id}/end-sessions`))).toEqual([204, 'ada'])
    await latchkey.mailTo('ada@example.com', /sue has just changed the account helper/, before)
  })

  it('is mailed to nobody if the command line does it, which is how operators begin', async () => {
    await latchkey.signedUp('ops')
    const context = { userId: await idOf(latchkey, 'ops'), client: operatorClient('root') }
    const change = async () => {
      await latchkey.app.rooms.groupChanges.change(context, { add: ['admins'] })
      return ada.tab.get('/health/live')
    }
    expect(await toldBy(change)).toEqual([200])
  })
})
