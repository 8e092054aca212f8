import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adminPath } from '#contract/admin/admin-bodies.js'
import { minutes } from '../../src/lib/durations.js'
import { joinGroup, signedUpInGroup } from '../support/administrators.js'
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
    await joinGroup(latchkey, tab, 'new', 'admins')
    await later({ tab }, 6 * minutes)
    const begun = await tab.act('/api/auth/totp')
    const app = createAuthenticator(String(begun.body.secret), latchkey)
    expect((await tab.act('/api/auth/totp/confirm', { code: app.code(-30_000) })).status).toBe(200)
    expect(codeOf(await tab.act('/api/auth/recovery-codes'))).toBe(refused)
    expect((await tab.act('/api/auth/step-up', { code: app.code() })).status).toBe(200)
    expect((await tab.act('/api/auth/recovery-codes')).status).toBe(200)
  })
})
