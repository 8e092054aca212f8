import { createHmac, createSign, generateKeyPairSync, hkdfSync, type KeyObject, randomUUID } from 'node:crypto'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { AccessClaims as ContractClaims } from '#contract/access-claims.js'
import type { AccessClaims } from './claims.js'
import { createVerifier, type VerifyRefusal } from './verifier.js'

const secret = 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const older = '0c7d19e6a85f32b4d60ea97c15fb83d2704e9b6a8df13c5207ee49b16ad8f350'
const publicUrl = 'https://auth.example.com'
const seconds = () => Math.floor(Date.now() / 1000)
const userId = randomUUID()
const sid = randomUUID()
const kidOf = (text: string) =>
  Buffer.from(hkdfSync('sha256', text, '', 'key id', 32))
    .toString('base64url')
    .slice(0, 8)

const [ours, foreign] = [0, 1].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }))
if (!ours || !foreign) throw new Error('No keys')
const jwk = { ...ours.publicKey.export({ format: 'jwk' }), kid: 'current', alg: 'ES256', use: 'sig' }
const published = JSON.stringify({ keys: [jwk] })
const serve = async () => new Response(published, { headers: { 'cache-control': 'public, max-age=300' } })

const bySecret = createVerifier({ publicUrl, secret: `${secret}, ${older}` })
const byKeys = createVerifier({ publicUrl, jwks: true, fetch: serve })

type Parts = Record<string, unknown>
const claims = (more: Parts = {}, now = seconds()): Parts => ({
  userId,
  username: 'ada',
  sid,
  gen: 3,
  iat: now,
  exp: now + 900,
  email: 'ada@example.com',
  auth_time: now - 60,
  amr: ['pwd', 'otp'],
  mfa_time: now - 120,
  sub: userId,
  iss: publicUrl,
  aud: publicUrl,
  name: 'Ada Lovelace',
  ...more,
})
const encode = (part: unknown) =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')
const textOf = (header: unknown, payload: unknown) => `${encode(header)}.${encode(payload)}`
const hsHeader = (more: Parts = {}, by = secret) => ({ alg: 'HS256', typ: 'at+jwt', kid: kidOf(by), ...more })
const esHeader = (more: Parts = {}) => ({ alg: 'ES256', typ: 'at+jwt', kid: 'current', ...more })
const hs = (header: unknown, payload: unknown, key: string | Buffer = secret, hash = 'sha256') => {
  const text = textOf(header, payload)
  return `${text}.${createHmac(hash, key).update(text).digest('base64url')}`
}
const es = (header: unknown, payload: unknown, key: KeyObject = ours.privateKey) => {
  const text = textOf(header, payload)
  return `${text}.${createSign('sha256').update(text).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url')}`
}

/** The public key as an attacker could give it to a library that takes any bytes for a secret. */
const publicKeyAsSecret = [
  ours.publicKey.export({ format: 'pem', type: 'spki' }).toString(),
  ours.publicKey.export({ format: 'pem', type: 'spki' }).toString().trim(),
  ours.publicKey.export({ format: 'der', type: 'spki' }),
  JSON.stringify(jwk),
  JSON.stringify(ours.publicKey.export({ format: 'jwk' })),
  published,
  ours.publicKey.export({ format: 'der', type: 'spki' }).subarray(-65),
  Buffer.from(jwk.x ?? '', 'base64url'),
  jwk.x ?? '',
]

describe.each([
  { name: 'HS256 by secret', verifier: bySecret, sign: hs, header: hsHeader },
  { name: 'ES256 by published keys', verifier: byKeys, sign: es, header: esHeader },
])('$name', ({ verifier, sign, header }) => {
  const codeOf = async (token: string) => {
    const result = await verifier.verifyToken(token)
    return result.ok ? 'accepted' : result.code
  }

  it('says who the user is, and how they have proven it', async () => {
    const given = claims()
    expect(await verifier.verifyToken(sign(header(), given))).toEqual({
      ok: true,
      user: { id: userId, username: 'ada', name: 'Ada Lovelace', email: 'ada@example.com' },
      sessionId: sid,
      factors: 2,
      authTime: new Date(Number(given.auth_time) * 1000),
      secondFactorTime: new Date(Number(given.mfa_time) * 1000),
      amr: ['pwd', 'otp'],
      groups: [],
      expiresAt: new Date(Number(given.exp) * 1000),
      claims: given,
    })
    const short = await verifier.verifyToken(
      sign(header(), claims({ name: undefined, amr: ['pwd'], mfa_time: undefined })),
    )
    expect(short).toMatchObject({ ok: true, factors: 1, secondFactorTime: null, user: { name: null } })
  })

  it('gives what no request can change', async () => {
    const verified = await verifier.verifyToken(sign(header(), claims()))
    if (!verified.ok) throw new Error(verified.code)
    for (const part of [verified, verified.user, verified.claims, verified.amr])
      expect(() => Object.assign(part, { 0: 'x', id: 'eve' })).toThrow(TypeError)
  })

  it.each<[string, () => string, VerifyRefusal]>([
    ['nothing', () => '', 'missing'],
    ['garbage', () => 'a.b.c', 'unknown_key'],
    ['two parts', () => sign(header(), claims()).split('.').slice(0, 2).join('.'), 'malformed'],
    ['four parts', () => `${sign(header(), claims())}.x`, 'malformed'],
    ['five empty parts', () => '....', 'malformed'],
    ['a space before it', () => ` ${sign(header(), claims())}`, 'malformed'],
    ['padding', () => `${sign(header(), claims())}=`, 'malformed'],
    ['10 KB', () => sign(header(), claims({ name: 'x'.repeat(10_000) })), 'malformed'],
    ['letters of other alphabets', () => sign(header(), claims()).replace('.', '.é中\u0000\ud800'), 'malformed'],
    ['a cut signature', () => sign(header(), claims()).slice(0, -1), 'bad_signature'],
    ['an empty signature', () => sign(header(), claims()).replace(/[^.]+$/, 'A'), 'bad_signature'],
    [
      'a signature of zeros',
      () => sign(header(), claims()).replace(/[^.]+$/, (text) => 'A'.repeat(text.length)),
      'bad_signature',
    ],
    [
      'another payload',
      () => sign(header(), claims()).replace(/\.[^.]+\./, `.${encode(claims({ userId: sid }))}.`),
      'bad_signature',
    ],
    ['alg none', () => `${textOf(header({ alg: 'none' }), claims())}.AAAA`, 'unknown_key'],
    ['alg nOnE, signed', () => sign(header({ alg: 'nOnE' }), claims()), 'unknown_key'],
    ['alg RS256', () => sign(header({ alg: 'RS256' }), claims()), 'unknown_key'],
    ['no alg', () => sign(header({ alg: undefined }), claims()), 'unknown_key'],
    ['typ JWT', () => sign(header({ typ: 'JWT' }), claims()), 'unknown_key'],
    ['a refresh token', () => sign(header({ typ: 'rt+jwt' }), claims()), 'unknown_key'],
    ['an unknown critical header', () => sign(header({ crit: ['b64'], b64: false }), claims()), 'unknown_key'],
    ['an empty crit', () => sign(header({ crit: [] }), claims()), 'unknown_key'],
    ['an embedded key', () => sign(header({ jwk: { kty: 'oct', k: 'AA' } }), claims()), 'unknown_key'],
    ['a key address', () => sign(header({ jku: 'https://evil.example/keys' }), claims()), 'unknown_key'],
    ['no kid', () => sign(header({ kid: undefined }), claims()), 'unknown_key'],
    ['another kid', () => sign(header({ kid: 'other' }), claims()), 'unknown_key'],
    ['a path as kid', () => sign(header({ kid: '../../dev/null' }), claims()), 'unknown_key'],
    ['kid __proto__', () => sign(header({ kid: '__proto__' }), claims()), 'unknown_key'],
    ['a payload that is no JSON', () => sign(header(), 'x'), 'bad_claims'],
    ['a payload that is a list', () => sign(header(), '[]'), 'bad_claims'],
    [
      'a payload that is no UTF-8',
      () => sign(header(), Buffer.from([0x7b, 0xff, 0x7d]).toString('latin1')),
      'bad_claims',
    ],
    ['no generation', () => sign(header(), claims({ gen: undefined })), 'bad_claims'],
    ['no email', () => sign(header(), claims({ email: undefined })), 'bad_claims'],
    ['no proof', () => sign(header(), claims({ amr: undefined })), 'bad_claims'],
    ['no time of a proof', () => sign(header(), claims({ auth_time: undefined })), 'bad_claims'],
    ['another issuer', () => sign(header(), claims({ iss: 'https://evil.example' })), 'wrong_issuer'],
    ['the issuer with a slash', () => sign(header(), claims({ iss: `${publicUrl}/` })), 'wrong_issuer'],
    ['another audience', () => sign(header(), claims({ aud: 'https://evil.example' })), 'wrong_issuer'],
    ['several audiences', () => sign(header(), claims({ aud: [publicUrl, 'https://evil.example'] })), 'bad_claims'],
    ['no issuer', () => sign(header(), claims({ iss: undefined })), 'bad_claims'],
    ['another user as subject', () => sign(header(), claims({ sub: sid })), 'bad_claims'],
    ['a user id that is no UUID', () => sign(header(), claims({ userId: 'ada', sub: 'ada' })), 'bad_claims'],
    ['no session', () => sign(header(), claims({ sid: undefined })), 'bad_claims'],
    ['a NUL in the name', () => sign(header(), claims({ username: 'a\0' })), 'bad_claims'],
    ['half a character in the name', () => sign(header(), claims({ username: 'a\ud800' })), 'bad_claims'],
    ['a name that is a number', () => sign(header(), claims({ username: 1 })), 'bad_claims'],
    ['a generation that is a text', () => sign(header(), claims({ gen: '3' })), 'bad_claims'],
    ['no exp', () => sign(header(), claims({ exp: undefined })), 'bad_claims'],
    ['exp as text', () => sign(header(), claims({ exp: String(seconds() + 900) })), 'bad_claims'],
    ['a longer life than 15 minutes', () => sign(header(), claims({ exp: seconds() + 902 })), 'bad_claims'],
    ['exp that has passed', () => sign(header(), claims({ exp: seconds() - 1 })), 'expired'],
    ['iat in the future', () => sign(header(), claims({ iat: seconds() + 60 })), 'not_yet_valid'],
    ['nbf in the future', () => sign(header(), claims({ nbf: seconds() + 60 })), 'not_yet_valid'],
  ])('refuses %s', async (_, make, code) => {
    expect(await codeOf(make())).toBe(code)
  })

  it('accepts a clock that is a little behind, and every spelling of a signature but the first is refused', async () => {
    const token = sign(header(), claims({ iat: seconds() + 20, nbf: seconds() + 20 }))
    expect(await codeOf(token)).toBe('accepted')
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const spellings = [...alphabet].filter((last) => {
      const [bytes, same] = [`${token.slice(0, -1)}${last}`, token].map((text) =>
        Buffer.from(text.split('.')[2] ?? '', 'base64url'),
      )
      return bytes && same && bytes.equals(same)
    })
    expect(spellings.length).toBeGreaterThan(1)
    const codes = await Promise.all(spellings.map((last) => codeOf(`${token.slice(0, -1)}${last}`)))
    expect(codes.filter((code) => code === 'accepted')).toHaveLength(1)
  })

  it('never throws, whatever it is given', async () => {
    for (const value of [undefined, null, 1, {}, [], Symbol('x')])
      expect(await verifier.verifyToken(value as never)).toEqual({ ok: false, code: 'missing' })
  })
})

// Two types that differ do not compile.
it('knows the claims that the service writes, and no others', () => {
  expectTypeOf<AccessClaims>().toEqualTypeOf<ContractClaims>()
})

describe('a verifier of one algorithm', () => {
  it.each(publicKeyAsSecret.map((key, place) => [place, key] as const))(
    'refuses HS256 with the public key as the secret (form %i)',
    async (_, key) => {
      for (const header of [hsHeader(), hsHeader({ kid: 'current' }), esHeader()]) {
        const token = hs(header, claims(), key)
        for (const verifier of [byKeys, bySecret]) expect((await verifier.verifyToken(token)).ok).toBe(false)
      }
    },
  )

  it('refuses the good tokens of the other algorithm', async () => {
    expect(await bySecret.verifyToken(es(esHeader(), claims()))).toEqual({ ok: false, code: 'unknown_key' })
    expect(await byKeys.verifyToken(hs(hsHeader(), claims()))).toEqual({ ok: false, code: 'unknown_key' })
  })

  it('refuses another key with the same id', async () => {
    const token = es(esHeader(), claims(), foreign.privateKey)
    expect(await byKeys.verifyToken(token)).toEqual({ ok: false, code: 'bad_signature' })
  })

  it('refuses the other variants of HMAC', async () => {
    for (const [alg, hash] of [
      ['HS384', 'sha384'],
      ['HS512', 'sha512'],
    ] as const)
      expect(await bySecret.verifyToken(hs(hsHeader({ alg }), claims(), secret, hash))).toEqual({
        ok: false,
        code: 'unknown_key',
      })
  })

  it('accepts every secret of the list, and each under its own id only', async () => {
    expect((await bySecret.verifyToken(hs(hsHeader({}, older), claims(), older))).ok).toBe(true)
    expect((await bySecret.verifyToken(hs(hsHeader(), claims(), older))).ok).toBe(false)
  })

  it('is made of a secret or of keys, not of both and not of neither', () => {
    // @ts-expect-error both
    expect(() => createVerifier({ publicUrl, secret, jwks: true })).toThrow('not both')
    // @ts-expect-error neither
    expect(() => createVerifier({ publicUrl })).toThrow('both are missing')
    // @ts-expect-error neither
    expect(() => createVerifier({ publicUrl, secret: undefined })).toThrow('both are missing')
    for (const key of publicKeyAsSecret.slice(0, 2).concat(JSON.stringify(jwk)))
      expect(() => createVerifier({ publicUrl, secret: [String(key)] })).toThrow('this is a key and no secret')
  })

  it.each([
    [{ publicUrl: 'auth.example.com' }, 'publicUrl'],
    [{ publicUrl: 'ftp://auth.example.com' }, 'publicUrl'],
    [{ publicUrl: undefined }, 'publicUrl'],
    [{ serviceUrl: 'https://a:b@auth.example.com' }, 'serviceUrl'],
    [{ secret: secret.slice(1) }, 'secret'],
    [{ secret: `${secret},` }, 'secret'],
    [{ leeway: 3600 }, 'leeway'],
    [{ leeway: Number.NaN }, 'leeway'],
    [{ revocation: { serviceKey: `latchkey_${older}` } }, 'revocation'],
    [{ toString: 1 }, 'toString'],
    [{ revocations: { serviceKey: `latchkey_${older}`, maxage: 60 } }, 'maxage'],
    [{ revocations: { serviceKey: '' } }, 'revocations.serviceKey'],
    [{ revocations: { serviceKey: `latchkey_${older}`, maxAge: 1 } }, 'revocations.maxAge'],
    [{ revocations: { serviceKey: `latchkey_${older}`, whileUnknown: 'open' } }, 'revocations.whileUnknown'],
  ])('does not start with %o', (wrong, name) => {
    const start = () => createVerifier({ publicUrl, secret, ...(wrong as object) })
    expect(start).toThrow(`${name}: `)
    expect(start).not.toThrow(older)
  })

  it('shows no secret when it is printed', async () => {
    const { inspect } = await import('node:util')
    const verifier = createVerifier({ publicUrl, secret })
    expect(inspect(verifier, { depth: 10, showHidden: true }) + JSON.stringify(verifier)).not.toContain(secret)
  })
})

describe('the cookie of a request', () => {
  const token = hs(hsHeader(), claims())
  const codeFor = async (cookie: string | undefined) => {
    const result = await bySecret.verify({ headers: { cookie } })
    return result.ok ? 'accepted' : result.code
  }

  it('is read from requests of Node and of the Fetch standard', async () => {
    expect(await codeFor(`a=b; access_token=${token}; c`)).toBe('accepted')
    const request = new Request(publicUrl, { headers: { cookie: `access_token=${token}` } })
    expect((await bySecret.verify(request)).ok).toBe(true)
  })

  it.each([
    [undefined, 'missing'],
    ['access_token', 'missing'],
    ['access_token=', 'missing'],
    [`xaccess_token=${token}`, 'missing'],
    [`__Host-access_token=${token}`, 'missing'],
    [`Access_Token=${token}`, 'missing'],
    [`access_token=${token}; access_token=${token}`, 'doubled'],
    [`access_token=${token};access_token`, 'doubled'],
    [`access_token="${token}"`, 'malformed'],
    [`refresh_token=${token}`, 'missing'],
  ])('%s', async (cookie, code) => {
    expect(await codeFor(cookie)).toBe(code)
  })
})
