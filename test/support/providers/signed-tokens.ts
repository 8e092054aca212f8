import {
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  type KeyPairKeyObjectResult,
  randomUUID,
  sign,
} from 'node:crypto'

export type Claims = Record<string, unknown>

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Looking for primes takes longer than most tests: the issuers of a test process take these in turn. */
const keyPairs: KeyPairKeyObjectResult[] = []
const differentKeyPairs = 6
let taken = 0

export const createSigningKey = () => {
  const turn = taken++ % differentKeyPairs
  keyPairs[turn] ??= generateKeyPairSync('rsa', { modulusLength: 2048 })
  const { privateKey, publicKey } = keyPairs[turn]
  const kid = randomUUID()
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' } }
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
