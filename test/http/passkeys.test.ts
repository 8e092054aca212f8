import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addPasskey, createPasskey, type Faults, type Passkey, signInWith } from '../support/passkey.js'

const loginPath = '/api/auth/passkey-login'
const ownPath = '/api/auth/passkeys'
const stepUpPath = '/api/auth/step-up'

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey()
})
afterAll(() => latchkey.stop())

const withPasskey = async (name: string) => {
  const tab = await latchkey.signedUp(name)
  return { tab, ...(await addPasskey(tab, latchkey.url, `${name}'s phone`)) }
}
const optionsFor = async (tab: Browser, path = loginPath) => (await tab.post(`${path}/options`)).body
const login = (tab: Browser, credential: object) => tab.post(loginPath, { credential })
const rename = (tab: Browser, id: unknown, name: string) =>
  tab.send('PATCH', `${ownPath}/${id}`, { name }, { csrf: true })
const passkeysOf = async (tab: Browser) => (await tab.get('/api/auth/factors')).body.passkeys as { id: string }[]
const sessionsOf = (username: string) =>
  latchkey.sql.query<{ methods: string[] }>(
    'select methods from sessions where user_id = (select id from users where username = $1) order by id',
    [username],
  )
const eventsOf = async (username: string) => {
  const rows = await latchkey.sql.query<{ kind: string; reason: string | null }>(
    `select kind, reason from events
     where user_id = (select id from users where username = $1) and kind not like 'mail_%' order by id`,
    [username],
  )
  return rows.map(({ kind, reason }) => (reason === null ? kind : `${kind} ${reason}`))
}
const refused = { status: 401, code: 'passkey_rejected', cookies: [] as string[] }
const outcome = ({ status, body, setCookies }: Awaited<ReturnType<typeof login>>) => ({
  status,
  code: body.code,
  cookies: setCookies.filter((cookie) => !cookie.startsWith('passkey_')),
})

describe('a passkey', () => {
  it('is added by a fresh session, named, shown, mailed and recorded', async () => {
    const tab = await latchkey.signedUp('ada')
    const { body: options } = await tab.act(`${ownPath}/options`)
    expect(options).toMatchObject({
      rp: { id: 'localhost' },
      user: { name: 'ada', displayName: 'ada' },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
      excludeCredentials: [],
    })
    const passkey = createPasskey(latchkey.url)
    const added = await tab.act(ownPath, { credential: passkey.create(options) })
    expect(added.status).toBe(201)
    expect(added.body).toEqual({
      id: expect.any(String),
      name: 'Unknown device',
      createdAt: expect.any(String),
      lastUsedAt: null,
      synced: true,
    })
    expect(await passkeysOf(tab)).toEqual([added.body])
    const mail = await latchkey.mailTo('ada@example.com', /passkey/i)
    expect(mail.text).toContain('Unknown device')
    // The browser does not offer to make a second one on the same device.
    const again = await tab.act(`${ownPath}/options`)
    expect(again.body.excludeCredentials).toEqual([
      { id: passkey.id, type: 'public-key', transports: ['internal', 'hybrid'] },
    ])
    expect((await rename(tab, added.body.id, ' Work\u202e laptop ')).body.name).toBe('Work laptop')
    expect((await rename(tab, added.body.id, '\u200b')).body.code).toBe('bad_request')
    expect(await eventsOf('ada')).toEqual(expect.arrayContaining(['passkey_added', 'passkey_renamed']))
    await latchkey.advance(11 * minutes)
    expect((await tab.act(`${ownPath}/options`)).body).toMatchObject({
      code: 'fresh_sign_in_required',
      methods: ['passkey'],
    })
    expect((await tab.remove(`${ownPath}/${added.body.id}`)).body.code).toBe('fresh_sign_in_required')
  })

  it('has the name of the password manager that made it, unless the user typed one', async () => {
    const tab = await latchkey.signedUp('kim')
    const add = async (more: object = {}) => {
      const { body: options } = await tab.act(`${ownPath}/options`)
      const passkey = createPasskey(latchkey.url, 'P-256', 'd548826e79b4db40a3d811116f7e8349')
      return (await tab.act(ownPath, { credential: passkey.create(options), ...more })).body.name
    }
    expect([await add(), await add({ name: 'Mine' })]).toEqual(['Bitwarden', 'Mine'])
  })

  it('signs in without a name, as two factors, in every browser that has it', async () => {
    const { tab, passkey } = await withPasskey('bea')
    const [first, second] = [latchkey.browser(), latchkey.browser()]
    const signedIn = await signInWith(first, passkey)
    expect([signedIn.status, (signedIn.body.user as { username: string }).username]).toEqual([200, 'bea'])
    expect((await first.get('/api/auth/verify?factors=2&fresh=10m')).status).toBe(204)
    // A synced one: its counter is 0 in both.
    expect((await signInWith(second, passkey)).status).toBe(200)
    expect((await sessionsOf('bea')).map(({ methods }) => methods)).toEqual([
      ['pwd', 'passkey'],
      ['passkey'],
      ['passkey'],
    ])
    expect(await passkeysOf(tab)).toMatchObject([{ lastUsedAt: expect.any(String), synced: true }])
    expect(await eventsOf('bea')).toContain('signed_in passkey')
  })

  it('gives the same options to everyone', async () => {
    const { tab } = await withPasskey('cleo')
    const [known, unknown] = [await optionsFor(tab), await optionsFor(latchkey.browser())]
    expect({ ...known, challenge: '' }).toEqual({ ...unknown, challenge: '' })
    expect(known).toMatchObject({ rpId: 'localhost', allowCredentials: [], userVerification: 'required' })
    expect(Buffer.from(String(known.challenge), 'base64url')).toHaveLength(32)
    expect(known.challenge).not.toBe(unknown.challenge)
  })

  it('works in several tabs of a browser at once, and each challenge once', async () => {
    const { passkey } = await withPasskey('dora')
    const tab = latchkey.browser()
    const asked = await Promise.all(Array.from({ length: 10 }, () => optionsFor(tab)))
    const credential = passkey.get(asked[0])
    const answers = await Promise.all(Array.from({ length: 5 }, () => login(tab.copy(), credential)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401])
    expect((await login(tab, passkey.get(asked[9]))).status).toBe(200)
    for (let more = 0; more < 20; more += 1) await optionsFor(tab)
    expect(tab.jar.header().match(/passkey_/g)?.length).toBeLessThanOrEqual(13)
  })

  const wrong: Record<string, Faults> = {
    'a challenge that was made up': { challenge: Buffer.alloc(32, 7).toString('base64url') },
    'another origin': { origin: 'https://localhost.example.com' },
    'another relying party': { rpId: 'example.com' },
    'the type of a registration': { type: 'webauthn.create' },
    'no user verification': { userVerified: false },
    'the handle of another user': { userHandle: Buffer.from('somebody').toString('base64url') },
    'no user handle': { userHandle: null },
    'a page in a frame of another site': { crossOrigin: true },
    'the signature of another key': { otherKey: true },
  }
  it('is refused with one answer, whatever is wrong', async () => {
    const { passkey } = await withPasskey('eve')
    for (const [what, faults] of Object.entries(wrong))
      expect(outcome(await signInWith(latchkey.browser(), passkey, faults)), what).toEqual(refused)
    expect(outcome(await signInWith(latchkey.browser(), createPasskey(latchkey.url))), 'unknown').toEqual(refused)
    // A challenge for another browser, and one that is too old.
    const [one, other] = [latchkey.browser(), latchkey.browser()]
    const credential = passkey.get(await optionsFor(one))
    expect(outcome(await login(other, credential))).toEqual(refused)
    const late = passkey.get(await optionsFor(one))
    await latchkey.advance(5 * minutes)
    expect(outcome(await login(one, late))).toEqual(refused)
    expect(await sessionsOf('eve')).toHaveLength(1)
    expect((await signInWith(one, passkey)).status).toBe(200)
  })

  it('is refused when a challenge of one ceremony is answered in another', async () => {
    const { tab, passkey } = await withPasskey('fay')
    const ofLogin = await optionsFor(tab)
    const { body: ofStepUp } = await tab.act(`${stepUpPath}/passkey/options`)
    const { body: ofRegistration } = await tab.act(`${ownPath}/options`)
    expect(outcome(await login(tab, passkey.get(ofStepUp)))).toEqual(refused)
    expect(outcome(await login(tab, passkey.get({ ...ofRegistration, rpId: 'localhost' })))).toEqual(refused)
    expect(outcome(await tab.act(stepUpPath, { credential: passkey.get(ofLogin) }))).toEqual(refused)
    const made = createPasskey(latchkey.url).create({ ...ofLogin, rp: { id: 'localhost' } })
    expect(outcome(await tab.act(ownPath, { credential: made }))).toEqual(refused)
    // The answer of a registration at a sign-in, and the reverse.
    const registered = createPasskey(latchkey.url).create({ ...(await optionsFor(tab)), rp: { id: 'localhost' } })
    expect(outcome(await login(tab, registered))).toEqual(refused)
    const { body: more } = await tab.act(`${ownPath}/options`)
    expect(outcome(await tab.act(ownPath, { credential: passkey.get({ ...more, rpId: 'localhost' }) }))).toEqual(
      refused,
    )
    expect(await passkeysOf(tab)).toHaveLength(1)
  })

  it('is not added with anything wrong, nor twice, nor for another session', async () => {
    const { tab, passkey } = await withPasskey('gwen')
    const options = async () => (await tab.act(`${ownPath}/options`)).body
    const faults: Faults[] = [{ origin: 'https://evil.example' }, { rpId: 'evil.example' }, { userVerified: false }]
    for (const fault of faults) {
      const credential = createPasskey(latchkey.url).create(await options(), fault)
      expect(outcome(await tab.act(ownPath, { credential }))).toEqual(refused)
    }
    const resident = createPasskey(latchkey.url).create(await options())
    const credential = { ...resident, clientExtensionResults: { credProps: { rk: false } } }
    expect(outcome(await tab.act(ownPath, { credential }))).toEqual(refused)
    expect(outcome(await tab.act(ownPath, { credential: passkey.create(await options()) }))).toEqual(refused)
    const other = await latchkey.signedUp('hope')
    const asked = await options()
    for (const [name, value] of tab.jar) if (name.startsWith('passkey_')) other.jar.set(name, value)
    const taken = createPasskey(latchkey.url).create(asked)
    expect(outcome(await other.act(ownPath, { credential: taken }))).toEqual(refused)
    expect(await passkeysOf(tab)).toHaveLength(1)
    expect(await passkeysOf(other)).toEqual([])
  })

  it('whose counter does not grow may be a copy, and is refused', async () => {
    const { passkey } = await withPasskey('iris')
    const tab = latchkey.browser()
    passkey.count(7)
    expect((await signInWith(tab, passkey)).status).toBe(200)
    for (const counter of [7, 6, 0])
      expect(outcome(await signInWith(latchkey.browser(), passkey, { counter }))).toEqual(refused)
    const both = await Promise.all([1, 2].map(() => signInWith(latchkey.browser(), passkey, { counter: 8 })))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
  })

  it('of a disabled or deleted user is refused like any other', async () => {
    const { passkey } = await withPasskey('joan')
    const [user] = await latchkey.sql.query<{ id: string }>("select id from users where username = 'joan'")
    await latchkey.sql.transaction((sql) => latchkey.app.rooms.userChanges.disable(sql, user?.id ?? ''))
    expect(outcome(await signInWith(latchkey.browser(), passkey))).toEqual(refused)
    await latchkey.sql.query('delete from users where id = $1', [user?.id])
    expect(outcome(await signInWith(latchkey.browser(), passkey))).toEqual(refused)
  })

  it('of another host is no way in any more', async () => {
    const { tab, passkey } = await withPasskey('kate')
    await latchkey.sql.query(
      "update passkeys set relying_party = 'old.example' where user_id = (select id from users where username = 'kate')",
    )
    expect(outcome(await signInWith(latchkey.browser(), passkey))).toEqual(refused)
    expect((await tab.get(stepUpPath)).body.methods).toEqual(['password'])
    expect(await passkeysOf(tab)).toHaveLength(1)
  })
})

describe('with two-step sign-in, a passkey', () => {
  it('takes the place of the code, and finishes a sign-in that waits for it', async () => {
    const { tab, passkey } = await withPasskey('lena')
    await addAuthenticator(tab, latchkey)
    const waiting = latchkey.browser()
    const asked = await waiting.post('/login', { username: 'lena', password: goodPassword })
    expect([asked.status, asked.body.methods]).toEqual([202, ['passkey', 'totp', 'recovery_code']])
    const signedIn = await signInWith(waiting, passkey)
    expect([signedIn.status, signedIn.setCookies.join()]).toEqual([200, expect.stringContaining('challenge=;')])
    expect((await waiting.get('/api/auth/second-factor')).status).toBe(401)
    expect((await sessionsOf('lena')).map(({ methods }) => methods)).toContainEqual(['pwd', 'passkey'])
    expect((await signInWith(latchkey.browser(), passkey)).status).toBe(200)
  })

  it('of another user does not finish it', async () => {
    const { tab } = await withPasskey('mona')
    await addAuthenticator(tab, latchkey)
    const { passkey } = await withPasskey('nora')
    const waiting = latchkey.browser()
    await waiting.post('/login', { username: 'mona', password: goodPassword })
    const signedIn = await signInWith(waiting, passkey)
    expect((signedIn.body.user as { username: string }).username).toBe('nora')
    expect((await waiting.get('/api/auth/second-factor')).status).toBe(200)
    expect((await sessionsOf('nora')).map(({ methods }) => methods)).toContainEqual(['passkey'])
  })
})

describe('what is no passkey', () => {
  const garbage = (size: number) => Buffer.alloc(size, 0x5f).toString('base64url')
  const spoilt = (credential: ReturnType<Passkey['get']> | ReturnType<Passkey['create']>, part: object) => ({
    ...credential,
    response: { ...credential.response, ...part },
  })

  it('gets 400 or 401, never more, and is not in the log', async () => {
    const { tab, passkey } = await withPasskey('xena')
    const mark = Buffer.from('not for the log').toString('base64url')
    const parts = ['', 'A', mark, garbage(3), garbage(2_900), garbage(7_600), '=', 'ä', '\0', 'a+b/', ' ']
    const names = ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle']
    const statuses = new Set<number>()
    for (const part of parts) {
      for (const name of names) {
        const signing = passkey.get(await optionsFor(tab))
        statuses.add((await login(tab, spoilt(signing, { [name]: part }))).status)
      }
      const { body: options } = await tab.act(`${ownPath}/options`)
      const made = spoilt(createPasskey(latchkey.url).create(options), { attestationObject: part })
      statuses.add((await tab.act(ownPath, { credential: made })).status)
    }
    const bodies = [{}, { credential: null }, { credential: 'x' }, { credential: { response: {} } }, { credential: [] }]
    for (const body of bodies) statuses.add((await tab.post(loginPath, body)).status)
    expect([...statuses].sort()).toEqual([400, 401])
    expect(latchkey.logLines.join()).not.toContain(mark)
    expect(latchkey.logLines.join()).not.toContain(passkey.id)
  })
})
