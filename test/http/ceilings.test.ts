import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { isRefused } from '#contract/outcome.js'
import { limiterKey, limiterNames } from '../../src/http/limiters.js'
import { operatorClient } from '../../src/http/request-origin.js'

import { hours, minutes } from '../../src/lib/durations.js'
import { readEmail } from '../../src/users/names.js'
import { addApplication } from '../support/applications.js'
import { parametersFor } from '../support/authorization-requests.js'
import { postForm } from '../support/authorizations.js'
import type { Answer } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { createMailLogins, otherNetwork } from '../support/mail-login.js'
import { signInWith, startProviders, startService, type TestProviders } from '../support/providers/test-providers.js'

let providers: TestProviders
let latchkey: Latchkey
let logins: ReturnType<typeof createMailLogins>
beforeAll(async () => {
  providers = await startProviders()
  latchkey = await startService(providers, {
    MAIL_SIGN_IN: 'on',
    TOTAL_REGISTRATION_LIMIT: '4/1h',
    TOTAL_MAIL_LIMIT: '5/1h',
    TOTAL_WAITING_LIMIT: '2/10m',
  })
  logins = createMailLogins(latchkey)
})
afterAll(async () => {
  await latchkey?.stop()
  await providers?.close()
})
afterEach(async () => {
  for (const name of limiterNames.filter((each) => each.startsWith('total_')))
    await latchkey.app.platform.cache.forget(limiterKey(name, 'all'))
})

let turn = 0
const addressOf = (name: string) => `${name}@example.com`
const tooMany = [429, { error: 'Too many requests', message: 'Please slow down' }]
const seenOf = ({ status, body }: Answer) => [status, body]
const register = (email: string, body: object = {}) => {
  turn += 1
  const form = { username: `newcomer${turn}`, email, password: goodPassword, ...body }
  return latchkey.browser().post('/api/auth/register', form, { address: otherNetwork() })
}
const reset = (email: string) => latchkey.browser().post('/reset-password', { email }, { address: otherNetwork() })
const invite = async (address: string) => {
  const email = readEmail(address)
  const made = isRefused(email) ? email : await latchkey.app.rooms.invitations.invite(email, operatorClient('root'))
  if (isRefused(made)) throw new Error(`${address} could not be invited`)
  return made.token
}
/** The kinds of the mails to an address, oldest first. */
const mailsTo = async (address: string) =>
  (
    await latchkey.sql.query<{ kind: string }>('select kind from outgoing_mail where recipient = $1 order by id', [
      address,
    ])
  ).map(({ kind }) => kind)
const reached = async () =>
  (
    await latchkey.sql.query<{ reason: string; ip: string }>(
      `select reason, ip from events where kind = 'ceiling_reached' order by id`,
    )
  ).map(({ reason, ip }) => `${reason}${ip}`)

describe('new accounts of the whole service', () => {
  it('stop for everybody alike, whether the address has an account or not, but not for the invited', async () => {
    await latchkey.signedUp('owner')
    const token = await invite(addressOf('guest'))
    await invite(addressOf('social'))
    const weak = await Promise.all(Array.from({ length: 5 }, () => register(addressOf('weak'), { password: 'short' })))
    expect(weak.map(({ body }) => body.code)).toEqual(Array.from({ length: 5 }, () => 'password_rejected'))
    for (const name of ['one', 'two', 'three']) expect((await register(addressOf(name))).status).toBe(202)
    providers.issuer.become({ email: addressOf('early') })
    expect((await signInWith(latchkey.browser(), 'provider-a')).location).toBe('/dashboard')

    for (const name of ['four', 'owner', 'one']) {
      const refused = await register(addressOf(name))
      expect([name, ...seenOf(refused)]).toEqual([name, ...tooMany])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60)
    }
    providers.issuer.become({ sub: 'late', email: addressOf('late') })
    expect((await signInWith(latchkey.browser(), 'provider-a')).location).toBe(
      '/login?error=provider_a_auth_failed&reason=too_many_requests',
    )
    providers.issuer.become({ sub: 'social', email: addressOf('social') })
    expect((await signInWith(latchkey.browser(), 'provider-a')).location).toBe('/dashboard')
    expect((await register(addressOf('guest'), { invite: token })).status).toBe(202)
    const { tab, code } = await logins.mailed(addressOf('byletter'))
    expect((await logins.confirm(tab, { code })).body.next).toBe('registration')
    const form = { username: 'byletter' }
    expect(seenOf(await tab.post('/api/auth/mail-login/registration', form))).toEqual(tooMany)
    expect((await latchkey.browser().post('/login', { username: 'owner', password: goodPassword })).status).toBe(200)
    expect(await reached()).toEqual(['total_registrations'])

    await latchkey.advance(1 * hours + 1)
    expect((await register(addressOf('four'))).status).toBe(202)
  })
})

describe('mails of the whole service', () => {
  it('stop for registrations first, then for resets; answers stay the same, and notices and codes go on', async () => {
    const owner = await latchkey.signedUp('letters')
    for (const name of ['m1', 'm2', 'm3', 'm4']) expect((await register(addressOf(name))).status).toBe(202)
    expect([await mailsTo(addressOf('m3')), await mailsTo(addressOf('m4'))]).toEqual([['verify-email'], []])
    for (let round = 0; round < 2; round += 1) expect((await reset(addressOf('letters'))).status).toBe(202)
    expect(await mailsTo(addressOf('letters'))).toEqual(['reset-password', 'reset-password'])

    const answers = [await reset(addressOf('letters')), await reset(addressOf('nobody'))]
    expect(answers.map(seenOf)).toEqual([202, 202].map((status) => [status, answers[0]?.body]))
    const asked = [
      await logins.ask(latchkey.browser(), addressOf('letters')),
      await logins.ask(latchkey.browser(), addressOf('nobody')),
    ]
    expect(asked.map(seenOf)).toEqual([202, 202].map((status) => [status, asked[0]?.body]))
    expect(await mailsTo(addressOf('letters'))).toHaveLength(2)

    expect((await owner.act('/api/auth/email', { email: addressOf('moved') })).status).toBe(202)
    expect(await mailsTo(addressOf('moved'))).toEqual(['confirm-email'])
    const changed = { currentPassword: goodPassword, newPassword: 'quiet Meadow 77 lantern!' }
    expect((await owner.act('/api/auth/change-password', changed)).status).toBe(204)
    // The owner's own browser still gets a code.
    await logins.mailed(addressOf('letters'), owner)
    expect((await mailsTo(addressOf('letters'))).slice(2)).toEqual([
      'email-change-asked',
      'password-changed',
      'mail-sign-in',
    ])
    expect((await reached()).slice(-2)).toEqual(['total_newcomer_mails', 'total_mails'])
  })
})

describe('sign-ins that wait in the whole service', () => {
  it('stop for strangers, each kind by itself, and not for who is signed in or known', async () => {
    const { id } = await addApplication(latchkey, { name: 'Wiki' })
    const tv = await addApplication(latchkey, {
      name: 'Tv',
      kind: 'native',
      deviceFlow: true,
      home: 'tv.example:/',
      redirectAddresses: ['tv.example:/cb'],
    })
    const owner = await latchkey.signedUp('waiting')
    const authorize = async (tab = latchkey.browser()) => {
      const { body } = await tab.post(
        '/api/auth/authorization',
        { parameters: parametersFor(id) },
        { address: otherNetwork() },
      )
      const { error, code } = Object.fromEntries(new URL(String(body.location ?? 'x:/')).searchParams)
      return code === undefined ? (error ?? body.next) : 'code'
    }
    const begin = () =>
      postForm(latchkey.url, '/api/auth/device', { client_id: tv.id }, { 'x-forwarded-for': otherNetwork() })
    const expected = ['sign_in', 'sign_in', 'temporarily_unavailable', 'temporarily_unavailable']
    for (const answer of expected) expect(await authorize()).toBe(answer)
    expect(await authorize(owner)).toBe('code')

    const devices = []
    for (let round = 0; round < 3; round += 1) devices.push(await begin())
    expect(devices.map(({ status, body }) => body.error ?? status)).toEqual([200, 200, 'temporarily_unavailable'])
    expect(Number(devices[2]?.headers.get('retry-after'))).toBeGreaterThan(0)

    for (const name of ['waiting', 'stranger'])
      expect((await logins.ask(latchkey.browser(), addressOf(name))).status).toBe(202)
    for (const name of ['waiting', 'stranger', 'another'])
      expect(seenOf(await logins.ask(latchkey.browser(), addressOf(name)))).toEqual(tooMany)
    expect((await logins.ask(owner, addressOf('waiting'))).status).toBe(202)
    expect((await reached()).slice(-3)).toEqual([
      'total_authorization_requests',
      'total_device_requests',
      'total_mail_sign_ins',
    ])
    await latchkey.advance(10 * minutes + 1)
    expect(await authorize()).toBe('sign_in')
  })
})

it('one network reaches none of these limits alone, however many addresses it has', async () => {
  const limited = await startLatchkey({ settings: { TOTAL_WAITING_LIMIT: '2000/10m' } })
  const tv = await addApplication(limited, {
    name: 'Tv',
    kind: 'native',
    deviceFlow: true,
    home: 'tv.example:/',
    redirectAddresses: ['tv.example:/cb'],
  })
  const begin = async (address: string) =>
    (await postForm(limited.url, '/api/auth/device', { client_id: tv.id }, { 'x-forwarded-for': address })).status
  const addresses = Array.from({ length: 101 }, (_, at) => `2001:db8:1:${at.toString(16)}::1`)
  const statuses = await Promise.all(addresses.map(begin))
  expect(statuses.filter((status) => status !== 200)).toEqual([429])
  expect(await begin('2001:db8:2::1')).toBe(200)
  const key = limiterKey('total_device_requests', 'all')
  const { remaining } = await limited.app.platform.cache.reserve(key, { maximum: 2000, window: 10 * minutes })
  expect(remaining).toBe(2000 - 102)
  expect(await limited.sql.query("select 1 from events where kind = 'ceiling_reached'")).toEqual([])
  await limited.stop()
})
