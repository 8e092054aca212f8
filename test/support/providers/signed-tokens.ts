import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
} from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Claims = Record<string, unknown>

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Looking for primes takes longer than most tests: the issuers of all test processes take these in turn. */
const privateKeys: KeyObject[] = []
const differentKeys = 6
let taken = 0

/** Two processes may make the same one at once: then each goes on with its own. */
const sharedKey = (turn: number) => {
  const folder = process.env.TEST_TEMPLATES
  if (!folder) throw new Error('TEST_TEMPLATES is not set: run the tests with npm test')
  const file = join(folder, `issuer-${turn}.pem`)
  if (existsSync(file)) return createPrivateKey(readFileSync(file))
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const unfinished = `${file}.${randomUUID()}`
  writeFileSync(unfinished, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  renameSync(unfinished, file)
  return privateKey
}

export const createSigningKey = () => {
  const turn = taken++ % differentKeys
  privateKeys[turn] ??= sharedKey(turn)
  const privateKey = privateKeys[turn]
  const kid = randomUUID()
  return {
    kid,
    privateKey,
    jwk: { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' },
  }
}

export type SigningKey = ReturnType<typeof createSigningKey>

export const signRs256 = (claims: Claims, key: { privateKey: KeyObject }, header: Claims) => {
  const input = `${encode({ alg: 'RS256', typ: 'JWT', ...header })}.${encode(claims)}`
  return `${input}.${sign('sha256', Buffer.from(input), key.privateKey).toString('base64url')}`
}

export const signHs256 = (claims: Claims, secret: string) => {
  const input = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

export const unsigned = (claims: Claims, alg = 'none') => `${encode({ alg, typ: 'JWT' })}.${encode(claims)}.`

export const withAlteredSignature = (token: string) => {
  const [header, claims, signature = ''] = token.split('.')
  const bytes = Buffer.from(signature, 'base64url')
  bytes[10] = (bytes[10] ?? 0) ^ 0xff
  return `${header}.${claims}.${bytes.toString('base64url')}`
}

/** Keeps the signature of a good token and changes what it says. */
export const withAlteredClaims = (token: string, change: Claims) => {
  const [header, claims = '', signature] = token.split('.')
  const altered = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), ...change }
  return `${header}.${encode(altered)}.${signature}`
}
