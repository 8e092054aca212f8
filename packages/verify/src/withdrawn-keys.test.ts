import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createVerifier } from './verifier.js'

const publicUrl = 'https://auth.example.com'

const makeKey = (kid: string) => {
  const { publicKey, privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const sign = (seconds: number) => {
    const [userId, sid] = [randomUUID(), randomUUID()]
    const address = { iss: publicUrl, aud: publicUrl }
    const user = { userId, sub: userId, username: 'ada', email: 'ada@example.com' }
    const session = { sid, gen: 0, iat: seconds, exp: seconds + 900, auth_time: seconds, amr: ['pwd'] }
    const text = `${encode({ alg: 'ES256', typ: 'at+jwt', kid })}.${encode({ ...user, ...session, ...address })}`
    return `${text}.${createSign('sha256').update(text).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url')}`
  }
  return { sign, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' } }
}
const [old, current] = [makeKey('old'), makeKey('current')]

/** A verifier of a service that publishes these keys, and a clock. */
const verify = async () => {
  const service = { keys: [old.jwk], time: Date.now() }
  const fetch = async () => Response.json({ keys: service.keys })
  const verifier = createVerifier({ publicUrl, jwks: true, now: () => service.time, fetch })
  await verifier.ready()
  const tokensOf = (key: typeof old, count: number) =>
    Array.from({ length: count }, () => key.sign(Math.floor(service.time / 1000)))
  const acceptedOf = async (tokens: string[]) => {
    const results = await Promise.all(tokens.map((token) => verifier.verifyToken(token)))
    return results.filter(({ ok }) => ok).length
  }
  return { service, verifier, tokensOf, acceptedOf }
}

it('accepts no token of a key that was withdrawn while the token was checked, and remembers none', async () => {
  const { service, verifier, tokensOf, acceptedOf } = await verify()
  const [oldTokens, [newToken]] = [tokensOf(old, 60), tokensOf(current, 1)]
  service.keys = [current.jwk]
  service.time += 31_000
  const underWay = [verifier.verifyToken(newToken), ...oldTokens.map((token) => verifier.verifyToken(token))]
  for (let others = 0; others < 200; others += 1) {
    underWay.push(verifier.verifyToken('x.y.z'))
    await setImmediate()
  }
  await Promise.all(underWay)
  expect(await acceptedOf(oldTokens)).toBe(0)
  expect(await acceptedOf([newToken ?? ''])).toBe(1)
})

it('accepts the tokens of a key again that the service publishes again', async () => {
  const { service, tokensOf, acceptedOf } = await verify()
  const tokens = tokensOf(old, 2)
  expect(await acceptedOf(tokens)).toBe(2)
  for (const [keys, accepted] of [
    [[current.jwk], 0],
    [[old.jwk, current.jwk], 2],
  ] as const) {
    service.keys = [...keys]
    service.time += 301_000
    expect(await acceptedOf(tokens)).toBe(accepted)
  }
})
