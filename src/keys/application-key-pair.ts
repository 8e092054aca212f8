import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'
import { promisify } from 'node:util'
import type { ApplicationAlgorithm } from './signed-token.js'

/** A public key as it is published (RFC 7517). */
type PublishedKey = { kid: string; alg: ApplicationAlgorithm; use: 'sig' } & (
  | { kty: 'RSA'; n: string; e: string }
  | { kty: 'EC'; crv: string; x: string; y: string }
)

/** `privateKey` is a text in the PKCS#8 form. The rest is computed from it. */
export type KeyPair = {
  id: string
  algorithm: ApplicationAlgorithm
  privateKey: string
  signingKey: KeyObject
  publicKey: KeyObject
  published: PublishedKey
}

const idLength = 16

/** The first characters of the thumbprint (RFC 7638): the same key always has the same id. `members` must be in alphabetical order. */
const idOf = (members: object) =>
  createHash('sha256').update(JSON.stringify(members)).digest('base64url').slice(0, idLength)

/** The id and the algorithm of a key, and its members in a key set. */
const describeKey = (publicKey: KeyObject) => {
  const { kty, crv, x, y, n, e } = publicKey.export({ format: 'jwk' })
  if (kty === 'RSA' && n !== undefined && e !== undefined)
    return { id: idOf({ e, kty, n }), algorithm: 'RS256', members: { kty, n, e } } as const
  if (kty === 'EC' && crv === 'P-256' && x !== undefined && y !== undefined)
    return { id: idOf({ crv, kty, x, y }), algorithm: 'ES256', members: { kty, crv, x, y } } as const
  throw new Error('A key of ID tokens is neither of RSA nor of the curve P-256')
}

/** The public key with this id. Undefined if the text is no key, or the key of another id. */
export const readPublicKey = (text: string, expected: { id: string; algorithm: ApplicationAlgorithm }) => {
  try {
    const key = createPublicKey(text)
    const { id, algorithm } = describeKey(key)
    return id === expected.id && algorithm === expected.algorithm ? key : undefined
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
  const { id, algorithm, members } = describeKey(publicKey)
  return {
    id,
    algorithm,
    privateKey,
    signingKey,
    publicKey,
    published: { ...members, kid: id, alg: algorithm, use: 'sig' },
  }
}

const newEcKey = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** Node makes the key in a thread, because looking for the primes takes up to a second. */
const newRsaKey = async () => {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

export const newKeyPair = async (algorithm: ApplicationAlgorithm) =>
  readKeyPair(algorithm === 'ES256' ? newEcKey() : await newRsaKey())
