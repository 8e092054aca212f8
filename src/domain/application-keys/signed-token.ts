import { type KeyObject, verify } from 'node:crypto'

export const applicationAlgorithms = ['RS256', 'ES256'] as const
export type ApplicationAlgorithm = (typeof applicationAlgorithms)[number]

export type TokenType = 'JWT' | 'logout+jwt'

/** Signs claims for an application, with the key that its algorithm has now. */
export type SignToken = (
  algorithm: ApplicationAlgorithm,
  token: { typ: TokenType; claims: Record<string, unknown> },
) => Promise<string>

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The only header that tokens of this type have with this key. Its text selects the key, so that nobody else chooses an algorithm. */
export const headerFor = ({ id, algorithm }: { id: string; algorithm: ApplicationAlgorithm }, typ: TokenType) =>
  encoded({ alg: algorithm, typ, kid: id })

/** JWS writes a signature of ES256 as two numbers of 32 bytes (RFC 7518, 3.4), and not as OpenSSL does. */
export const withEncoding = (key: KeyObject) => ({ key, dsaEncoding: 'ieee-p1363' as const })

export const unsignedToken = (header: string, claims: Record<string, unknown>) => `${header}.${encoded(claims)}`

/** The length of the largest form that is read. */
const maximumLength = 16_384
const shape = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/

/** Parts of a token; undefined for another spelling of the same bytes. */
export const tokenParts = (token: string) => {
  if (token.length > maximumLength) return undefined
  const [, header, payload, signature] = shape.exec(token) ?? []
  if (header === undefined || payload === undefined || signature === undefined) return undefined
  const isCanonical = [payload, signature].every(
    (part) => Buffer.from(part, 'base64url').toString('base64url') === part,
  )
  return isCanonical ? { header, payload, signature } : undefined
}

type TokenParts = NonNullable<ReturnType<typeof tokenParts>>

/** The claims; undefined if the signature is wrong. */
export const verifiedClaims = ({ header, payload, signature }: TokenParts, publicKey: KeyObject) => {
  const signed = Buffer.from(`${header}.${payload}`)
  if (!verify('sha256', signed, withEncoding(publicKey), Buffer.from(signature, 'base64url'))) return undefined
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
  return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : undefined
}
