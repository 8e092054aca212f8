import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { Browser } from './client.js'

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest()

/** CBOR (RFC 8949), as much of it as an authenticator writes. */
const head = (major: number, size: number) =>
  size < 24
    ? Buffer.from([(major << 5) | size])
    : size < 256
      ? Buffer.from([(major << 5) | 24, size])
      : Buffer.from([(major << 5) | 25, size >> 8, size & 255])
type Item = number | string | Buffer | Map<number | string, Item>
const cbor = (item: Item): Buffer => {
  if (typeof item === 'number') return item < 0 ? head(1, -1 - item) : head(0, item)
  if (typeof item === 'string') return Buffer.concat([head(3, Buffer.byteLength(item)), Buffer.from(item)])
  if (Buffer.isBuffer(item)) return Buffer.concat([head(2, item.length), item])
  return Buffer.concat([head(5, item.size), ...[...item].flatMap(([key, value]) => [cbor(key), cbor(value)])])
}

/** The faults that an answer can have. */
export type Faults = {
  challenge?: string
  origin?: string
  rpId?: string
  type?: string
  userVerified?: boolean
  counter?: number
  userHandle?: string | null
  crossOrigin?: boolean
  otherKey?: boolean
}
type Options = { challenge: string; rpId?: string; rp?: { id: string }; user?: { id: string } }

const kinds = {
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  Ed25519: () => generateKeyPairSync('ed25519'),
  'RSA 1024': () => generateKeyPairSync('rsa', { modulusLength: 1_024 }),
  'RSA 2048': () => generateKeyPairSync('rsa', { modulusLength: 2_048 }),
}
export type KeyKind = keyof typeof kinds

const curves: Record<string, number> = { 'P-256': 1, 'P-384': 2 }

/** A public key as an authenticator writes it (COSE, RFC 9053). */
const coseOf = (publicKey: KeyObject) => {
  const { kty, crv = '', x = '', y = '', n = '', e = '' } = publicKey.export({ format: 'jwk' })
  const bytes = (text: string) => Buffer.from(text, 'base64url')
  if (kty === 'RSA')
    return [
      [1, 3],
      [3, -257],
      [-1, bytes(n)],
      [-2, bytes(e)],
    ] as [number, Item][]
  if (kty === 'OKP')
    return [
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytes(x)],
    ] as [number, Item][]
  return [
    [1, 2],
    [3, -7],
    [-1, curves[crv] ?? 0],
    [-2, bytes(x)],
    [-3, bytes(y)],
  ] as [number, Item][]
}

/** An authenticator with one passkey (ES256), which does what a good one does unless a fault is asked for. */
export const createPasskey = (origin: string, kind: KeyKind = 'P-256', aaguid = '0'.repeat(32)) => {
  const keys = kinds[kind]
  const { publicKey, privateKey } = keys()
  const id = randomBytes(32)
  const idText = id.toString('base64url')
  let counter = 0
  let userHandle = ''

  const clientData = (type: string, { challenge }: Options, faults: Faults) =>
    Buffer.from(
      JSON.stringify({
        type: faults.type ?? type,
        challenge: faults.challenge ?? challenge,
        origin: faults.origin ?? origin,
        crossOrigin: faults.crossOrigin ?? false,
      }),
    )
  const flagsOf = ({ userVerified = true }: Faults, more: number) => 0x01 | (userVerified ? 0x04 : 0) | more
  /** Backed up: 0x18. */
  const authenticatorData = (rpId: string, faults: Faults, more: number, rest: Buffer = Buffer.alloc(0)) => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(faults.counter ?? counter)
    return Buffer.concat([sha256(faults.rpId ?? rpId), Buffer.from([flagsOf(faults, 0x18 | more)]), count, rest])
  }

  return {
    id: idText,
    count: (next: number) => {
      counter = next
    },

    /** The answer to options for registering. */
    create: (options: unknown, faults: Faults = {}) => {
      const asked = options as Options
      userHandle = asked.user?.id ?? ''
      const key = new Map<number, Item>(coseOf(publicKey))
      const attested = Buffer.concat([Buffer.from(aaguid, 'hex'), Buffer.from([0, id.length]), id, cbor(key)])
      const attestation = new Map<string, Item>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authenticatorData(asked.rp?.id ?? '', faults, 0x40, attested)],
      ])
      return {
        id: idText,
        rawId: idText,
        type: 'public-key',
        response: {
          clientDataJSON: clientData('webauthn.create', asked, faults).toString('base64url'),
          attestationObject: cbor(attestation).toString('base64url'),
          transports: ['internal', 'hybrid'],
        },
        clientExtensionResults: { credProps: { rk: true } },
      }
    },

    /** The answer to options for signing in or a step-up. */
    get: (options: unknown, faults: Faults = {}) => {
      const asked = options as Options
      const data = clientData('webauthn.get', asked, faults)
      const authData = authenticatorData(asked.rpId ?? '', faults, 0)
      const key = faults.otherKey ? keys().privateKey : privateKey
      return {
        id: idText,
        rawId: idText,
        type: 'public-key',
        response: {
          clientDataJSON: data.toString('base64url'),
          authenticatorData: authData.toString('base64url'),
          signature: sign('sha256', Buffer.concat([authData, sha256(data)]), key).toString('base64url'),
          userHandle: faults.userHandle === undefined ? userHandle : faults.userHandle,
        },
        clientExtensionResults: {},
      }
    },
  }
}

export type Passkey = ReturnType<typeof createPasskey>

/** Adds a passkey to the account of a signed-in browser. */
export const addPasskey = async (tab: Browser, origin: string, name?: string) => {
  const passkey = createPasskey(origin)
  const { body: options } = await tab.act('/api/auth/passkeys/options')
  const added = await tab.act('/api/auth/passkeys', { credential: passkey.create(options), ...(name && { name }) })
  if (added.status !== 201) throw new Error(`The passkey could not be added: ${added.text}`)
  return { passkey, added: added.body }
}

/** Signs in with the passkey, in a browser. */
export const signInWith = async (tab: Browser, passkey: Passkey, faults: Faults = {}) => {
  const { body: options } = await tab.post('/api/auth/passkey-login/options')
  return tab.post('/api/auth/passkey-login', { credential: passkey.get(options, faults) })
}
