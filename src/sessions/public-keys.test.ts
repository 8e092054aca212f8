import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createStoppedClock } from '../../test/support/clock.js'
import { createTokenKey, newKeyPair, publicPem } from '../keys/key-pair.js'
import { longestIssuer } from '../settings/settings.js'
import { createTokens } from './tokens.js'

const secret = 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const issuer = 'https://app.example.com'
const clock = createStoppedClock()
const pair = await newKeyPair('ES256')
const { id: unknownId } = await newKeyPair('ES256')
const publicKey = createTokenKey('at+jwt', { algorithm: 'ES256', kid: pair.id, pair })

const tokensFor = (address: string) =>
  createTokens({
    secrets: [secret],
    clock,
    issuer: address,
    keyPairs: {
      signer: () => publicKey,
      find: (header) => (header === publicKey.header ? publicKey : undefined),
      removals: () => 0,
    },
  })
const tokens = tokensFor(issuer)

const now = () => Math.floor(clock.now().getTime() / 1000)
const claims = () => ({
  userId: '0190c0de-0000-7000-8000-000000000001',
  username: 'ada',
  sid: '0190c0de-0000-7000-8000-000000000002',
  gen: 3,
  auth_time: now(),
  iat: now(),
  exp: now() + 900,
  email: 'ada@example.com',
  name: 'Ada Lovelace',
  amr: ['pwd'],
  groups: [],
})
const payload = () => {
  const { userId, ...rest } = claims()
  return { userId, ...rest, sub: userId, iss: issuer, aud: issuer }
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const header = { alg: 'ES256', typ: 'at+jwt', kid: pair.id }
const privateKey = createPrivateKey(pair.privateKey)

type EcKey = typeof privateKey
/** Signed with our own key, whatever it says: so a refusal is not about the signature. */
const forge = (
  head: object,
  body: object = payload(),
  key: EcKey = privateKey,
  dsaEncoding: 'ieee-p1363' | 'der' = 'ieee-p1363',
) => {
  const signed = `${encode(head)}.${encode(body)}`
  return `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding }).toString('base64url')}`
}
const withHmac = (head: object, key: string | Buffer) => {
  const signed = `${encode(head)}.${encode(payload())}`
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
}

describe('access tokens of a key pair', () => {
  it('are read, remembered and as long as others; refresh tokens stay with the secret', () => {
    const token = tokens.signAccess(claims())
    expect(JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())).toEqual(header)
    expect(tokens.readAccess(token)).toEqual(payload())
    expect(tokens.rememberedSize().tokens).toBe(1)
    const refresh = tokens.signRefresh(claims())
    expect(Buffer.from(refresh.split('.')[0] ?? '', 'base64url').toString()).toContain('HS256')
    expect(tokens.readRefresh(refresh)).toBeDefined()
  })

  it('stand beside those of a secret', () => {
    const bySecret = createTokens({ secrets: [secret], clock, issuer }).signAccess(claims())
    expect(tokens.readAccess(bySecret)).toBeDefined()
    expect(createTokens({ secrets: [secret], clock, issuer }).readAccess(tokens.signAccess(claims()))).toBeUndefined()
  })

  it('never exceed 1,800 bytes', () => {
    const longest = {
      ...claims(),
      username: '😀'.repeat(64),
      email: `${'a'.repeat(64)}@${'b'.repeat(189)}`,
      name: '😀'.repeat(100),
      gen: 2 ** 31 - 2,
      amr: ['pwd', 'provider', 'otp', 'rec', 'passkey', 'mail'],
      groups: [],
      mfa_time: now(),
    }
    for (const address of [issuer, `https://${'c'.repeat(longestIssuer - 8)}`]) {
      const there = tokensFor(address)
      const token = there.signAccess(longest)
      expect(token.length).toBeLessThanOrEqual(1800)
      expect(there.readAccess(token)).toMatchObject({ username: longest.username, email: longest.email })
    }
  })

  it('a forgery with the right header and key would pass, so the refusals below are about what they name', () => {
    expect(tokens.readAccess(forge(header))).toEqual(payload())
  })

  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  it.each<[string, () => string]>([
    ['another key under our id', () => forge(header, payload(), other)],
    ['an unknown key id', () => forge({ ...header, kid: unknownId })],
    ['no key id', () => forge({ alg: 'ES256', typ: 'at+jwt' })],
    ['alg none', () => `${encode({ ...header, alg: 'none' })}.${encode(payload())}.`],
    ['alg ES384', () => forge({ ...header, alg: 'ES384' })],
    ['alg es256', () => forge({ ...header, alg: 'es256' })],
    ['alg HS256 with our id, signed by the key', () => forge({ ...header, alg: 'HS256' })],
    ['typ JWT', () => forge({ ...header, typ: 'JWT' })],
    ['typ rt+jwt', () => forge({ ...header, typ: 'rt+jwt' })],
    ['crit', () => forge({ ...header, crit: ['exp'] })],
    ['b64', () => forge({ ...header, b64: false, crit: ['b64'] })],
    [
      'an embedded key',
      () => forge({ ...header, jwk: createPublicKey(other).export({ format: 'jwk' }) }, payload(), other),
    ],
    ['a key address', () => forge({ ...header, jku: 'https://example.com/jwks.json' })],
    ['the members in another order', () => forge({ typ: 'at+jwt', alg: 'ES256', kid: pair.id })],
    ['a signature in DER', () => forge(header, payload(), privateKey, 'der')],
    ['a signature of zeros', () => `${encode(header)}.${encode(payload())}.${Buffer.alloc(64).toString('base64url')}`],
    ['a cut signature', () => forge(header).slice(0, -1)],
    ['a signature that goes on', () => `${forge(header)}AAAA`],
    ['an exp that has passed', () => forge(header, { ...payload(), exp: now() - 1 })],
    ['another issuer', () => forge(header, { ...payload(), iss: 'https://app.example.org' })],
    ['another audience', () => forge(header, { ...payload(), aud: 'https://app.example.org' })],
  ])('are refused with %s', (_, make) => {
    expect(tokens.readAccess(make())).toBeUndefined()
    expect(tokens.readRefresh(make())).toBeUndefined()
  })

  it('are refused if they are signed by HMAC with the public key, in whatever form', () => {
    const pem = publicPem(pair)
    const key = createPublicKey(pem)
    const jwk = key.export({ format: 'jwk' })
    const der = key.export({ type: 'spki', format: 'der' })
    const [x, y] = [jwk.x, jwk.y].map((part) => Buffer.from(part ?? '', 'base64url'))
    const forms = [
      pem,
      pem.trim(),
      pem.replaceAll('\n', ''),
      pem.replace(/-----[^-]+-----/g, '').trim(),
      JSON.stringify(pair.published),
      JSON.stringify(jwk),
      JSON.stringify({ keys: [pair.published] }),
      der,
      der.toString('base64'),
      der.toString('hex'),
      Buffer.concat([Buffer.of(4), x ?? der, y ?? der]),
      Buffer.concat([Buffer.of(2 + ((y?.at(-1) ?? 0) % 2)), x ?? der]),
      x ?? der,
      pair.id,
      '',
    ]
    const [bySecret = ''] = createTokens({ secrets: [secret], clock, issuer })
      .signAccess(claims())
      .split('.')
    const ofSecret = JSON.parse(Buffer.from(bySecret, 'base64url').toString())
    for (const form of forms)
      for (const head of [header, { ...header, alg: 'HS256' }, { alg: 'HS256', typ: 'at+jwt' }, ofSecret]) {
        const token = withHmac(head, form)
        expect([tokens.readAccess(token), tokens.readRefresh(token)]).toEqual([undefined, undefined])
      }
    expect(tokens.readAccess(withHmac(ofSecret, secret))).toBeDefined()
  })

  it('are refused with numbers that no signature has, and with those of another message', () => {
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
    const bytesOf = (number: bigint) => Buffer.from(number.toString(16).padStart(64, '0'), 'hex')
    const [head = '', body = '', signature = ''] = forge(header).split('.')
    const bytes = Buffer.from(signature, 'base64url')
    const [r, s] = [bytes.subarray(0, 32), bytes.subarray(32)].map((half) => BigInt(`0x${half.toString('hex')}`))
    if (r === undefined || s === undefined) throw new Error('The signature has no two halves')
    const read = (one: bigint, other: bigint) =>
      tokens.readAccess(`${head}.${body}.${Buffer.concat([bytesOf(one), bytesOf(other)]).toString('base64url')}`)
    expect(read(r, s)).toBeDefined()
    const odd = [0n, 1n, order - 1n, order, order + 1n, 2n ** 256n - 1n]
    for (const number of odd) {
      for (const [one, two] of [
        [number, s],
        [r, number],
        [number, number],
      ] as const)
        expect(read(one, two)).toBeUndefined()
    }
    expect([read(s, r), read(r, s ^ 1n), read(r ^ 1n, s), read(order - r, s)]).toEqual(Array(4).fill(undefined))
    const ofAnother = forge(header, { ...payload(), username: 'eve' }).split('.')[2]
    expect(tokens.readAccess(`${head}.${body}.${ofAnother}`)).toBeUndefined()
  })

  it('have one spelling for each signature', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const token = forge(header)
    const last = alphabet.indexOf(token.at(-1) ?? '')
    const spellings = Array.from({ length: 16 }, (_, bits) => token.slice(0, -1) + alphabet[(last & ~15) | bits])
    expect(spellings.filter((each) => tokens.readAccess(each))).toEqual([token])
  })

  it('are forgotten when a key is removed', () => {
    let removals = 0
    let known = true
    const keyPairs = {
      signer: () => publicKey,
      find: () => (known ? publicKey : undefined),
      removals: () => removals,
    }
    const there = createTokens({ secrets: [secret], clock, issuer, keyPairs })
    const token = there.signAccess(claims())
    expect(there.readAccess(token)).toBeDefined()
    known = false
    removals += 1
    expect(there.readAccess(token)).toBeUndefined()
  })
})
