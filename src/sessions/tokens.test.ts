import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hasAccessClaims, longestClaimsOf } from '#contract/access-claims.js'
import { createStoppedClock } from '../../test/support/clock.js'
import { minutes } from '../lib/durations.js'
import { longestIssuer } from '../settings/settings.js'
import { createTokens } from './tokens.js'

const secret = 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const older = '0c7d19e6a85f32b4d60ea97c15fb83d2704e9b6a8df13c5207ee49b16ad8f350'
const issuer = 'https://app.example.com'
const clock = createStoppedClock()
const tokens = createTokens({ secrets: [secret], clock, issuer })

const now = () => Math.floor(clock.now().getTime() / 1000)
const userId = '0190c0de-0000-7000-8000-000000000001'
const sid = '0190c0de-0000-7000-8000-000000000002'
const claims = () => ({ userId, username: 'ada', sid, iat: now(), exp: now() + 900 })
const refreshClaims = () => ({ ...claims(), gen: 3, auth_time: now() })
const ada = { email: 'ada@example.com', name: 'Ada Lovelace', amr: ['pwd'], groups: [] }
const accessClaims = () => ({ ...refreshClaims(), ...ada })

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const decode = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString())
const genuine = () => tokens.signAccess(accessClaims())
const genuineHeader = () => decode(genuine().split('.')[0])
const genuineClaims = () => decode(genuine().split('.')[1])
const elsewhere = 'https://app.example.org'

/** Signed with our own secret, whatever it says: so a refusal is not about the signature. */
const forge = (header: object, payload: object, hash = 'sha256') => {
  const signed = `${encode(header)}.${encode(payload)}`
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`
}

describe('access tokens', () => {
  it('carries its claims, names its kind and lives until it expires', () => {
    const token = genuine()
    const added = { sub: userId, iss: issuer, aud: issuer }
    expect(tokens.readAccess(token)).toEqual({ ...accessClaims(), ...added })
    expect(genuineHeader()).toMatchObject({ alg: 'HS256', typ: 'at+jwt', kid: expect.any(String) })
    clock.advance(15 * minutes - 1500)
    expect(tokens.readAccess(token)).toBeDefined()
    clock.advance(1500)
    expect(tokens.readAccess(token)).toBeUndefined()
  })

  it('a forgery with the right header, claims and secret would pass, so the refusals below are about what they name', () => {
    expect(tokens.readAccess(forge(genuineHeader(), genuineClaims()))).toBeDefined()
  })

  it.each<[string, () => string]>([
    ['nothing', () => ''],
    ['garbage', () => 'a.b.c'],
    ['a cut signature', () => genuine().slice(0, -1)],
    ['an altered payload', () => genuine().replace(/\.[^.]+\./, `.${encode({ ...genuineClaims(), userId: 'eve' })}.`)],
    ['no signature', () => `${genuine().split('.').slice(0, 2).join('.')}.`],
    ['alg none', () => `${encode({ ...genuineHeader(), alg: 'none' })}.${encode(genuineClaims())}.`],
    ['alg nOnE with a signature', () => forge({ ...genuineHeader(), alg: 'nOnE' }, genuineClaims())],
    ['alg HS384', () => forge({ ...genuineHeader(), alg: 'HS384' }, genuineClaims(), 'sha384')],
    ['alg HS512', () => forge({ ...genuineHeader(), alg: 'HS512' }, genuineClaims(), 'sha512')],
    ['alg RS256', () => forge({ ...genuineHeader(), alg: 'RS256' }, genuineClaims())],
    ['an embedded key', () => forge({ ...genuineHeader(), jwk: { kty: 'oct', k: 'AA' } }, genuineClaims())],
    ['a key address', () => forge({ ...genuineHeader(), jku: 'https://example.com/keys' }, genuineClaims())],
    ['a certificate address', () => forge({ ...genuineHeader(), x5u: 'https://example.com/cert' }, genuineClaims())],
    ['an unknown critical header', () => forge({ ...genuineHeader(), crit: ['x'], x: 1 }, genuineClaims())],
    ['an unknown kid', () => forge({ ...genuineHeader(), kid: 'other' }, genuineClaims())],
    ['a path as kid', () => forge({ ...genuineHeader(), kid: '../../dev/null' }, genuineClaims())],
    ['SQL as kid', () => forge({ ...genuineHeader(), kid: "' or 1=1 --" }, genuineClaims())],
    ['typ JWT', () => forge({ ...genuineHeader(), typ: 'JWT' }, genuineClaims())],
    ['no exp', () => forge(genuineHeader(), { ...genuineClaims(), exp: undefined })],
    ['exp as text', () => forge(genuineHeader(), { ...genuineClaims(), exp: String(now() + 900) })],
    ['an exp that has passed', () => forge(genuineHeader(), { ...genuineClaims(), exp: now() - 1 })],
    ['nbf in the future', () => forge(genuineHeader(), { ...genuineClaims(), nbf: now() + 60 })],
    ['no user', () => forge(genuineHeader(), { ...genuineClaims(), userId: undefined })],
    ['a user id that is a number', () => forge(genuineHeader(), { ...genuineClaims(), userId: 1 })],
    ['a user id that is no UUID', () => forge(genuineHeader(), { ...genuineClaims(), userId: 'ada' })],
    ['a user id with a NUL', () => forge(genuineHeader(), { ...genuineClaims(), userId: `${userId.slice(1)}\0` })],
    [
      'a user id in another spelling',
      () => forge(genuineHeader(), { ...genuineClaims(), userId: `urn:uuid:${userId}` }),
    ],
    ['a session id that is no UUID', () => forge(genuineHeader(), { ...genuineClaims(), sid: 'x' })],
    ['a lone surrogate in the name', () => forge(genuineHeader(), { ...genuineClaims(), username: 'a\ud800' })],
    ['a NUL in the name', () => forge(genuineHeader(), { ...genuineClaims(), username: 'a\0' })],
    ['a name of 65 characters', () => forge(genuineHeader(), { ...genuineClaims(), username: 'x'.repeat(65) })],
    ['no name', () => forge(genuineHeader(), { ...genuineClaims(), username: '' })],
    ['an exp beyond every date', () => forge(genuineHeader(), { ...genuineClaims(), exp: 1e15 })],
    ['an exp with a fraction', () => forge(genuineHeader(), { ...genuineClaims(), exp: now() + 900.5 })],
    ['an iat before 1970', () => forge(genuineHeader(), { ...genuineClaims(), iat: -1 })],
    ['another issuer', () => createTokens({ secrets: [secret], clock, issuer: elsewhere }).signAccess(accessClaims())],
    ['another audience', () => forge(genuineHeader(), { ...genuineClaims(), aud: elsewhere })],
    ['another user as subject', () => forge(genuineHeader(), { ...genuineClaims(), sub: sid })],
    ['an empty issuer', () => forge(genuineHeader(), { ...genuineClaims(), iss: '' })],
    ['no issuer', () => forge(genuineHeader(), { ...genuineClaims(), iss: undefined })],
    ['no audience', () => forge(genuineHeader(), { ...genuineClaims(), aud: undefined })],
    ['no subject', () => forge(genuineHeader(), { ...genuineClaims(), sub: undefined })],
    ['no issuer, audience and subject', () => forge(genuineHeader(), accessClaims())],
    ['no generation', () => forge(genuineHeader(), { ...genuineClaims(), gen: undefined })],
    ['no methods', () => forge(genuineHeader(), { ...genuineClaims(), amr: undefined })],
    ['no time of proof', () => forge(genuineHeader(), { ...genuineClaims(), auth_time: undefined })],
    ['no email', () => forge(genuineHeader(), { ...genuineClaims(), email: undefined })],
    ['methods that are no list', () => forge(genuineHeader(), { ...genuineClaims(), amr: 'pwd' })],
    ['methods that are no words', () => forge(genuineHeader(), { ...genuineClaims(), amr: ['a b'] })],
    ['groups that are no list', () => forge(genuineHeader(), { ...genuineClaims(), groups: 'admins' })],
    ['groups that are no names', () => forge(genuineHeader(), { ...genuineClaims(), groups: ['a,b'] })],
    ['too many groups', () => forge(genuineHeader(), { ...genuineClaims(), groups: Array(17).fill('a') })],
    ['a time of proof as text', () => forge(genuineHeader(), { ...genuineClaims(), auth_time: '1' })],
    ['a NUL in the email', () => forge(genuineHeader(), { ...genuineClaims(), email: 'a\0' })],
    ['a refresh token', () => tokens.signRefresh(refreshClaims())],
    ['padding', () => `${genuine()}=`],
    ['a space', () => `${genuine()} `],
    ['more than 2 KB', () => forge(genuineHeader(), { ...genuineClaims(), username: 'x'.repeat(2048) })],
    ['another secret', () => createTokens({ secrets: [older], clock, issuer }).signAccess(accessClaims())],
  ])('refuses %s', (_, make) => {
    expect(tokens.readAccess(make())).toBeUndefined()
  })

  const readBack = (more: object) => tokens.readAccess(tokens.signAccess({ ...accessClaims(), ...more }))

  it('has the first 64 characters of a name, and none for a user without one', () => {
    expect(readBack({ name: '😀'.repeat(200) })?.name).toBe('😀'.repeat(64))
    expect(readBack({ name: `${'x'.repeat(63)} and more` })?.name).toBe('x'.repeat(63))
    expect(readBack({ name: null })).not.toHaveProperty('name')
  })

  it('never exceeds 1,800 bytes: the longest values leave room for a part of the name', () => {
    const longest = {
      ...accessClaims(),
      username: '😀'.repeat(64),
      email: `${'a'.repeat(64)}@${'b'.repeat(189)}`,
      name: '😀'.repeat(100),
      gen: 2 ** 31 - 2,
      amr: ['pwd', 'provider', 'otp', 'rec', 'passkey', 'mail'],
      groups: [],
      mfa_time: now(),
    }
    const names = ['https://app.example.com', `https://${'c'.repeat(longestIssuer - 8)}`].map((address) => {
      const there = createTokens({ secrets: [secret], clock, issuer: address })
      const token = there.signAccess(longest)
      expect(token.length).toBeLessThanOrEqual(1800)
      expect(there.readAccess(token)).toMatchObject({ username: longest.username, email: longest.email, iss: address })
      return Array.from(there.readAccess(token)?.name ?? '').length
    })
    expect(names).toEqual([64, 16])
  })

  it('is measured with values that the checks of its claims accept', () => {
    const owner = { username: 'ada', email: 'ada@example.com', groups: ['staff'] }
    const longest = longestClaimsOf(owner, issuer)
    expect(hasAccessClaims(longest)).toBe(true)
    expect(longest).toMatchObject({ ...owner, iss: issuer, aud: issuer, gen: 2 ** 31 - 2 })
  })

  it('never exceeds 1,800 bytes with the most and longest groups either, for every user who fits', () => {
    const groups = Array.from({ length: 16 }, (_, at) => String.fromCharCode(97 + at).repeat(32))
    const longest = {
      ...accessClaims(),
      name: '😀'.repeat(100),
      gen: 2 ** 31 - 2,
      iat: 253_402_300_798,
      exp: 253_402_300_799,
      auth_time: 253_402_300_799,
      amr: ['pwd', 'provider', 'otp', 'rec', 'passkey', 'mail'],
      mfa_time: 253_402_300_799,
      groups,
    }
    const emails = Array.from({ length: 250 }, (_, length) => `a@${'b'.repeat(length + 1)}`)
    const fitting = emails.filter((email) => tokens.fits({ username: '漢'.repeat(20), email, groups }))
    expect(fitting.length).toBeGreaterThan(50)
    // The last one is the longest of those that fit, so that one letter more would not.
    expect(fitting.length).toBeLessThan(emails.length)
    const [email = ''] = fitting.slice(-1)
    for (const name of [null, longest.name]) {
      const token = tokens.signAccess({ ...longest, username: '漢'.repeat(20), email, name })
      expect(token.length).toBeLessThanOrEqual(1800)
      expect(tokens.readAccess(token)).toMatchObject({ email, groups })
    }
  })

  it('refuses every other spelling of the same signature', () => {
    const token = genuine()
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet.indexOf(token.at(-1) ?? '')
    const siblings = [0, 1, 2, 3]
      .map((bits) => alphabet[(last & ~3) | bits])
      .filter((letter) => letter !== token.at(-1))
    expect(siblings).toHaveLength(3)
    for (const letter of siblings) expect(tokens.readAccess(token.slice(0, -1) + letter)).toBeUndefined()
  })
})

describe('refresh tokens', () => {
  it('does not read an access token as one', () => {
    expect(tokens.readRefresh(genuine())).toBeUndefined()
  })

  it.each([
    ['gen beyond what the column holds', { gen: 2 ** 53 - 1 }],
    ['gen without room for its successor', { gen: 2 ** 31 - 1 }],
    ['a negative gen', { gen: -1 }],
    ['gen as text', { gen: '3' }],
    ['auth_time beyond every date', { auth_time: 1e15 }],
    ['no auth_time', { auth_time: undefined }],
    ['a session id that is no UUID', { sid: 'x' }],
  ])('refuses %s', (_, odd) => {
    const header = decode(tokens.signRefresh(refreshClaims()).split('.')[0])
    expect(tokens.readRefresh(forge(header, { ...refreshClaims(), gen: 2 ** 31 - 2 }))).toBeDefined()
    expect(tokens.readRefresh(forge(header, { ...refreshClaims(), ...odd }))).toBeUndefined()
  })

  it('signs the same claims to the same bytes', () => {
    const same = refreshClaims()
    expect(tokens.signRefresh(same)).toBe(tokens.signRefresh({ ...same }))
  })
})

describe('several secrets', () => {
  const bothSecrets = createTokens({ secrets: [secret, older], clock, issuer })

  it('signs with the newest and reads what any of them signed', () => {
    const before = createTokens({ secrets: [older], clock, issuer })
    expect(bothSecrets.readAccess(before.signAccess(accessClaims()))).toBeDefined()
    expect(before.readAccess(bothSecrets.signAccess(accessClaims()))).toBeUndefined()
    expect(tokens.readAccess(bothSecrets.signAccess(accessClaims()))).toBeDefined()
  })

  it('can sign a token anew as an older secret did', () => {
    const same = refreshClaims()
    expect(bothSecrets.signRefreshWithEach(same)).toContain(
      createTokens({ secrets: [older], clock, issuer }).signRefresh(same),
    )
  })
})
