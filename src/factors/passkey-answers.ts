import { refuse } from '../contract/outcome.js'
import type { PasskeyCredential } from '../contract/passkeys.js'
import { fingerprint } from '../lib/random.js'
import type { OneTimeTokens } from '../messages/one-time-tokens.js'
import type { Database } from '../platform/database/database.js'
import type { Ceremonies, Purpose } from './ceremonies.js'
import { handleOf } from './passkey-options.js'
import * as store from './passkeys.store.js'
import { clientDataOf, type RelyingParty, verifyAssertion, verifyRegistration } from './verification.js'

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

type Dependencies = {
  database: Database
  ceremonies: Ceremonies
  relyingParty: RelyingParty
  oneTimeTokens: Pick<OneTimeTokens, 'useOnce'>
}

/** Checks what a browser has answered to a challenge. */
export const createPasskeyAnswers = ({ database, ceremonies, relyingParty, oneTimeTokens }: Dependencies) => {
  /** The challenge that was answered. After this call it cannot be answered again, whatever follows. */
  const takeChallenge = async (purpose: Purpose, { credential, sealedChallenge, binding }: Answer) => {
    const challenge = clientDataOf(credential)?.challenge
    if (challenge === undefined || sealedChallenge === undefined) return undefined
    const expiresAt = ceremonies.read(sealedChallenge, purpose, binding, challenge)
    if (!expiresAt) return undefined
    const isFirst = await oneTimeTokens.useOnce('passkey_challenge', fingerprint(challenge), expiresAt)
    return isFirst ? challenge : undefined
  }

  const verifyNew = async (answer: Answer): Promise<NewPasskey | ReturnType<typeof reject>> => {
    const challenge = await takeChallenge('registration', answer)
    if (challenge === undefined) return reject('challenge')
    const { credential } = answer
    const verified = await verifyRegistration(credential, challenge, relyingParty)
    return verified ? { ...verified, transports: credential.response.transports ?? [] } : reject('wrong_passkey')
  }

  /** Verifies a passkey of any user at a sign-in, or a passkey of `userId`. */
  const verify = async (purpose: 'sign_in' | 'step_up', answer: Answer, userId?: string) => {
    const challenge = await takeChallenge(purpose, answer)
    if (challenge === undefined) return reject('challenge')
    const { credential } = answer
    const credentialId = Buffer.from(credential.id, 'base64url')
    const [row] = await store.selectByCredential(database, credentialId, relyingParty.id)
    if (!row || (userId !== undefined && row.user_id !== userId)) return reject('unknown_passkey')
    // Without a list of credentials, the authenticator says whose passkey it is. With a list, it may leave that out.
    const handle = credential.response.userHandle ?? undefined
    const isOwner = handle === handleOf(row.user_id) || (handle === undefined && purpose === 'step_up')
    const storedCredential = { credentialId: credential.id, publicKey: row.public_key, counter: row.counter }
    const verified = isOwner ? await verifyAssertion(credential, challenge, relyingParty, storedCredential) : undefined
    return verified ? { id: row.id, userId: row.user_id, ...verified } : reject('wrong_passkey', row.user_id)
  }

  return { verifyNew, verify }
}
