import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isRefused } from '#contract/outcome.js'
import { toSignIn } from '../../src/providers/attempts.js'
import { factsAtStart, type SessionFacts, wholeFacts } from '../../src/sessions/session-facts.js'
import { readEmail } from '../../src/users/names.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { secretsIn } from '../support/mail-login.js'
import { addPasskey, signInWith as signInWithPasskey } from '../support/passkey.js'
import { signInWith, startProviders, type TestProviders } from '../support/providers/test-providers.js'
import { unchecked } from '../support/session-facts.js'
import { addUser } from '../support/sign-up-directly.js'

// What a session carries from its sign-in passes through several hands. Each property that is added is asked for here.

let providers: TestProviders
let latchkey: Latchkey
beforeAll(async () => {
  providers = await startProviders()
  const terms = { TERMS_URL: 'https://example.com/terms', TERMS_VERSION: '1' }
  latchkey = await startLatchkey({ settings: { ...providers.settings, ...terms, MAIL_SIGN_IN: 'on' } })
})
afterAll(async () => {
  await latchkey.stop()
  await providers.close()
})

const client = { ip: '192.0.2.1', userAgent: 'test', language: 'en' as const }
/** No fact has the value with which a sign-in begins, so one that is left behind shows. */
const facts: SessionFacts = {
  methods: ['pwd', 'otp'],
  freshSince: 1_700_000_000_000,
  provider: 'provider_a',
  trustedDevice: randomUUID(),
}

const newUser = (username: string) =>
  addUser(latchkey.app, { username, email: `${username}@example.com`, password: goodPassword })
const waiting = async (username: string) => ({
  ...({ user: await newUser(username), by: { way: 'password' }, passwordHash: null, link: undefined } as const),
  ...{ facts, client, isOpened: false, token: undefined },
})
const find = async (token: string | undefined) => (await latchkey.app.rooms.pendingSignIns.find(token ?? ''))?.facts

const askForMail = async (address: string, given: { carried?: SessionFacts; before?: string; withheld?: boolean }) => {
  const { carried = facts, before, withheld = false } = given
  const email = readEmail(address)
  if (isRefused(email)) throw new Error(email.refused)
  const { mailSignIns } = latchkey.app.rooms
  return mailSignIns.begin({ email, formerBrowserToken: before, withheld, facts: carried }, client)
}
const tokenMailedTo = async (address: string) => secretsIn((await latchkey.mailTo(address, /login#mail=/)).text).token

/** Everything that holds the facts while the user is away, and how they come back from it. */
const carriers: Record<string, () => Promise<SessionFacts | undefined>> = {
  'an attempt at a provider': async () => {
    const { attempts } = latchkey.app.rooms
    const visit = { client, trustedDevices: [], knownDevices: [], earlierSession: undefined, facts }
    const opened = attempts.open(attempts.seal(attempts.begin('provider_a', '/', toSignIn(visit))))
    return opened?.purpose.kind === 'sign_in' ? wholeFacts(opened.purpose.facts) : undefined
  },
  'a sign-in that waits for its second step': async () => {
    const signIn = { ...(await waiting('ada')), kind: 'second_factor' } as const
    return find(await latchkey.app.rooms.pendingSignIns.begin(latchkey.sql, signIn))
  },
  'a sign-in that waits for an answer': async () => {
    const signIn = { ...(await waiting('bea')), kind: 'terms' } as const
    return find(await latchkey.app.rooms.pendingSignIns.waitForAnswer(latchkey.sql, signIn))
  },
  'a sign-in that has waited before': async () => {
    const { pendingSignIns } = latchkey.app.rooms
    const signIn = await waiting('cy')
    const first = { ...signIn, facts: factsAtStart({}), kind: 'second_factor' } as const
    const token = await pendingSignIns.begin(latchkey.sql, first)
    return find(await pendingSignIns.waitForAnswer(latchkey.sql, { ...signIn, kind: 'terms', token }))
  },
  'a mail to an account': async () => {
    await newUser('dan')
    const browserToken = await askForMail('dan@example.com', {})
    const found = await latchkey.app.rooms.mailSignIns.findByToken(await tokenMailedTo('dan@example.com'), browserToken)
    return isRefused(found) ? undefined : found.facts
  },
  'a mail that goes on, because no other may be sent': async () => {
    await newUser('eve')
    const before = await askForMail('eve@example.com', { carried: factsAtStart({}) })
    const browserToken = await askForMail('eve@example.com', { before, withheld: true })
    const found = await latchkey.app.rooms.mailSignIns.findByToken(await tokenMailedTo('eve@example.com'), browserToken)
    return isRefused(found) ? undefined : found.facts
  },
  'a mail to an address without an account': async () => {
    const { mailSignIns } = latchkey.app.rooms
    const browserToken = await askForMail('fay@example.com', {})
    const found = await mailSignIns.findByToken(await tokenMailedTo('fay@example.com'), browserToken)
    const proven = isRefused(found) ? undefined : await mailSignIns.prove(found.id)
    const email = readEmail('fay@example.com')
    if (isRefused(email)) throw new Error(email.refused)
    const chosen = { email, username: { username: 'fay', key: 'fay' }, name: null }
    const registered = await mailSignIns.register(proven ?? '', chosen, undefined)
    return isRefused(registered) ? undefined : registered.facts
  },
}

it('has no fact with the value of the beginning, so that nothing is carried by chance', () => {
  for (const [name, value] of Object.entries(facts)) expect(factsAtStart({}), name).not.toMatchObject({ [name]: value })
})

it.each(Object.keys(carriers))('%s carries every fact', async (name) => {
  expect(await carriers[name]?.()).toEqual(facts)
})

type Row = { methods: string[]; provider: string | null; trusted_device: string | null; proven_at: Date }
const rowOf = async (sid: unknown) => {
  const [row] = await latchkey.sql.query<Row>(
    'select methods, provider, trusted_device, authenticated_at as proven_at from sessions where id = $1',
    [sid],
  )
  return row
}

it('the row of a session has every fact', async () => {
  const { sessions } = latchkey.app.rooms
  const user = unchecked(await newUser('gil'))
  const begin = (carried: SessionFacts) =>
    latchkey.sql.transaction((sql) => sessions.beginSession(sql, user, carried, client))
  const { methods, provider, trustedDevice: trusted_device } = facts
  expect(await rowOf((await begin(facts))?.sessionId)).toMatchObject({ methods, provider, trusted_device })
  const proven_at = new Date(Number(facts.freshSince))
  expect(await rowOf((await begin({ ...facts, trustedDevice: null }))?.sessionId)).toMatchObject({ proven_at })
})

const claimsOf = (tab: Browser) =>
  JSON.parse(Buffer.from((tab.jar.get('access_token') ?? '').split('.')[1] ?? '', 'base64url').toString())
const agree = async (tab: Browser) =>
  expect((await tab.post('/api/auth/second-factor', { terms: '1' })).status).toBe(200)
const comeBackAs = async (sub: string) => {
  providers.issuer.become({ sub, email: `${sub}@example.com` })
  const tab = latchkey.browser()
  await signInWith(tab, 'provider-a')
  return tab
}
/** The user has signed in at the provider before, and is asked for the terms once more. */
const askedAgain = async (sub: string, prepare: (tab: Browser) => Promise<unknown>) => {
  const tab = await comeBackAs(sub)
  await agree(tab)
  await prepare(tab)
  await latchkey.sql.query('delete from agreed_terms')
  await latchkey.advance(60_000)
}

it('a session keeps its facts from the provider to the change of the password', async () => {
  await newUser('hal')
  const apps: Awaited<ReturnType<typeof addAuthenticator>>[] = []
  await askedAgain('hal', async (tab) => apps.push(await addAuthenticator(tab, latchkey)))
  const [app] = apps
  const tab = await comeBackAs('hal')
  expect((await tab.post('/api/auth/second-factor', { code: app?.code() })).body.next).toBe('terms')
  await agree(tab)
  const { sid } = claimsOf(tab)
  const row = await rowOf(sid)
  expect(row).toMatchObject({ methods: ['provider', 'otp'], provider: 'provider_a', trusted_device: null })
  const kept = async () => {
    const { methods, provider, trusted_device } = (await rowOf(sid)) ?? {}
    expect({ methods, provider, trusted_device }).toEqual({
      methods: row?.methods,
      provider: 'provider_a',
      trusted_device: null,
    })
    expect(claimsOf(tab)).toMatchObject({ sid, amr: methods })
  }
  await kept()
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  await kept()
  await latchkey.advance(60_000)
  expect((await tab.act('/api/auth/step-up', { code: app?.code() })).status).toBe(200)
  await kept()
  expect((await tab.send('PATCH', '/api/auth/account', { name: 'Hal' }, { csrf: true })).status).toBe(200)
  expect(claimsOf(tab)).toMatchObject({ name: 'Hal' })
  await kept()
  const passwords = { currentPassword: goodPassword, newPassword: 'amber-Kettle-37-window' }
  expect((await tab.act('/api/auth/change-password', passwords)).status).toBe(204)
  await kept()
})

it('a session that began at a provider is known as such after a passkey and a question, too', async () => {
  const keys: Awaited<ReturnType<typeof addPasskey>>[] = []
  await askedAgain('ida', async (tab) => {
    await addAuthenticator(tab, latchkey)
    keys.push(await addPasskey(tab, latchkey.url))
  })
  const tab = await comeBackAs('ida')
  const [key] = keys
  if (!key) throw new Error('There is no passkey')
  expect((await signInWithPasskey(tab, key.passkey)).body.next).toBe('terms')
  await agree(tab)
  expect(await rowOf(claimsOf(tab).sid)).toMatchObject({ methods: ['provider', 'passkey'], provider: 'provider_a' })
})
