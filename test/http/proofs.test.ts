import { afterAll, beforeAll, expect, it } from 'vitest'
import { createGuard, type GuardOptions } from '#verify/guard.js'
import { createVerifier, type Verifier } from '#verify/verifier.js'
import { minutes, seconds } from '../../src/lib/durations.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addPasskey, type Passkey, signInWith } from '../support/passkey.js'

const secret = '1d05f8ab36c7e4f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e297'
let latchkey: Latchkey
let verifier: Verifier
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { JWT_SECRET: secret } })
  verifier = createVerifier({ publicUrl: latchkey.url, secret, now: () => latchkey.clock.now().getTime() })
})
afterAll(() => latchkey?.stop())

type App = Awaited<ReturnType<typeof addAuthenticator>>
type Person = { name: string; tab: Browser; app?: App; passkey?: Passkey; passkeyId?: string }

const login = (tab: Browser, { name }: Person) => tab.post('/login', { username: name, password: goodPassword })
const secondStep = async (person: Person, more: object) => {
  person.tab = latchkey.browser()
  await login(person.tab, person)
  return person.tab.post('/api/auth/second-factor', more)
}
const stepUp = ({ tab }: Person, proof: object) => tab.act('/api/auth/step-up', proof)
const withPasskey = async (person: Person) => {
  const { passkey, added } = await addPasskey(person.tab, latchkey.url)
  Object.assign(person, { passkey, passkeyId: added.id })
}
const recoveryCode = ({ app }: Person) => app?.recoveryCodes.pop()

/** Each action returns the status that it got. Before each action, the clock moves on by one step of the app's codes. */
const actions = {
  'adds an app': async (person: Person) => {
    person.app = await addAuthenticator(person.tab, latchkey)
    return 200
  },
  'adds a passkey': async (person: Person) => {
    await withPasskey(person)
    return 200
  },
  'signs in by password': async (person: Person) => {
    person.tab = latchkey.browser()
    return (await login(person.tab, person)).status
  },
  'signs in by password and code': async (person: Person) =>
    (await secondStep(person, { code: person.app?.code() })).status,
  'signs in by password and recovery code': async (person: Person) =>
    (await secondStep(person, { code: recoveryCode(person) })).status,
  'signs in by passkey': async (person: Person) => {
    person.tab = latchkey.browser()
    return person.passkey ? (await signInWith(person.tab, person.passkey)).status : 0
  },
  'signs in on a trusted device': async (person: Person) => {
    await secondStep(person, { code: person.app?.code(), trustDevice: true })
    const trusted = person.tab
    await trusted.act('/api/auth/logout')
    return (await login(trusted, person)).status
  },
  'proves the password': async (person: Person) => (await stepUp(person, { password: goodPassword })).status,
  'proves a code': async (person: Person) => (await stepUp(person, { code: person.app?.code() })).status,
  'proves a recovery code': async (person: Person) => (await stepUp(person, { code: recoveryCode(person) })).status,
  'proves the passkey': async (person: Person) => {
    const { body: options } = await person.tab.act('/api/auth/step-up/passkey/options')
    return (await stepUp(person, { credential: person.passkey?.get(options) })).status
  },
  'removes the app': async ({ tab }: Person) => (await tab.remove('/api/auth/totp')).status,
  'removes the passkey': async ({ tab, passkeyId }: Person) =>
    (await tab.remove(`/api/auth/passkeys/${passkeyId}`)).status,
  'makes new recovery codes': async ({ tab }: Person) => (await tab.act('/api/auth/recovery-codes')).status,
  'waits for 11 minutes': async ({ tab }: Person) => {
    await latchkey.advance(11 * minutes)
    return (await tab.post('/api/auth/refresh')).status
  },
}
type Action = keyof typeof actions

const conditions: [query: string, options: GuardOptions][] = [
  ['factors=2', { factors: 2 }],
  ['fresh=10m', { fresh: '10m' }],
  ['fresh=10m&factors=2', { fresh: '10m', factors: 2 }],
]

/** The answers of the service, asked twice because it remembers a token, and the answer of the guard of an application. */
const answersFor = async ({ tab }: Person) => {
  const answers: number[][] = []
  for (const [query, options] of conditions) {
    const headers = { cookie: tab.jar.header() }
    const decision = await createGuard(verifier, options)({ method: 'GET', path: '/', headers })
    const guarded = 'answer' in decision ? decision.answer.status : 204
    const asked = [await tab.get(`/api/auth/verify?${query}`), await tab.get(`/api/auth/verify?renew=1&${query}`)]
    answers.push([...asked.map(({ status }) => status), guarded])
  }
  return answers
}

const [yes, no] = [204, 403]
/** The answers for two factors, for a recent proof, and for a recent second factor. */
type Expected = { factors: number; fresh: number; both: number }
const nothing = { factors: no, fresh: no, both: no }
const lately = { factors: no, fresh: yes, both: no }
const formerly = { factors: yes, fresh: no, both: no }
const everything = { factors: yes, fresh: yes, both: yes }

/** What a user does, in this order, and what the session meets afterwards. */
const table: [steps: string, Expected][] = [
  ['signs in by password', lately],
  ['signs in by password, waits for 11 minutes', nothing],
  ['signs in by password, waits for 11 minutes, proves the password', lately],
  ['adds an app', lately],
  ['adds an app, signs in by password and code', everything],
  ['adds an app, signs in by password and code, waits for 11 minutes', formerly],
  ['adds an app, signs in by password and code, waits for 11 minutes, proves a code', everything],
  ['adds an app, signs in by password and code, waits for 11 minutes, proves the password', formerly],
  ['adds an app, signs in by password and recovery code', everything],
  ['adds an app, signs in by password and recovery code, makes new recovery codes', everything],
  ['adds an app, waits for 11 minutes, proves a recovery code', everything],
  ['adds an app, signs in on a trusted device', nothing],
  ['adds an app, signs in on a trusted device, proves a code', everything],
  ['adds an app, signs in by password and code, removes the app', lately],
  ['adds an app, signs in by password and recovery code, removes the app', lately],
  ['adds an app, signs in by password and code, removes the app, waits for 11 minutes, proves the password', lately],
  ['adds an app, signs in by password and code, removes the app, adds an app', lately],
  ['adds a passkey, signs in by password', lately],
  ['adds a passkey, signs in by passkey', everything],
  ['adds a passkey, signs in by passkey, waits for 11 minutes', formerly],
  ['adds a passkey, signs in by passkey, waits for 11 minutes, proves the password', formerly],
  ['adds a passkey, signs in by passkey, waits for 11 minutes, proves the passkey', everything],
  ['adds a passkey, signs in by password, waits for 11 minutes, proves the password', nothing],
  ['adds a passkey, proves the passkey, removes the passkey', lately],
  ['adds a passkey, proves the passkey, removes the passkey, waits for 11 minutes, proves the password', lately],
  ['adds a passkey, adds an app, signs in by password and code, waits for 11 minutes, proves the passkey', everything],
  // The code still makes two factors. Its time is not known any more: the last proof may have been that of the removed passkey.
  [
    'adds a passkey, adds an app, signs in by password and code, proves the passkey, removes the passkey',
    { ...everything, both: no },
  ],
  // A passkey that was not used in this session takes nothing from it.
  ['adds a passkey, adds an app, signs in by password and code, removes the passkey', everything],
]

/** Whether a password is refused as a step-up: the account has a second factor. */
const isPasswordRefused = (steps: readonly Action[]) => {
  const last = (...names: Action[]) => Math.max(...names.map((name) => steps.lastIndexOf(name)))
  return last('adds an app') > last('removes the app') || last('adds a passkey') > last('removes the passkey')
}

it.each(table.map((row, number) => [...row, number] as const))('a user who %s', async (text, expected, number) => {
  const name = `user-${number}`
  const person: Person = { name, tab: await latchkey.signedUp(name) }
  const steps = text.split(', ') as Action[]
  for (const [at, step] of steps.entries()) {
    await latchkey.advance(31 * seconds)
    const status = await actions[step](person)
    const isRefused = step === 'proves the password' && isPasswordRefused(steps.slice(0, at))
    expect([step, Math.floor(status / 100)]).toEqual([step, isRefused ? 4 : 2])
  }
  const { factors, fresh, both } = expected
  expect(await answersFor(person)).toEqual([factors, fresh, both].map((status) => [status, status, status]))
  const { headers } = await person.tab.get('/api/auth/verify')
  expect(headers.get('x-auth-factors')).toBe(factors === yes ? '2' : '1')
})

it.each([
  ['an app', 'adds an app', 'signs in by password and code', 'removes the app'],
  ['a passkey', 'adds a passkey', 'proves the passkey', 'removes the passkey'],
] as const)('removing %s refuses every earlier token of the session', async (what, add, prove, remove) => {
  const name = `removed-${what.slice(-3)}`
  const person: Person = { name, tab: await latchkey.signedUp(name) }
  for (const step of [add, prove] as const) {
    await latchkey.advance(31 * seconds)
    await actions[step](person)
  }
  const copy = person.tab.copy()
  const remembered = () => copy.get('/api/auth/verify')
  expect([(await remembered()).status, (await remembered()).headers.get('x-auth-factors')]).toEqual([204, '2'])
  expect(await actions[remove](person)).toBe(204)
  expect((await remembered()).status).toBe(401)
  expect((await copy.post('/api/auth/refresh')).status).toBe(401)
  expect((await person.tab.post('/api/auth/refresh')).status).toBe(200)
})
