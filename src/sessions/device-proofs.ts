import { createHmac, createPublicKey, verify } from 'node:crypto'
import { seconds } from '../lib/durations.js'
import { equalInConstantTime, type Key } from '../lib/random.js'
import { parseStrictJson } from '../lib/strict-json.js'

/** Proofs of browsers that have about 350 bytes. A longer text is refused unread. */
const longestProof = 2048
const proofShape = /^([\w-]+)\.([\w-]+)\.([\w-]{86})$/
/** A coordinate of a point of P-256: 32 bytes. */
const coordinateShape = /^[\w-]{43}$/

type Members = Readonly<Record<string, unknown>>

const membersIn = (value: unknown): Members | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined

const membersOf = (part: string) => membersIn(parseStrictJson(Buffer.from(part, 'base64url'))?.value)

const isCoordinate = (value: unknown): value is string => typeof value === 'string' && coordinateShape.test(value)

/** The 65 bytes of a point, as they are stored. */
const pointOf = ({ kty, crv, x, y }: Members) => {
  if (kty !== 'EC' || crv !== 'P-256' || !isCoordinate(x) || !isCoordinate(y)) return undefined
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
  return point.length === 65 ? point : undefined
}

/** Throws if the point is not on the curve. */
const publicKeyOf = (point: Uint8Array) => {
  const coordinate = (from: number, to: number) => Buffer.from(point.subarray(from, to)).toString('base64url')
  const key = { kty: 'EC', crv: 'P-256', x: coordinate(1, 33), y: coordinate(33, 65) }
  return createPublicKey({ key, format: 'jwk' })
}

type Read = { header: Members; challenge: string; isSignedBy: (point: Uint8Array) => boolean }

/** A proof with the only type and algorithm that are accepted. Its signature is not checked yet. */
const readProof = (text: string): Read | undefined => {
  if (text.length > longestProof) return undefined
  const [, head = '', payload = '', signature = ''] = proofShape.exec(text) ?? []
  const header = head === '' ? undefined : membersOf(head)
  const challenge = membersOf(payload)?.jti
  if (header?.alg !== 'ES256' || header.typ !== 'dbsc+jwt' || typeof challenge !== 'string') return undefined
  const isSignedBy = (point: Uint8Array) => {
    try {
      const key = publicKeyOf(point)
      const signed = Buffer.from(`${head}.${payload}`)
      return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))
    } catch {
      return false
    }
  }
  return { header, challenge, isSignedBy }
}

/** Reads the proof with which a browser registers: it names its key, which has signed it. Undefined if anything is wrong with it. */
export const readProofOfNewKey = (text: string) => {
  const proof = readProof(text)
  const key = pointOf(membersIn(proof?.header.jwk) ?? {})
  return proof && key && proof.isSignedBy(key) ? { key, challenge: proof.challenge } : undefined
}

/** The challenge that this key has signed. Undefined if anything is wrong with the proof: a key of its own is, too. */
export const readProofOfKey = (text: string, key: Uint8Array) => {
  const proof = readProof(text)
  return proof && !('jwk' in proof.header) && proof.isSignedBy(key) ? proof.challenge : undefined
}

/** How long a challenge can be answered, by the clock of the database. */
export const challengeLifetime = 60 * seconds

/** The session, and the generation of the refresh token that came with the request: a challenge dies with its token. */
export type ChallengedToken = { sid: string; gen: number }

const challengeShape = /^(\d{1,15})\.[\w-]{43}$/

/**
 * What a browser has to sign. Nothing is stored: a challenge is a MAC, so every instance can check it.
 */
export const createChallenges = (keys: readonly Key[]) => {
  const macWith = (key: Key, subject: string) => createHmac('sha256', key).update(subject).digest('base64url')
  const macOf = (subject: string) => {
    const [newest] = keys
    if (!newest) throw new Error('There is no key for challenges')
    return macWith(newest, subject)
  }
  const isMacOf = (mac: string, subject: string) =>
    keys.some((key) => equalInConstantTime(Buffer.from(macWith(key, subject)), Buffer.from(mac)))

  const registration = ({ sid, gen }: ChallengedToken) => `register ${sid} ${gen}`
  const refresh = ({ sid, gen }: ChallengedToken, time: number) => `refresh ${sid} ${gen} ${time}`

  return {
    /** It has no time, because it is given with a new session, whose row has the time. */
    ofRegistration: (token: ChallengedToken) => macOf(registration(token)),
    isOfRegistration: (challenge: string, token: ChallengedToken) => isMacOf(challenge, registration(token)),
    ofRefresh: (token: ChallengedToken, now: Date) => {
      const time = now.getTime()
      return `${time}.${macOf(refresh(token, time))}`
    },
    /** Whether the challenge is of this token, and still good. */
    isOfRefresh: (challenge: string, token: ChallengedToken, now: Date) => {
      const time = Number(challengeShape.exec(challenge)?.[1] ?? Number.NaN)
      const [, mac = ''] = challenge.split('.')
      return now.getTime() - time <= challengeLifetime && isMacOf(mac, refresh(token, time))
    },
  }
}
