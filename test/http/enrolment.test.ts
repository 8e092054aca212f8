import { afterAll, beforeAll, expect, it } from 'vitest'
import { refuse } from '#contract/outcome.js'
import { minutes, seconds } from '../../src/lib/durations.js'
import { onlyAddress } from '../providers/provider-setup.js'
import { addAuthenticator, createAuthenticator, replaceAuthenticator } from '../support/authenticator.js'
import { type Enrolling, enrolment, path, startEnrolling } from '../support/enrolling.js'
import { goodPassword, type Latchkey } from '../support/latchkey.js'
import { createMailLogins } from '../support/mail-login.js'
import { createPasskey, signInWith as signInWithPasskey } from '../support/passkey.js'
import { sessionCookiesOf, signInWith, usersOf } from '../support/providers/test-providers.js'

let setup: Enrolling
let latchkey: Latchkey
beforeAll(async () => {
  setup = await startEnrolling()
  latchkey = setup.latchkey
})
afterAll(() => setup.stop())

// Comes first: the provider's clock is the real one, and the other tests move ours.
it('leads a new account of a provider, and one that is to be linked, to the enrolment first', async () => {
  await setup.providers.nextTurn()
  const tab = latchkey.browser()
  const answer = await signInWith(tab, 'provider-a', '?returnTo=/reports')
  expect([answer.location, sessionCookiesOf(answer)]).toEqual(['/second-factor?returnTo=%2Freports', []])
  const name = setup.providers.nameOf('ada')
  await tab.post(`${path}/mail`)
  await tab.post(path, { mailedCode: await setup.mailedCode(name) })
  const app = await setup.begin(tab)
  expect((await setup.confirm(tab, app.code())).status).toBe(200)
  expect(await latchkey.sql.query('select methods from sessions where second_factor_required')).toContainEqual({
    methods: ['provider', 'otp'],
  })

  const linked = setup.providers.nameOf('bob')
  await setup.added(linked)
  setup.providers.providers.github.become({ login: 'bob-there' }, onlyAddress(`${linked}@example.com`))
  const linking = latchkey.browser()
  expect((await signInWith(linking, 'provider-b')).location).toMatch(/^\/second-factor/)
  const linkOf = async () => (await usersOf(latchkey)).find(({ username }) => username === linked)?.provider_b_id
  expect(await linkOf()).toBe(null)
  await linking.post(`${path}/mail`)
  await linking.post(path, { mailedCode: await setup.mailedCode(linked) })
  const second = await setup.begin(linking)
  expect((await setup.confirm(linking, second.code())).status).toBe(200)
  expect(await linkOf()).toBe('583231')
})

it('leads from a sign-in over a mailed code and an app to the session', async () => {
  await setup.registered('ada')
  const { tab, answer } = await setup.login('ada')
  expect([answer.status, answer.body]).toEqual([202, enrolment])
  expect(sessionCookiesOf(answer)).toEqual([])
  expect(answer.setCookies.some((cookie) => cookie.startsWith('challenge='))).toBe(true)
  const waiting = await tab.get(path)
  expect(waiting.body).toEqual({
    ...enrolment,
    mailedCodeRequired: true,
    linkRequired: false,
    passwordRequired: false,
    trustDevice: false,
    trustedFor: null,
    expiresAt: expect.any(String),
  })

  // Nothing but the mail works now.
  for (const refused of [
    await tab.act('/api/auth/totp'),
    await setup.confirm(tab, '123456'),
    await tab.post(path, { code: '123456' }),
  ])
    expect([refused.status, refused.body.code]).toEqual([403, 'mailed_code_required'])
  expect((await tab.post(`${path}/mail`)).status).toBe(202)
  expect((await tab.post(path, { mailedCode: await setup.mailedCode('ada') })).body).toEqual(enrolment)
  expect((await tab.get(path)).body.mailedCodeRequired).toBe(false)
  expect((await tab.post(path, { code: '123456' })).body.code).toBe('no_totp_begun')

  expect((await tab.post('/api/auth/totp')).body.code).toBe('invalid_csrf_token')
  const app = await setup.begin(tab)
  expect((await setup.confirm(tab, 'abc')).body.code).toBe('wrong_second_factor')
  const finished = await setup.confirm(tab, app.code())
  expect([finished.status, Object.keys(finished.body)]).toEqual([
    200,
    ['recoveryCodes', 'user', 'accessTokenExpiresAt'],
  ])
  expect(finished.body.recoveryCodes).toHaveLength(10)
  expect(sessionCookiesOf(finished)).toHaveLength(2)
  expect(tab.jar.get('challenge')).toBe(undefined)
  expect((await tab.get('/api/auth/verify?factors=2')).status).toBe(204)
  expect((await tab.get('/api/auth/factors')).body).toMatchObject({ totp: { createdAt: expect.any(String) } })
  const { events } = (await tab.get('/api/auth/events')).body as { events: { kind: string }[] }
  const kinds = events.map(({ kind }) => kind)
  expect(kinds).toEqual(expect.arrayContaining(['registered', 'totp_added']))
  expect(kinds.filter((kind) => kind === 'signed_in')).toHaveLength(1)
  await setup.mailTo('ada@example.com', /sign-in for .* is on/)

  await latchkey.advance(30 * seconds)
  const again = await setup.login('ada')
  expect(again.answer.body).toEqual({ next: 'second_factor', methods: ['totp', 'recovery_code'] })
  expect((await again.tab.post(`${path}/mail`)).body.code).toBe('not_enrolling')
  expect((await again.tab.post(path, { mailedCode: 'AAAA-AAAA' })).body.code).toBe('not_enrolling')
  expect((await again.tab.act('/api/auth/totp')).status).toBe(401)
  expect((await again.tab.post(path, { code: app.code() })).status).toBe(200)
})

it('asks for no further code after a registration or a reset: their mail was the proof', async () => {
  const { tab, answer } = await setup.registered('ann')
  expect([answer.status, answer.body, sessionCookiesOf(answer)]).toEqual([202, enrolment, []])
  expect((await tab.get(path)).body).toMatchObject({ next: 'enrolment', mailedCodeRequired: false })
  // Only this browser, and only this sign-in: the password alone still needs the mail.
  const stolen = (await setup.login('ann')).tab
  expect((await stolen.get(path)).body.mailedCodeRequired).toBe(true)
  expect((await stolen.act('/api/auth/totp')).body.code).toBe('mailed_code_required')

  await tab.post('/api/auth/reset-password', { email: 'ann' })
  const token = /#token=([\w-]+)/.exec((await setup.mailTo('ann@example.com', /reset-password/)).text)?.[1]
  const owner = latchkey.browser()
  const password = 'Another-Granite-52-lamp'
  const reset = await owner.post('/api/auth/reset-password/confirm', { token, password, signIn: true })
  expect([reset.status, reset.body, sessionCookiesOf(reset)]).toEqual([202, enrolment, []])
  // Sign-ins that waited before the reset are over.
  expect((await tab.get(path)).status).toBe(401)
  const app = await setup.begin(owner)
  const finished = await setup.confirm(owner, app.code())
  expect([finished.status, sessionCookiesOf(finished).length]).toEqual([200, 2])
  expect((await owner.get('/api/auth/verify?factors=2')).status).toBe(204)
})

it('gives nothing else to a browser whose enrolment is open', async () => {
  await setup.added('bea')
  const tab = await setup.opened('bea')
  const changes = [
    'recovery-codes',
    'step-up',
    'step-up/mail',
    'change-password',
    'logout-all',
    'providers/provider-a/link',
  ]
  for (const each of changes) expect([each, (await tab.act(`/api/auth/${each}`, {})).status]).toEqual([each, 401])
  for (const each of ['me', 'account', 'factors', 'sessions', 'events', 'verify'])
    expect([each, (await tab.get(`/api/auth/${each}`)).status]).toEqual([each, 401])
  expect((await tab.post('/api/auth/refresh')).status).toBe(401)
  expect((await tab.remove('/api/auth/totp')).status).toBe(401)
  expect(await setup.sessionsOf('bea')).toEqual([])
})

it('ends after five wrong mailed codes, however many mails there were', async () => {
  await setup.added('cy')
  const { tab } = await setup.login('cy')
  await tab.post(`${path}/mail`)
  const code = await setup.mailedCode('cy')
  expect((await tab.post(path, { mailedCode: 'wrong' })).body.code).toBe('wrong_mailed_code')
  await tab.post(`${path}/mail`)
  const wrong = await Promise.all(Array.from({ length: 6 }, () => tab.copy().post(path, { mailedCode: 'wrong' })))
  expect(wrong.filter(({ body }) => body.code === 'wrong_mailed_code')).toHaveLength(3)
  expect(wrong.filter(({ body }) => body.code === 'challenge_over')).toHaveLength(3)
  const over = await tab.post(path, { mailedCode: code })
  expect([over.status, over.body.code, tab.jar.get('challenge')]).toEqual([401, 'challenge_over', undefined])
  const failed = await latchkey.sql.query(
    `select distinct reason from events join users as u on u.id = user_id where kind = 'second_factor_failed' and u.username = 'cy'`,
  )
  expect(failed).toContainEqual({ reason: 'mailed_code' })
  for (const body of [{}, { code: '123456', mailedCode: 'x' }, { mailedCode: 'x'.repeat(33) }, { mailedCode: 7 }])
    expect((await (await setup.login('cy')).tab.post(path, body)).status).toBe(400)
})

it('sends five mails an hour to an account, whichever sign-in asks for them, and a code opens its own sign-in only', async () => {
  await setup.added('dot')
  const { tab } = await setup.login('dot')
  await tab.post(`${path}/mail`)
  const code = await setup.mailedCode('dot')
  const other = (await setup.login('dot')).tab
  expect((await other.post(path, { mailedCode: code })).body.code).toBe('mailed_code_void')
  const mails = await Promise.all(Array.from({ length: 6 }, () => other.post(`${path}/mail`)))
  expect(mails.map(({ status }) => status).sort()).toEqual([202, 202, 202, 202, 429, 429])
  const limited = mails.find(({ status }) => status === 429)
  expect(limited?.body).toEqual({ error: 'Too many requests', message: 'Please slow down' })
  expect((await tab.post(path, { mailedCode: code })).status).toBe(202)
})

it('sends mails again after a reset: the person who used them up knew the old password', async () => {
  await setup.added('ed')
  const { tab } = await setup.login('ed')
  for (const status of [202, 202, 202, 202, 202, 429]) expect((await tab.post(`${path}/mail`)).status).toBe(status)
  await tab.post('/api/auth/reset-password', { email: 'ed@example.com' })
  const token = /#token=([\w-]+)/.exec((await setup.mailTo('ed@example.com', /reset-password/)).text)?.[1]
  const password = 'Another-Granite-52-lamp'
  expect((await tab.post('/api/auth/reset-password/confirm', { token, password })).status).toBe(204)
  expect((await tab.post('/login', { username: 'ed', password })).body).toEqual(enrolment)
  expect((await tab.post(`${path}/mail`)).status).toBe(202)
  const [mails] = await latchkey.sql.query(
    `select count(*) from outgoing_mail where kind = 'enrolment-code' and recipient = 'ed@example.com'`,
  )
  expect(mails).toEqual({ count: 6 })
})

it('is over when the password, the email or the factors change, and after ten minutes', async () => {
  const { users, operatorChanges } = latchkey.app.rooms
  const actorFor = async (name: string) => ({
    userId: (await users.findByLogin(name))?.id ?? '',
    client: { ip: '', userAgent: '' },
  })
  const setEmail = async (name: string) => {
    const email = { email: `${name}@example.org`, key: `${name}@example.org` }
    return operatorChanges.setEmail(await actorFor(name), { from: `${name}@example.com`, email, isFinal: false })
  }
  const resetPassword = async (name: string) => {
    const tab = latchkey.browser()
    await tab.post('/api/auth/reset-password', { email: `${name}@example.com` })
    const { text } = await setup.mailTo(`${name}@example.com`, /reset-password/)
    const token = /#token=([\w-]+)/.exec(text)?.[1]
    return tab.post('/api/auth/reset-password/confirm', { token, password: 'Another-Granite-52-lamp' })
  }
  const cases: [string, (username: string) => Promise<unknown>][] = [
    ['password', resetPassword],
    ['expired-password', async (name) => operatorChanges.expirePassword(await actorFor(name))],
    ['email', setEmail],
    ['disabled', async (name) => operatorChanges.disable(await actorFor(name))],
    ['other-browser', async (name) => addAuthenticator(await setup.signedInBefore(name), latchkey)],
    ['late', () => latchkey.advance(10 * minutes + 1 * seconds)],
  ]
  for (const [name, change] of cases) {
    await setup.added(name)
    const tab = await setup.opened(name)
    const app = await setup.begin(tab)
    await change(name)
    const over = await setup.confirm(tab, app.code())
    expect([name, over.status, over.body.code]).toEqual([name, 401, 'challenge_over'])
    expect(sessionCookiesOf(over)).toEqual([])
    expect([name, await setup.factorsOf(name)]).toEqual([name, name === 'other-browser' ? 1 : 0])
  }
})

it('adds one factor and begins one session, even if several confirm at the same time', async () => {
  await setup.added('eli')
  const signedIn = await setup.signedInBefore('eli')
  const tab = await setup.opened('eli')
  const app = await setup.begin(tab)
  const code = app.code()
  const copies = Array.from({ length: 5 }, () => tab.copy())
  const answers = await Promise.all(copies.map((each) => setup.confirm(each, code)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.every(({ status }) => status < 500)).toBe(true)
  expect(await setup.sessionsOf('eli')).toEqual([{ methods: ['pwd', 'otp'] }])
  expect((await signedIn.get('/api/auth/me')).status).toBe(401)
})

it('lets sessions from before the switch continue, and adds the factor to the account that the CSRF token is bound to', async () => {
  await setup.added('fay')
  await setup.added('gus')
  const tab = await setup.signedInBefore('fay')
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  // The browser has a session of one account now, and a sign-in of the other that waits.
  await setup.opened('gus', tab)
  expect((await tab.get('/api/auth/me')).body.user).toMatchObject({ username: 'fay' })
  const forChallenge = async () => String((await tab.get('/api/auth/csrf-token?for=challenge')).body.csrfToken)
  const post = async (url: string, body?: object) =>
    tab.post(url, body, { headers: { 'x-csrf-token': await forChallenge() } })
  const ofGus = createAuthenticator(String((await post('/api/auth/totp')).body.secret), latchkey)
  const ofFay = await setup.begin(tab)
  expect((await post('/api/auth/logout')).body.code).toBe('invalid_csrf_token')
  expect((await setup.confirm(tab, ofFay.code())).body).toEqual({ recoveryCodes: expect.any(Array) })
  const finished = await post('/api/auth/totp/confirm', { code: ofGus.code() })
  expect(finished.body).toMatchObject({ user: { username: 'gus' } })
  expect((await tab.get('/api/auth/csrf-token?for=session')).status).toBe(400)
})

it('enrols a passkey, which is then the second step after the password, and can be removed only beside another factor', async () => {
  await setup.added('ivy')
  const waiting = (await setup.login('ivy')).tab
  expect((await waiting.act('/api/auth/passkeys/options')).body.code).toBe('mailed_code_required')
  const tab = await setup.opened('ivy')
  const passkey = createPasskey(latchkey.url)
  const options = (await tab.act('/api/auth/passkeys/options')).body
  // Bound to the sign-in that asked for it.
  const elsewhere = tab.copy()
  elsewhere.jar.set('challenge', waiting.jar.get('challenge') ?? '')
  const foreign = await elsewhere.act('/api/auth/passkeys', { credential: passkey.create(options) })
  expect(foreign.status).toBe(403)
  const credential = passkey.create((await tab.act('/api/auth/passkeys/options')).body)
  const added = await tab.act('/api/auth/passkeys', { credential, name: 'Key' })
  expect([added.status, added.body]).toMatchObject([201, { name: 'Key', user: { username: 'ivy' } }])
  expect(sessionCookiesOf(added)).toHaveLength(2)
  expect(await setup.sessionsOf('ivy')).toEqual([{ methods: ['pwd', 'passkey'] }])
  expect((await waiting.post(`${path}/mail`)).body.code).toBe('challenge_over')
  for (const { body } of await Promise.all([0, 1].map(() => tab.remove(`/api/auth/passkeys/${added.body.id}`))))
    expect(body.code).toBe('last_factor')

  const again = await setup.login('ivy')
  expect(again.answer.body).toEqual({ next: 'second_factor', methods: ['passkey'] })
  expect((await again.tab.get(path)).body).toMatchObject({ methods: ['passkey'], trustDevice: false })
  expect((await again.tab.act('/api/auth/totp')).status).toBe(401)
  expect((await again.tab.post(path, { code: '123456' })).status).toBe(401)
  expect((await signInWithPasskey(again.tab, passkey)).status).toBe(200)
  expect(await setup.sessionsOf('ivy')).toEqual([{ methods: ['pwd', 'passkey'] }, { methods: ['pwd', 'passkey'] }])

  // The password alone makes no session fresh, so it is not enough to change the email.
  await latchkey.advance(10 * minutes + 2 * seconds)
  const byPassword = await tab.act('/api/auth/step-up', { password: goodPassword })
  expect([byPassword.status, byPassword.body.methods]).toEqual([403, ['passkey']])
  expect((await tab.act('/api/auth/email', { email: 'ivy@example.org' })).body.code).toBe('fresh_sign_in_required')
  const proof = passkey.get((await tab.act('/api/auth/step-up/passkey/options')).body)
  expect((await tab.act('/api/auth/step-up', { credential: proof })).status).toBe(200)

  await addAuthenticator(tab, latchkey)
  // The first of two removals at once replaces the tokens of the second.
  const both = await Promise.all([tab.remove('/api/auth/totp'), tab.remove(`/api/auth/passkeys/${added.body.id}`)])
  expect(both.map(({ status }) => status).sort()).toEqual([204, 401])
  const removals = [await tab.remove('/api/auth/totp'), await tab.remove(`/api/auth/passkeys/${added.body.id}`)]
  expect(removals.map(({ body }) => body.code)).toContain('last_factor')
})

it('keeps the last factor, also in two requests at once, and a trusted device skips no enrolment', async () => {
  await setup.added('hal')
  const tab = await setup.opened('hal')
  const app = await setup.begin(tab)
  await setup.confirm(tab, app.code())
  for (const { status, body } of await Promise.all([tab.remove('/api/auth/totp'), tab.remove('/api/auth/totp')]))
    expect([status, body.code]).toEqual([409, 'last_factor'])

  const other = await replaceAuthenticator(tab, latchkey)
  await latchkey.advance(30 * seconds)
  const trusting = (await setup.login('hal')).tab
  expect((await trusting.post(path, { code: other.code(), trustDevice: true })).status).toBe(200)
  expect((await setup.login('hal', trusting.copy())).answer.status).toBe(200)
  // As if it had been overlooked when the app was removed.
  const [device] = await latchkey.sql.query<{ id: string; user_id: string }>(
    'select id, user_id from trusted_devices where hash = sha256($1::bytea)',
    [Buffer.from(trusting.jar.get('trusted_device') ?? '')],
  )
  expect(device).toBeDefined()
  await latchkey.sql.query('delete from totp_secrets where user_id = $1', [device?.user_id])
  expect((await setup.login('hal', trusting.copy())).answer.body).toEqual(enrolment)
  const inserted = await latchkey.sql.query(
    `insert into sessions
       (id, user_id, token_hash, generation, issued_at, rotated_at, expires_at, ip, user_agent, created_at, last_used_at,
        trusted_device, second_factor_required, methods, authenticated_at, signed_in_as)
     values (gen_random_uuid(), $2, '\\x00', 0, now(), now(), now() + interval '1 day', '', '', now(), now(), $1, true,
       '{pwd}', now(), 'hal')
     returning id`,
    [device?.id, device?.user_id],
  )
  expect(inserted).toEqual([])
})

it('after a sign-in by mail asks for the password and no second mail, and for nothing if there is none', async () => {
  const { mailed, confirm } = createMailLogins(latchkey)
  await setup.added('mailed')
  const first = await mailed('mailed@example.com')
  const { tab } = first
  expect((await confirm(tab, { code: first.code })).body).toEqual(enrolment)
  expect((await tab.get(path)).body).toMatchObject({ mailedCodeRequired: false, passwordRequired: true })
  const before = latchkey.mails().length
  // A mailed code is compared with nothing, so a wrong one uses up no try.
  const byMail = (by: typeof tab) => [
    () => by.post(`${path}/mail`),
    ...Array.from({ length: 6 }, () => () => by.post(path, { mailedCode: 'AAAA-AAAA' })),
  ]
  const adding = [() => tab.act('/api/auth/totp'), () => tab.act('/api/auth/passkeys/options')]
  for (const send of [...byMail(tab), ...adding]) {
    const refused = await send()
    expect([refused.status, refused.body.code]).toEqual([403, 'current_password_required'])
  }
  const prove = (password: string) => tab.post(`${path}/password`, { password })
  expect((await prove('wrong')).body.code).toBe('wrong_current_password')
  expect((await tab.act('/api/auth/totp')).status).toBe(403)
  // A password that was never compared uses up no try.
  for (let times = 0; times < 6; times += 1) {
    const busy = async () => refuse('busy')
    const client = { ip: '192.0.2.1', userAgent: '' }
    expect(await latchkey.app.rooms.enrolments.enterPassword(tab.jar.get('challenge') ?? '', busy, client)).toEqual({
      refused: 'busy',
    })
  }
  const opened = await prove(goodPassword)
  expect([opened.status, opened.body]).toEqual([202, enrolment])
  expect((await tab.get(path)).body).toMatchObject({ mailedCodeRequired: false, passwordRequired: false })
  expect((await setup.confirm(tab, (await setup.begin(tab)).code())).status).toBe(200)
  expect((await setup.sessionsOf('mailed')).at(-1)).toEqual({ methods: ['mail', 'otp'] })
  expect(
    latchkey
      .mails()
      .slice(0, -before)
      .some(({ subject }) => subject.startsWith('Your code for')),
  ).toBe(false)

  const fresh = await mailed('without-password@example.com')
  await confirm(fresh.tab, { code: fresh.code })
  const created = await fresh.tab.post('/api/auth/mail-login/registration', { username: 'without-password' })
  expect([created.status, created.body]).toEqual([202, enrolment])
  expect((await fresh.tab.get(path)).body).toMatchObject({ mailedCodeRequired: false, passwordRequired: false })
  for (const send of [...byMail(fresh.tab), () => fresh.tab.post(`${path}/password`, { password: goodPassword })]) {
    const refused = await send()
    expect([refused.status, refused.body.code]).toEqual([409, 'enrolment_open'])
  }
  expect((await setup.confirm(fresh.tab, (await setup.begin(fresh.tab)).code())).status).toBe(200)
})
