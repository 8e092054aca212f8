import { type KeyObject, sign, verify } from 'node:crypto'
import { isRefused } from '../contract/outcome.js'
import { seconds } from '../lib/durations.js'
import { StoreUnavailable } from '../platform/database/database.js'
import { createBoundedQueue } from '../platform/queues.js'

export const applicationAlgorithms = ['RS256', 'ES256'] as const
export type ApplicationAlgorithm = (typeof applicationAlgorithms)[number]

export type TokenType = 'JWT' | 'logout+jwt'

/** Signs claims for an application, with the key that its algorithm has now. */
export type SignToken = (
  algorithm: ApplicationAlgorithm,
  token: { typ: TokenType; claims: Record<string, unknown> },
) => Promise<string>

const encodeJson = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The only header of tokens of this type and key. Its text selects the key, so that the sender of a token cannot choose an algorithm. */
export const headerFor = ({ id, algorithm }: { id: string; algorithm: ApplicationAlgorithm }, typ: TokenType) =>
  encodeJson({ alg: algorithm, typ, kid: id })

/** JWS writes a signature of ES256 as two numbers of 32 bytes (RFC 7518, 3.4), and not as OpenSSL does. */
export const withJwsEncoding = (key: KeyObject) => ({ key, dsaEncoding: 'ieee-p1363' as const })

export const unsignedToken = (header: string, claims: Record<string, unknown>) => `${header}.${encodeJson(claims)}`

/** As long as the largest form that the service reads. */
const maxLength = 16_384
const tokenShape = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/

/** The parts of a token. Undefined if a part is spelled in another way than base64url writes its bytes. */
export const tokenParts = (token: string) => {
  if (token.length > maxLength) return undefined
  const [, header, payload, signature] = tokenShape.exec(token) ?? []
  if (header === undefined || payload === undefined || signature === undefined) return undefined
  const isCanonical = [payload, signature].every(
    (part) => Buffer.from(part, 'base64url').toString('base64url') === part,
  )
  return isCanonical ? { header, payload, signature } : undefined
}

type TokenParts = NonNullable<ReturnType<typeof tokenParts>>

/** The claims of a token. Undefined if the signature is wrong. */
export const verifiedClaims = ({ header, payload, signature }: TokenParts, publicKey: KeyObject) => {
  const signedText = Buffer.from(`${header}.${payload}`)
  if (!verify('sha256', signedText, withJwsEncoding(publicKey), Buffer.from(signature, 'base64url'))) return undefined
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
  return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : undefined
}

/** A signature takes a few milliseconds, so a request behind 1000 others waits for a few seconds. */
const maxWaiting = 1_000
const deadline = 10 * seconds

/** The signature in base64url. Node computes it in a thread because it is given a callback. */
const signInThread = (key: KeyObject, text: string) =>
  new Promise<string>((resolve, reject) => {
    sign('sha256', Buffer.from(text), key, (error, signature) =>
      error ? reject(error) : resolve(signature.toString('base64url')),
    )
  })

/**
 * Makes RSA signatures outside of the event loop, which they would hold up. They are made one at a time, so that a core is left for
 * requests.
 */
export const createRsaSignatures = () => {
  const queue = createBoundedQueue({ maxRunning: 1, maxWaiting })
  return async (key: KeyObject, text: string): Promise<string> => {
    const signature = await queue.run(() => signInThread(key, text), AbortSignal.timeout(deadline))
    if (isRefused(signature)) throw new StoreUnavailable('Too many tokens wait for their signature')
    return signature
  }
}
