import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'

/** A public key as it is published (RFC 7517). */
type PublishedKey = {
  kty: 'EC'
  crv: 'P-256'
  x: string
  y: string
  kid: string
  alg: 'ES256'
  use: 'sig'
}

/** `privateKey` is a text in the PKCS#8 form. The rest is computed from it. */
export type KeyPair = { id: string; privateKey: string; publicKey: string; published: PublishedKey }

const idLength = 16

/** The first characters of the thumbprint (RFC 7638): the same key always has the same id. */
const idOf = (x: string, y: string) =>
  createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url')
    .slice(0, idLength)

export const readKeyPair = (privateKey: string): KeyPair => {
  const publicKey = createPublicKey(createPrivateKey(privateKey))
  const { crv, x, y } = publicKey.export({ format: 'jwk' })
  if (crv !== 'P-256' || x === undefined || y === undefined) throw new Error('A signing key is not of the curve P-256')
  const id = idOf(x, y)
  return {
    id,
    privateKey,
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    published: { kty: 'EC', crv, x, y, kid: id, alg: 'ES256', use: 'sig' },
  }
}

export const newKeyPair = () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return readKeyPair(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
}

const headerShape = new RegExp(`^\\{"alg":"ES256","typ":"at\\+jwt","kid":"[\\w-]{${idLength}}"\\}$`)
/** The length of the header in base64url. The id has a fixed length, so all headers are equally long. */
const headerLength = 74

/** Whether a key of ours, known or not, could have written this header of a token. */
export const mayBeOurs = (text: string) =>
  text.length === headerLength && headerShape.test(Buffer.from(text, 'base64url').toString('latin1'))
