import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { PasskeyCredential } from '../contract/passkeys.js'

export type RelyingParty = { id: string; origin: string; name: string }

/** The COSE numbers of EdDSA, ES256 and RS256. */
export const algorithms = [-8, -7, -257]

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
    return { credentialId: id, publicKey, counter, synced: registrationInfo.credentialBackedUp }
  })

type StoredCredential = { credentialId: string; publicKey: Uint8Array; counter: number }

/** The counter after this use, and whether the passkey is synced. Undefined if the answer to this challenge is wrong. */
export const verifyAssertion = (
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
