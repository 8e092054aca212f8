import { type KeyObject, sign, verify } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { isRefused } from '../contract/outcome.js'
import type { Clock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'
import { StoreUnavailable } from '../platform/database/database.js'
import { createBoundedQueue } from '../platform/queues.js'
import { createReadingRounds } from '../platform/rounds.js'
import type { KeyAlgorithm, KeyPair } from './key-pair.js'
import { createFaultLog, createKeyRing, interval, type Log } from './loaded-keys.js'
import { isUnopened, isUnreadable, type KeySet, type SigningKeys } from './signing-keys.js'

export type TokenType = 'JWT' | 'logout+jwt' | 'at+jwt'

/** Signs claims for an application, with the key that its algorithm has now. */
export type SignToken = (
  algorithm: KeyAlgorithm,
  token: { typ: TokenType; claims: Record<string, unknown> },
) => Promise<string>

const encodeJson = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The only header of tokens of this type and key. Its text selects the key, so that the sender of a token cannot choose an algorithm. */
export const headerFor = ({ id, algorithm }: { id: string; algorithm: KeyAlgorithm }, typ: TokenType) =>
  encodeJson({ alg: algorithm, typ, kid: id })

/** JWS writes a signature of ES256 as two numbers of 32 bytes (RFC 7518, 3.4), and not as OpenSSL does. */
const withJwsEncoding = (key: KeyObject) => ({ key, dsaEncoding: 'ieee-p1363' as const })

export const unsignedToken = (header: string, claims: Record<string, unknown>) => `${header}.${encodeJson(claims)}`

/** As long as the largest form that the service reads. */
const maxLength = 16_384
const tokenShape = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/

/** The parts of a token. Undefined if a part is spelled in another way than base64url writes its bytes. */
const tokenParts = (token: string) => {
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
const verifiedClaims = ({ header, payload, signature }: TokenParts, publicKey: KeyObject) => {
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

/** Leaves a core for requests, and one of Node's four threads for files and names of hosts. */
const maxRunning = Math.min(3, Math.max(1, availableParallelism() - 1))

/** Makes RSA signatures outside of the event loop, which they would hold up. */
const createRsaSignatures = () => {
  const queue = createBoundedQueue({ maxRunning, maxWaiting })
  return async (key: KeyObject, text: string): Promise<string> => {
    // Node's own signal with a timeout would stay behind every signature until its time is over.
    const giveUp = new AbortController()
    const timer = setTimeout(() => giveUp.abort(), deadline)
    const signature = await queue.run(() => signInThread(key, text), giveUp.signal).finally(() => clearTimeout(timer))
    if (isRefused(signature)) throw new StoreUnavailable('Too many tokens wait for their signature')
    return signature
  }
}

/** The public keys, by the headers of ID tokens only: a logout token is not accepted as a hint. */
const publicKeysByHeader = ({ keys }: KeySet) =>
  new Map(keys.flatMap((key) => (key.publicKey ? [[headerFor(key, 'JWT'), key.publicKey]] : [])))

/** Those of access tokens for resources: only keys that are published. */
const trustedKeysByHeader = (trusted: readonly { pair: KeyPair }[]) =>
  new Map(trusted.map(({ pair }) => [headerFor(pair, 'at+jwt'), pair.publicKey]))

const messages = {
  failing: 'the keys of ID tokens cannot be read: going on with those that are known',
  recovered: 'the keys of ID tokens are read again',
  unopened: 'a key of ID tokens cannot be opened: SEALING_KEY must be the same at every instance',
  unreadable: 'a retired key of ID tokens is ignored: it was not sealed with this SEALING_KEY, or was changed since',
}

type Signing = { applicationKeys: SigningKeys; clock: Clock; log: Log }

/** Signs ID tokens, logout tokens and access tokens for resources, publishes their keys, and reads tokens that come back. */
export const createLoadedApplicationKeys = ({ applicationKeys: signingKeys, clock, log }: Signing) => {
  const signWithRsa = createRsaSignatures()
  const reportFault = createFaultLog(log)
  let byHeader: ReadonlyMap<string, KeyObject> = new Map()
  const { load, loaded, signer, ages } = createKeyRing({
    name: 'application keys',
    signingKeys,
    clock,
    makesKeys: true,
    check: ({ keys }) => {
      reportFault(messages.unopened, keys.filter(isUnopened))
      reportFault(messages.unreadable, keys.filter(isUnreadable))
    },
    onLoaded: (set) => {
      byHeader = publicKeysByHeader(set)
    },
    onMade: ({ id, algorithm, signsFrom }) =>
      log.info({ key: id, algorithm, signsFrom: signsFrom.toISOString() }, 'key of ID tokens made'),
  })

  /** An application may have been added a moment ago. Then the first key of its algorithm is made for its first token. */
  const signerOf = async (algorithm: KeyAlgorithm) => {
    const knownPair = signer(algorithm)
    if (knownPair) return knownPair
    await load()
    const pair = signer(algorithm)
    if (!pair) throw new StoreUnavailable(`There is no key for ${algorithm} that this instance can open`)
    return pair
  }

  const signatureOf = async ({ algorithm, signingKey }: KeyPair, text: string) =>
    algorithm === 'RS256'
      ? signWithRsa(signingKey, text)
      : sign('sha256', Buffer.from(text), withJwsEncoding(signingKey)).toString('base64url')

  const signToken: SignToken = async (algorithm, { typ, claims }) => {
    const pair = await signerOf(algorithm)
    const text = unsignedToken(headerFor(pair, typ), claims)
    return `${text}.${await signatureOf(pair, text)}`
  }

  const { start, stop } = createReadingRounds({ read: load, interval, messages, log })

  return {
    load,
    start,
    stop,
    sign: signToken,
    /** The key set (RFC 7517, 5). */
    published: async () => {
      if (!loaded()) await load()
      return { keys: (loaded()?.trusted ?? []).map(({ pair }) => pair.published) }
    },
    /** The claims of an ID token that one of our keys has signed, even a retired key. Whether the token has expired is not checked. */
    readSigned: async (token: string) => {
      const parts = tokenParts(token)
      if (!parts) return undefined
      if (!loaded()) await load()
      const key = byHeader.get(parts.header)
      return key && verifiedClaims(parts, key)
    },
    /** The claims of an access token for a resource. Undefined if none of the published keys has signed it. */
    readAccess: async (token: string) => {
      const parts = tokenParts(token)
      if (!parts) return undefined
      if (!loaded()) await load()
      const key = trustedKeysByHeader(loaded()?.trusted ?? []).get(parts.header)
      return key && verifiedClaims(parts, key)
    },
    ages,
  }
}
