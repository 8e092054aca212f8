import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkPasskeys } from '../../src/commands/doctor/accounts.js'
import { minutes } from '../../src/lib/durations.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addPasskey, createPasskey, signInWith } from '../support/passkey.js'

const loginPath = '/api/auth/passkey-login'
const ownPath = '/api/auth/passkeys'
const stepUpPath = '/api/auth/step-up'

let latchkey: Latchkey
beforeAll(async () => {
  const settings = { PROVIDER_B_CLIENT_ID: 'client', PROVIDER_B_CLIENT_SECRET: 'secret' }
  latchkey = await startLatchkey({ settings })
})
afterAll(() => latchkey.stop())

const withPasskey = async (name: string) => {
  const tab = await latchkey.signedUp(name)
  return { tab, ...(await addPasskey(tab, latchkey.url, `${name}'s phone`)) }
}
const login = (tab: Browser, credential: object) => tab.post(loginPath, { credential })
const rename = (tab: Browser, id: unknown, name: string) =>
  tab.send('PATCH', `${ownPath}/${id}`, { name }, { csrf: true })
const passkeysOf = async (tab: Browser) => (await tab.get('/api/auth/factors')).body.passkeys as { id: string }[]
const eventsOf = async (username: string) => {
  const rows = await latchkey.sql.query<{ kind: string; reason: string | null }>(
    `select kind, reason from events
     where user_id = (select id from users where username = $1) and kind not like 'mail_%' order by id`,
    [username],
  )
  return rows.map(({ kind, reason }) => (reason === null ? kind : `${kind} ${reason}`))
}
/** Takes the password away, as for an account of a provider or after an undo. */
const removePassword = (username: string) =>
  latchkey.sql.query('update users set password_hash = null where username = $1', [username])

const refused = { status: 401, code: 'passkey_rejected', cookies: [] as string[] }
const outcome = ({ status, body, setCookies }: Awaited<ReturnType<typeof login>>) => ({
  status,
  code: body.code,
  cookies: setCookies.filter((cookie) => !cookie.startsWith('passkey_')),
})

describe('a step-up with a passkey', () => {
  it('makes the session fresh, with two factors and new tokens', async () => {
    const { tab, passkey } = await withPasskey('olga')
    await latchkey.advance(11 * minutes)
    expect((await tab.get('/api/auth/verify?factors=2')).status).toBe(403)
    const copied = tab.copy()
    const { body: options } = await tab.act(`${stepUpPath}/passkey/options`)
    expect(options.allowCredentials).toMatchObject([{ id: passkey.id }])
    // An authenticator may leave the handle out when it was given a list.
    const proven = await tab.act(stepUpPath, { credential: passkey.get(options, { userHandle: null }) })
    expect(proven.status).toBe(200)
    expect((await tab.get('/api/auth/verify?factors=2&fresh=10m')).status).toBe(204)
    expect((await copied.get('/api/auth/me')).status).toBe(401)
    expect(await eventsOf('olga')).toContain('stepped_up passkey')
  })

  it('takes only a passkey of its user, for a challenge of its session', async () => {
    const { tab, passkey } = await withPasskey('pia')
    const { passkey: foreign } = await withPasskey('quin')
    const options = async (of: Browser) => (await of.act(`${stepUpPath}/passkey/options`)).body
    expect(outcome(await tab.act(stepUpPath, { credential: foreign.get(await options(tab)) }))).toEqual(refused)
    const other = latchkey.browser()
    await signInWith(other, passkey)
    const asked = await options(tab)
    for (const [name, value] of tab.jar) if (name.startsWith('passkey_')) other.jar.set(name, value)
    expect(outcome(await other.act(stepUpPath, { credential: passkey.get(asked) }))).toEqual(refused)
    expect(await eventsOf('pia')).toContain('step_up_failed passkey')
    const plain = await latchkey.signedUp('rita')
    expect((await plain.act(`${stepUpPath}/passkey/options`)).body.methods).toEqual(['password'])
    const both = { password: goodPassword, credential: passkey.get(await options(tab)) }
    expect((await tab.act(stepUpPath, both)).status).toBe(400)
  })
})

describe('removing a passkey', () => {
  it('ends the other sessions and trusted devices, is mailed and recorded', async () => {
    const { tab, passkey, added } = await withPasskey('sara')
    const other = latchkey.browser()
    await signInWith(other, passkey)
    expect((await tab.remove(`${ownPath}/${added.id}`)).status).toBe(204)
    expect((await tab.remove(`${ownPath}/${added.id}`)).status).toBe(404)
    expect((await other.get('/api/auth/me')).status).toBe(401)
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    expect(outcome(await signInWith(latchkey.browser(), passkey))).toEqual(refused)
    expect((await latchkey.mailTo('sara@example.com', /removed/)).text).toContain("sara's phone")
    expect(await eventsOf('sara')).toContain('passkey_removed')
  })

  it('leaves the last way in, also when two are removed at once', async () => {
    const { tab, added } = await withPasskey('tess')
    const { added: second } = await addPasskey(tab, latchkey.url)
    await removePassword('tess')
    // A provider that is no longer configured is no way in.
    await latchkey.sql.query(
      "insert into identities (user_id, provider, subject, linked_at) select id, 'provider_z', '1', now() from users where username = 'tess'",
    )
    expect((await tab.get(stepUpPath)).body.methods).toEqual(['passkey'])
    const answers = await Promise.all([added, second].map(({ id }) => tab.remove(`${ownPath}/${id}`)))
    // The first replaces the tokens of the second.
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 401])
    const [left] = await passkeysOf(tab)
    expect((await tab.remove(`${ownPath}/${left?.id}`)).body.code).toBe('last_way_in')
  })

  it('and a provider at once leaves one of them', async () => {
    const { tab, added } = await withPasskey('uma')
    await removePassword('uma')
    await latchkey.sql.query(
      "insert into identities (user_id, provider, subject, linked_at) select id, 'provider_b', '1', now() from users where username = 'uma'",
    )
    const { users, identityLinks, passkeys } = latchkey.app.rooms
    const [user] = await latchkey.sql.query<{ id: string }>("select id from users where username = 'uma'")
    const unlink = latchkey.sql.transaction(async (sql) => {
      const locked = await users.lock(sql, user?.id ?? '')
      const hasPasskey = (await passkeys.countUsable(sql, user?.id ?? '')) > 0
      return locked && identityLinks.unlinkProvider(sql, locked, 'provider_b', { hasPasskey, isConfigured: () => true })
    })
    const [unlinked, removed] = await Promise.all([unlink, tab.remove(`${ownPath}/${added.id}`)])
    expect([unlinked === undefined, removed.status === 204].filter(Boolean)).toHaveLength(1)
  })

  it('are counted by doctor if they were made for an earlier host', async () => {
    await withPasskey('xena')
    const [all] = await latchkey.sql.query<{ count: number }>('select count(*)::int as count from passkeys')
    const found = (publicUrl: string) => checkPasskeys(latchkey.sql, { publicUrl })
    const count = all?.count ?? 0
    const { publicUrl } = latchkey.config
    const { hostname } = new URL(publicUrl)
    expect(await found(publicUrl)).toEqual({ level: 'ok', says: `${count} passkeys, for ${hostname}` })
    await latchkey.sql.query("update passkeys set relying_party = 'old.example' where name = 'xena''s phone'")
    const warned = (says: string) => ({ level: 'warning', says: expect.stringContaining(says) })
    expect(await found(publicUrl)).toEqual(warned(`1 of ${count} passkeys cannot be used`))
    expect(await found('https://new.example')).toEqual(warned(`${count} of ${count} passkeys cannot be used`))
  })

  it('of another user is not found', async () => {
    const { added } = await withPasskey('vera')
    const other = await latchkey.signedUp('wilma')
    expect((await other.remove(`${ownPath}/${added.id}`)).status).toBe(404)
    expect((await rename(other, added.id, 'mine')).status).toBe(404)
  })
})

it('a passkey without a name is named after its device, in the language of the page', async () => {
  const tab = await latchkey.signedUp('nora')
  const { body: options } = await tab.act(`${ownPath}/options`)
  const headers = {
    'accept-language': 'de',
    'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36',
  }
  const made = { credential: createPasskey(latchkey.url).create(options) }
  expect((await tab.send('POST', ownPath, made, { csrf: true, headers })).body.name).toBe('Chrome unter Linux')
})
