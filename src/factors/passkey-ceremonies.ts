import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { refuse } from '../contract/outcome.js'
import type { PasskeyCreationOptions, PasskeyCredential, PasskeyRequestOptions } from '../contract/passkeys.js'
import { ceremonyLifetime } from '../http/cookie-table.js'
import { type Clock, later } from '../lib/clock.js'
import { fingerprint, randomToken } from '../lib/random.js'
import type { Seal } from '../lib/seal.js'
import type { OneTimeTokens } from '../messages/one-time-tokens.js'
import type { Database } from '../platform/database/database.js'
import type { User } from '../users/users.js'
import { passkeyProvider } from './passkey-providers.js'
import * as store from './passkeys.store.js'

/** The purpose of a challenge. An answer for one purpose is refused for another. */
export type Purpose = 'sign_in' | 'registration' | 'step_up'

/** `sealedChallenge` is for a cookie of the browser that gets the challenge. */
export type Ceremony = { challenge: string; sealedChallenge: string; expiresAt: Date }

/** Binds a challenge to one session, or to one sign-in by its id, so that it cannot be answered in another. */
export const sessionBinding = ({ userId, sessionId }: { userId: string; sessionId: string }) => `${userId} ${sessionId}`

const sealedShape = /^(\d{13})\.([\w-]+)$/

/** When the value of a cookie expires, for tidying up. Whether the value is genuine is checked by `read` only. */
export const expiryOfSealedChallenge = (sealedChallenge: string) => Number(sealedShape.exec(sealedChallenge)?.[1] ?? 0)

type Sealing = { seal: Seal; clock: Clock }

const associatedData = (purpose: Purpose, binding: string, challenge: string, expiry: string) =>
  JSON.stringify([purpose, binding, challenge, expiry])

/**
 * Makes a challenge for a passkey. The server stores none. The browser has a sealed value that opens only together with its challenge, its
 * purpose and what it is bound to, such as a session.
 */
export const beginCeremony = ({ seal, clock }: Sealing, purpose: Purpose, binding = ''): Ceremony => {
  const challenge = randomToken()
  const expiresAt = later(clock.now(), ceremonyLifetime)
  const expiry = String(expiresAt.getTime())
  const sealed = seal.seal('', associatedData(purpose, binding, challenge, expiry))
  return { challenge, sealedChallenge: `${expiry}.${sealed}`, expiresAt }
}

/** The time at which a challenge expires. Undefined if it has expired, if this browser did not get it, or got it for another purpose. */
const expiryOf = ({ seal, clock }: Sealing, sealedChallenge: string, bound: [Purpose, string, string]) => {
  const [, expiry = '', sealed = ''] = sealedShape.exec(sealedChallenge) ?? []
  if (seal.open(sealed, associatedData(...bound, expiry)) === undefined) return undefined
  const expiresAt = new Date(Number(expiry))
  return expiresAt > clock.now() ? expiresAt : undefined
}

export type RelyingParty = { id: string; origin: string; name: string }

/** The COSE numbers of EdDSA, ES256 and RS256. */
const algorithms = [-8, -7, -257]

/** The challenge in the browser's answer. Undefined if the answer cannot be read, or if another site shows the page in a frame. */
export const clientDataOf = ({ response }: PasskeyCredential) => {
  try {
    const data: unknown = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8'))
    if (typeof data !== 'object' || data === null || !('challenge' in data)) return undefined
    if ('crossOrigin' in data && data.crossOrigin === true) return undefined
    const { challenge } = data
    return typeof challenge === 'string' && /^[\w-]{43}$/.test(challenge) ? { challenge } : undefined
  } catch {
    return undefined
  }
}

/** The library throws for everything that is wrong, and for what it cannot read. */
const undefinedIfInvalid = async <Result>(check: () => Promise<Result>) => {
  try {
    return await check()
  } catch {
    return undefined
  }
}

/** We ask for no attestation and check no certificates, so a statement with certificates is refused. */
const hasPlainAttestation = async (attestationObject: string) => {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')))
  const format = decoded.get('fmt')
  return format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined)
}

/** Smaller keys can be broken. Every authenticator on the market makes larger ones. */
const minRsaModulusBytes = 2_048 / 8
/** The numbers of the curves in COSE (RFC 9053, section 7.1). */
const p256 = 1
const ed25519 = 6

/** Whether the key is one of the kinds that we ask for, and large enough. */
const isStrongKey = async (publicKey: Uint8Array) => {
  const { cose, decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers')
  const key = decodeCredentialPublicKey(new Uint8Array(publicKey))
  if (cose.isCOSEPublicKeyEC2(key)) return key.get(cose.COSEKEYS.crv) === p256
  if (cose.isCOSEPublicKeyOKP(key)) return key.get(cose.COSEKEYS.crv) === ed25519
  if (!cose.isCOSEPublicKeyRSA(key)) return false
  const modulus = key.get(cose.COSEKEYS.n) ?? new Uint8Array()
  return modulus.slice(modulus.findIndex((byte) => byte !== 0)).length >= minRsaModulusBytes
}

/** The new passkey. Undefined if the answer to this challenge is wrong. */
export const verifyRegistration = (credential: PasskeyCredential, challenge: string, party: RelyingParty) =>
  undefinedIfInvalid(async () => {
    // A passkey that the authenticator does not store itself could not sign a user in without a username.
    if (credential.clientExtensionResults?.credProps?.rk === false) return undefined
    if (!(await hasPlainAttestation(credential.response.attestationObject ?? ''))) return undefined
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: credential as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    })
    if (!verified) return undefined
    const { id, publicKey, counter } = registrationInfo.credential
    if (id !== credential.id || !(await isStrongKey(publicKey))) return undefined
    const { credentialBackedUp: synced, aaguid } = registrationInfo
    return { credentialId: id, publicKey, counter, synced, provider: passkeyProvider(aaguid) }
  })

type StoredCredential = { credentialId: string; publicKey: Uint8Array; counter: number }

/** The counter after this use, and whether the passkey is synced. Undefined if the answer to this challenge is wrong. */
const verifyAssertion = (
  credential: PasskeyCredential,
  challenge: string,
  party: RelyingParty,
  stored: StoredCredential,
) =>
  undefinedIfInvalid(async () => {
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: credential as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      credential: { id: stored.credentialId, publicKey: new Uint8Array(stored.publicKey), counter: stored.counter },
      requireUserVerification: true,
    })
    if (!verified) return undefined
    return { counter: authenticationInfo.newCounter, synced: authenticationInfo.credentialBackedUp }
  })

const toBase64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
/** The user handle, with which an authenticator says whose passkey it is. */
const handleOf = (userId: string) => Buffer.from(userId, 'utf8').toString('base64url')

const descriptorOf = ({ credential_id: id, transports }: store.PasskeyRow) => ({
  id: toBase64url(id),
  type: 'public-key' as const,
  transports,
})

/** An answer of a browser. `binding` is what its challenge must be bound to. */
type Answer = { credential: PasskeyCredential; sealedChallenge: string | undefined; binding: string }

/** A passkey that has just signed a challenge. The proof counts after `accept` has stored it. */
export type ProvenPasskey = { id: string; userId: string; counter: number; synced: boolean }

/** A passkey that was made for our challenge. It works after `add` has stored it. */
export type NewPasskey = Awaited<ReturnType<typeof verifyRegistration>> & { transports: string[] }

/** Why an answer was refused, for the operator. The user gets the same answer for every reason. */
export type RejectedReason = 'challenge' | 'unknown_passkey' | 'wrong_passkey'
export const reject = (reason: RejectedReason, userId?: string) =>
  refuse('passkey_rejected', { reason, ...(userId !== undefined && { userId }) })

type Services = Sealing & {
  database: Database
  relyingParty: RelyingParty
  oneTimeTokens: OneTimeTokens
}

const usablePasskeysOf = async ({ database, relyingParty }: Services, userId: string) =>
  (await store.selectOfUser(database, userId)).filter((row) => row.relying_party === relyingParty.id)

const requestOptions = (
  { relyingParty }: Services,
  { challenge }: Ceremony,
  rows: store.PasskeyRow[],
): PasskeyRequestOptions => ({
  challenge,
  timeout: ceremonyLifetime,
  rpId: relyingParty.id,
  allowCredentials: rows.map(descriptorOf),
  userVerification: 'required',
})

const creationOptions = (
  { relyingParty }: Services,
  { challenge }: Ceremony,
  { id, username, name }: User,
  rows: store.PasskeyRow[],
): PasskeyCreationOptions => ({
  rp: { id: relyingParty.id, name: relyingParty.name },
  user: { id: handleOf(id), name: username, displayName: name ?? username },
  challenge,
  pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
  timeout: ceremonyLifetime,
  excludeCredentials: rows.map(descriptorOf),
  authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
  attestation: 'none',
  extensions: { credProps: true },
})

/** The challenge that was answered. After this call it cannot be answered again, whatever follows. */
const takeChallenge = async (
  services: Services,
  purpose: Purpose,
  { credential, sealedChallenge, binding }: Answer,
) => {
  const challenge = clientDataOf(credential)?.challenge
  if (challenge === undefined || sealedChallenge === undefined) return undefined
  const expiresAt = expiryOf(services, sealedChallenge, [purpose, binding, challenge])
  if (!expiresAt) return undefined
  const isFirst = await services.oneTimeTokens.useOnce('passkey_challenge', fingerprint(challenge), expiresAt)
  return isFirst ? challenge : undefined
}

/**
 * The question to a browser when it makes or uses a passkey, and the check of its answer. The caller binds a ceremony to a session, or to
 * whatever else stands for the user. These functions know nothing of sessions.
 */
export const createPasskeyCeremonies = (services: Services) => {
  const { database, relyingParty } = services
  return {
    /** The options are the same for every visitor of the sign-in page, and need no query. */
    signInOptions: () => {
      const ceremony = beginCeremony(services, 'sign_in')
      return { ceremony, options: requestOptions(services, ceremony, []) }
    },

    stepUpOptions: async (userId: string, binding: string) => {
      const ceremony = beginCeremony(services, 'step_up', binding)
      return { ceremony, options: requestOptions(services, ceremony, await usablePasskeysOf(services, userId)) }
    },

    registrationOptions: async (user: User, binding: string) => {
      const ceremony = beginCeremony(services, 'registration', binding)
      return { ceremony, options: creationOptions(services, ceremony, user, await usablePasskeysOf(services, user.id)) }
    },

    verifyNew: async (answer: Answer): Promise<NewPasskey | ReturnType<typeof reject>> => {
      const challenge = await takeChallenge(services, 'registration', answer)
      if (challenge === undefined) return reject('challenge')
      const { credential } = answer
      const verified = await verifyRegistration(credential, challenge, relyingParty)
      return verified ? { ...verified, transports: credential.response.transports ?? [] } : reject('wrong_passkey')
    },

    /** Verifies a passkey of any user at a sign-in, or a passkey of `userId`. */
    verify: async (purpose: 'sign_in' | 'step_up', answer: Answer, userId?: string) => {
      const challenge = await takeChallenge(services, purpose, answer)
      if (challenge === undefined) return reject('challenge')
      const { credential } = answer
      const credentialId = Buffer.from(credential.id, 'base64url')
      const [row] = await store.selectByCredential(database, credentialId, relyingParty.id)
      if (!row || (userId !== undefined && row.user_id !== userId)) return reject('unknown_passkey')
      // Without a list of credentials, the authenticator says whose passkey it is. With a list, it may leave that out.
      const handle = credential.response.userHandle ?? undefined
      const isOwner = handle === handleOf(row.user_id) || (handle === undefined && purpose === 'step_up')
      if (!isOwner) return reject('wrong_passkey', row.user_id)
      const stored = { credentialId: credential.id, publicKey: row.public_key, counter: row.counter }
      const verified = await verifyAssertion(credential, challenge, relyingParty, stored)
      return verified ? { id: row.id, userId: row.user_id, ...verified } : reject('wrong_passkey', row.user_id)
    },
  }
}
