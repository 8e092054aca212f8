import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  sign as createSignature,
  generateKeyPair,
  generateKeyPairSync,
  type KeyObject,
  verify as verifySignature,
} from 'node:crypto'
import { promisify } from 'node:util'
import { equalInConstantTime } from '../lib/random.js'

export const keyAlgorithms = ['RS256', 'ES256'] as const
export type KeyAlgorithm = (typeof keyAlgorithms)[number]

/** A public key as it is published (RFC 7517). */
export type PublishedKey = { kid: string; use: 'sig' } & (
  | { kty: 'RSA'; n: string; e: string; alg: 'RS256' }
  | { kty: 'EC'; crv: 'P-256'; x: string; y: string; alg: 'ES256' }
)

/** `privateKey` is a text in the PKCS#8 form. The rest is computed from it. */
export type KeyPair = {
  id: string
  algorithm: KeyAlgorithm
  privateKey: string
  signingKey: KeyObject
  publicKey: KeyObject
  published: PublishedKey
}

const idLength = 16

/** The first characters of the thumbprint (RFC 7638): the same key always has the same id. `members` must be in alphabetical order. */
const idOf = (members: object) =>
  createHash('sha256').update(JSON.stringify(members)).digest('base64url').slice(0, idLength)

const publish = (publicKey: KeyObject): PublishedKey => {
  const { kty, crv, x, y, n, e } = publicKey.export({ format: 'jwk' })
  if (kty === 'RSA' && n !== undefined && e !== undefined)
    return { kty, n, e, kid: idOf({ e, kty, n }), alg: 'RS256', use: 'sig' }
  if (kty === 'EC' && crv === 'P-256' && x !== undefined && y !== undefined)
    return { kty, crv, x, y, kid: idOf({ crv, kty, x, y }), alg: 'ES256', use: 'sig' }
  throw new Error('A signing key is neither of RSA nor of the curve P-256')
}

/** The public key with this id. Undefined if the text is no key, or the key of another id. */
export const readPublicKey = (text: string, expected: { id: string; algorithm: KeyAlgorithm }) => {
  try {
    const key = createPublicKey(text)
    const { kid, alg } = publish(key)
    return kid === expected.id && alg === expected.algorithm ? key : undefined
  } catch {
    return undefined
  }
}

/**
 * The public half always comes from the private one, which is sealed. So a person who can write to the table cannot publish a key of their
 * own.
 */
export const readKeyPair = (privateKey: string): KeyPair => {
  const signingKey = createPrivateKey(privateKey)
  const publicKey = createPublicKey(signingKey)
  const published = publish(publicKey)
  return { id: published.kid, algorithm: published.alg, privateKey, signingKey, publicKey, published }
}

/** Node makes an RSA key in a thread, because looking for the primes takes up to a second. */
const newPrivateKey = async (algorithm: KeyAlgorithm) =>
  algorithm === 'ES256'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    : (await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })).privateKey

export const newKeyPair = async (algorithm: KeyAlgorithm) =>
  readKeyPair((await newPrivateKey(algorithm)).export({ type: 'pkcs8', format: 'pem' }).toString())

export const publicPem = ({ publicKey }: KeyPair) => publicKey.export({ type: 'spki', format: 'pem' }).toString()

/** The kinds of tokens: access and refresh tokens of sessions, and refresh tokens of applications. */
export type TokenKind = 'at+jwt' | 'rt+jwt' | 'art+jwt'

/** Longer than any token of ours. A longer text is refused unread. */
const maximumLength = 2048

/**
 * A token is a header, a payload, and a signature of 32 or 64 bytes. Some bits of its last character are not used, so several texts decode
 * to the same signature. Only the text in which these bits are zero is accepted.
 */
const shapes = {
  HS256: /^[\w-]{1,256}\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/,
  ES256: /^[\w-]{1,256}\.[\w-]+\.[\w-]{85}[AQgw]$/,
}

type Material = { algorithm: 'HS256'; kid: string; secret: string } | { algorithm: 'ES256'; kid: string; pair: KeyPair }

/**
 * Signs and checks one kind of token with one key. `header` is the only header that its tokens have. The text of the header selects the
 * key, so another algorithm or type, an unknown key id or an embedded key is never parsed, and no key is used with another algorithm than
 * its own.
 */
export type TokenKey = {
  header: string
  sign(claims: object): string
  /** The claims of a token with this header. Undefined if the signature is wrong. */
  verify(token: string): Record<string, unknown> | undefined
}

export const headerOf = (token: string) => token.slice(0, token.indexOf('.'))

type Signatures = { make: (text: string) => Buffer; isOf: (text: string, signature: Buffer) => boolean }

/** Each algorithm with its key. A key object, because Node prepares the bytes of a key anew for each signature. */
const signaturesOf = (material: Material): Signatures => {
  if (material.algorithm === 'HS256') {
    const key = createSecretKey(Buffer.from(material.secret))
    const make = (text: string) => createHmac('sha256', key).update(text).digest()
    return { make, isOf: (text, signature) => equalInConstantTime(make(text), signature) }
  }
  // JWS writes a signature as two numbers of 32 bytes (RFC 7518, 3.4), and not as OpenSSL does.
  const dsaEncoding = 'ieee-p1363'
  const { signingKey, publicKey } = material.pair
  return {
    make: (text) => createSignature('sha256', Buffer.from(text), { key: signingKey, dsaEncoding }),
    isOf: (text, signature) => verifySignature('sha256', Buffer.from(text), { key: publicKey, dsaEncoding }, signature),
  }
}

const encodeJson = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Undefined if the text is no JSON object. */
const decodeJson = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

export const createTokenKey = (kind: TokenKind, material: Material): TokenKey => {
  const { algorithm, kid } = material
  const signatures = signaturesOf(material)
  const shape = shapes[algorithm]
  const header = encodeJson({ alg: algorithm, typ: kind, kid })
  const beginning = `${header}.`
  return {
    header,
    sign: (claims) => {
      const signed = beginning + encodeJson(claims)
      return `${signed}.${signatures.make(signed).toString('base64url')}`
    },
    verify: (token) => {
      if (token.length > maximumLength || !token.startsWith(beginning) || !shape.test(token)) return undefined
      const end = token.lastIndexOf('.')
      const isSigned = signatures.isOf(token.slice(0, end), Buffer.from(token.slice(end + 1), 'base64url'))
      return isSigned ? decodeJson(token.slice(beginning.length, end)) : undefined
    },
  }
}

const headerShape = new RegExp(`^\\{"alg":"ES256","typ":"at\\+jwt","kid":"[\\w-]{${idLength}}"\\}$`)
/** The length of the header in base64url. The id has a fixed length, so all headers are equally long. */
const headerLength = 74

/** Whether a key pair of ours, known or not, could have written this header of an access token. */
export const mayBeOurs = (text: string) =>
  text.length === headerLength && headerShape.test(Buffer.from(text, 'base64url').toString('latin1'))
