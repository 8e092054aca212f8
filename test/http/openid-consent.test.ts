import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../../src/platform/database/database.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type OpenidApplication, openidApplication } from '../support/openid-application.js'
import { useApplication } from '../support/used-applications.js'
import { overtaken } from '../support/waits-for-lock.js'

let latchkey: Latchkey
let asking: OpenidApplication
beforeAll(async () => {
  latchkey = await startLatchkey()
  asking = await openidApplication(latchkey, { name: 'Asking', consent: 'ask' })
})
afterAll(() => latchkey.stop())

const agree = async (tab: Browser, changed: Record<string, string> = {}) =>
  asking.redeem(await asking.answer(tab, await asking.ask(tab, changed), 'continue'))

const consentsOf = async (username: string) =>
  (
    await latchkey.sql.query<{ scopes: string[] }>(
      'select scopes from consents as c join users as u on u.id = c.user_id where u.username = $1',
      [username],
    )
  ).map(({ scopes }) => scopes)

describe('a claim that is asked for by its name', () => {
  const claims = JSON.stringify({ id_token: { email: null }, userinfo: { groups: { essential: true } } })
  const shared = ['openid', 'email', 'groups']

  it('needs the consent that its scope needs, and is shown and kept as that', async () => {
    const tab = await latchkey.signedUp('claimed')
    await agree(tab)
    expect(asking.told(await asking.ask(tab, { prompt: 'none' })).code).toEqual(expect.any(String))
    expect(asking.told(await asking.ask(tab, { prompt: 'none', claims })).error).toBe('consent_required')
    const asked = await asking.ask(tab, { claims })
    expect([asked.state.next, asked.state.scopes]).toEqual(['consent', shared])
    const tokens = await asking.redeem(await asking.answer(tab, asked, 'continue'))
    expect(tokens.claims).toMatchObject({ email: 'claimed@example.com' })
    expect(tokens.claims).not.toHaveProperty('groups')
    expect(await consentsOf('claimed')).toEqual([shared.toSorted()])
    const [used] = await latchkey.sql.query('select scopes from application_sessions where application_id = $1', [
      asking.application.id,
    ])
    expect(used).toEqual({ scopes: shared })
    expect(asking.told(await asking.ask(tab, { prompt: 'none', claims })).code).toEqual(expect.any(String))
  })

  it('is shown to the user of a native application', async () => {
    const addresses = { home: 'app.x:/', redirectAddresses: ['app.x:/cb'], logoutAddresses: [] }
    const native = await openidApplication(latchkey, { name: 'Phone', kind: 'native', ...addresses })
    const { state } = await native.ask(await latchkey.signedUp('phone'), { claims })
    expect([state.next, state.scopes]).toEqual(['consent', shared])
  })

  it('is not in the tokens of a refresh for fewer scopes', async () => {
    const both = JSON.stringify({ id_token: { email: null }, userinfo: { email: null } })
    const tokens = await agree(await latchkey.signedUp('narrow'), { scope: 'openid profile', claims: both })
    const whole = await asking.refresh(tokens)
    expect([whole.claims.email, (await asking.userInfo(whole)).email]).toEqual(Array(2).fill('narrow@example.com'))
    const fewer = await asking.refresh(whole, 'openid')
    expect(fewer.claims).not.toHaveProperty('email')
    expect(await asking.userInfo(fewer)).toEqual({ sub: tokens.claims.sub })
  })
})

describe('a consent that is withdrawn at the same moment', () => {
  it('gives no code: the user is asked again', async () => {
    const tab = await latchkey.signedUp('quitter')
    await agree(tab)
    const withdraw = (sql: Sql, userId: string) => sql.query('delete from consents where user_id = $1', [userId])
    const silent = await overtaken(latchkey, 'quitter', () => asking.ask(tab, { prompt: 'none' }), withdraw)
    expect(asking.told(silent).error).toBe('consent_required')
    await agree(tab)
    const asked = await overtaken(latchkey, 'quitter', () => asking.ask(tab), withdraw)
    expect(asked.state.next).toBe('consent')
    expect(asking.told(await asking.answer(tab, asked, 'continue')).code).toEqual(expect.any(String))
  })

  it('waits for a code that is being made in another session, and ends its access', async () => {
    const tab = await latchkey.signedUp('waiter')
    await agree(tab)
    const other = latchkey.browser()
    await other.post('/login', { username: 'waiter', password: goodPassword })
    const { id } = asking.application
    const ended = await overtaken(
      latchkey,
      'waiter',
      () => tab.remove(`/api/auth/applications/${id}`),
      (sql) => useApplication(sql, other, id),
    )
    expect(ended.status).toBe(204)
    expect((await other.get('/api/auth/applications')).body.applications).toEqual([])
    expect(await consentsOf('waiter')).toEqual([])
  })
})
