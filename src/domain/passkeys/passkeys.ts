import { longestPasskeyName } from '../../contract/name-lengths.js'
import { refuse } from '../../contract/outcome.js'
import type { PasskeyCreationOptions, PasskeyCredential, PasskeyRequestOptions } from '../../contract/passkeys.js'
import type { Clock } from '../../lib/clock.js'
import { fingerprint } from '../../lib/random.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import { createOptionalTransaction } from '../../platform/database/optional-transaction.js'
import type { OneTimeTokens } from '../one-time-tokens/one-time-tokens.js'
import type { Providers } from '../providers/providers.js'
import { canSignIn } from '../sign-in/ways-to-sign-in.js'
import { displayName } from '../users/display-name.js'
import type { User } from '../users/users.js'
import { type Ceremonies, type Ceremony, ceremonyLifetime, type Purpose } from './ceremonies.js'
import { createPasskeyRecords, shownPasskey } from './passkey-records.js'
import * as store from './passkeys.store.js'
import { algorithms, clientDataOf, type RelyingParty, verifyAssertion, verifyRegistration } from './verification.js'

const mostPasskeys = 25

/** An answer of a browser. `binding` is what its challenge must be bound to. */
type Answered = { credential: PasskeyCredential; sealedChallenge: string | undefined; binding: string }

/** A passkey that has just signed a challenge. It counts when `accept` has written that down. */
export type ProvenPasskey = { id: string; userId: string; counter: number; synced: boolean }

/** A passkey that was made for our challenge. It counts when `add` has written it down. */
export type NewPasskey = Awaited<ReturnType<typeof verifyRegistration>> & { transports: string[] }

/** Why an answer was refused, for the operator. The user gets one answer for all of them. */
export type RejectedReason = 'challenge' | 'unknown_passkey' | 'wrong_passkey'
const reject = (reason: RejectedReason, userId?: string) =>
  refuse('passkey_rejected', { reason, ...(userId !== undefined && { userId }) })

const encoded = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
const handleOf = (userId: string) => Buffer.from(userId, 'utf8').toString('base64url')

const descriptorOf = ({ credential_id: id, transports }: store.PasskeyRow) => ({
  id: encoded(id),
  type: 'public-key' as const,
  transports,
})

/** Null if nothing of it can be shown. */
export const passkeyName = (wanted: string) => displayName(wanted, longestPasskeyName)

type Dependencies = {
  database: Database
  clock: Clock
  ceremonies: Ceremonies
  relyingParty: RelyingParty
  oneTimeTokens: Pick<OneTimeTokens, 'useOnce'>
  /** By id: those that are configured. */
  providers: Providers
}

export type Passkeys = ReturnType<typeof createPasskeys>

/**
 * The passkeys of accounts. A ceremony is bound by its caller, to a session or whatever else stands for the user; nothing here
 * knows sessions.
 */
export const createPasskeys = (deps: Dependencies) => {
  const { database, clock, ceremonies, relyingParty, oneTimeTokens } = deps

  const usableOf = async (userId: string) =>
    (await store.selectOfUser(database, userId)).filter((row) => row.relying_party === relyingParty.id)

  const requestOptions = ({ challenge }: Ceremony, rows: store.PasskeyRow[]): PasskeyRequestOptions => ({
    challenge,
    timeout: ceremonyLifetime,
    rpId: relyingParty.id,
    allowCredentials: rows.map(descriptorOf),
    userVerification: 'required',
  })

  /** The same for everyone, and no store is asked: every visitor of the sign-in page gets them. */
  const signInOptions = () => {
    const ceremony = ceremonies.begin('sign_in')
    return { ceremony, options: requestOptions(ceremony, []) }
  }

  const stepUpOptions = async (userId: string, binding: string) => {
    const ceremony = ceremonies.begin('step_up', binding)
    return { ceremony, options: requestOptions(ceremony, await usableOf(userId)) }
  }

  const registrationOptions = async ({ id, username, name }: User, binding: string) => {
    const ceremony = ceremonies.begin('registration', binding)
    const options: PasskeyCreationOptions = {
      rp: { id: relyingParty.id, name: relyingParty.name },
      user: { id: handleOf(id), name: username, displayName: name ?? username },
      challenge: ceremony.challenge,
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      timeout: ceremonyLifetime,
      excludeCredentials: (await usableOf(id)).map(descriptorOf),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
      extensions: { credProps: true },
    }
    return { ceremony, options }
  }

  /** The challenge that was answered. From now on it cannot be answered again, whatever follows. */
  const takeChallenge = async (purpose: Purpose, { credential, sealedChallenge, binding }: Answered) => {
    const challenge = clientDataOf(credential)?.challenge
    if (challenge === undefined || sealedChallenge === undefined) return undefined
    const expiresAt = ceremonies.read(sealedChallenge, purpose, binding, challenge)
    if (!expiresAt) return undefined
    const isFirst = await oneTimeTokens.useOnce('passkey_challenge', fingerprint(challenge), expiresAt)
    return isFirst ? challenge : undefined
  }

  const verifyNew = async (answered: Answered): Promise<NewPasskey | ReturnType<typeof reject>> => {
    const challenge = await takeChallenge('registration', answered)
    if (challenge === undefined) return reject('challenge')
    const { credential } = answered
    const verified = await verifyRegistration(credential, challenge, relyingParty)
    return verified ? { ...verified, transports: credential.response.transports ?? [] } : reject('wrong_passkey')
  }

  /** By the passkey of any user, at a sign-in; or by one of `userId`. */
  const verify = async (purpose: 'sign_in' | 'step_up', answered: Answered, userId?: string) => {
    const challenge = await takeChallenge(purpose, answered)
    if (challenge === undefined) return reject('challenge')
    const { credential } = answered
    const credentialId = Buffer.from(credential.id, 'base64url')
    const [row] = await store.selectByCredential(database, credentialId, relyingParty.id)
    if (!row || (userId !== undefined && row.user_id !== userId)) return reject('unknown_passkey')
    // Without a list of credentials the authenticator says whose passkey it is; with one it may leave that out.
    const handle = credential.response.userHandle ?? undefined
    const isOwner = handle === handleOf(row.user_id) || (handle === undefined && purpose === 'step_up')
    const known = { credentialId: credential.id, publicKey: row.public_key, counter: row.counter }
    const verified = isOwner ? await verifyAssertion(credential, challenge, relyingParty, known) : undefined
    return verified ? { id: row.id, userId: row.user_id, ...verified } : reject('wrong_passkey', row.user_id)
  }

  /** The caller holds a lock on the user's row. */
  const add = async (sql: Transaction, user: User, made: NewPasskey, wantedName: string) => {
    if ((await store.selectOfUser(sql, user.id)).length >= mostPasskeys) return refuse('too_many_passkeys')
    const name = passkeyName(wantedName) ?? 'Passkey'
    const [row] = await store.insert(sql, {
      id: uuidv7(clock.now()),
      user_id: user.id,
      credential_id: Buffer.from(made.credentialId, 'base64url'),
      public_key: Buffer.from(made.publicKey),
      counter: made.counter,
      transports: made.transports,
      relying_party: relyingParty.id,
      name,
      synced: made.synced,
      clockOffset: clock.offset(),
    })
    return row ? shownPasskey(row) : reject('wrong_passkey', user.id)
  }

  /**
   * The last way in stays, and with `isNeeded` the last passkey. The caller holds a lock on the user's row: of two removals at
   * once the second sees the first.
   */
  const remove = async (sql: Transaction, user: User, id: string, { isNeeded }: { isNeeded: boolean }) => {
    const rows = await store.selectOfUser(sql, user.id)
    const removed = rows.find((row) => row.id === id)
    if (!removed) return refuse('not_found')
    const isOtherWay = (row: store.PasskeyRow) => row.id !== id && row.relying_party === relyingParty.id
    const hasPasskey = rows.some(isOtherWay)
    if (isNeeded && !hasPasskey && removed.relying_party === relyingParty.id) return refuse('last_factor')
    const hasProvider = user.providers.some((provider) => deps.providers[provider] !== undefined)
    if (!canSignIn({ hasPassword: user.passwordHash !== undefined, hasProvider, hasPasskey }))
      return refuse('last_way_in')
    await store.remove(sql, id)
    return shownPasskey(removed)
  }

  return {
    ...createPasskeyRecords({ database }),
    signInOptions,
    stepUpOptions,
    registrationOptions,
    verifyNew,
    verify,
    /** False if the passkey was removed, or used in the meantime. */
    accept: async (sql: Sql, { id, counter, synced }: ProvenPasskey) =>
      (await store.acceptUse(sql, { id, counter, synced, now: clock.now() })).length > 0,
    add,
    /** How many can sign this user in: those of an earlier host cannot. */
    countUsable: createOptionalTransaction(database)(async (sql, userId: string) => {
      const [row] = await store.countUsable(sql, userId, relyingParty.id)
      return row?.count ?? 0
    }),
    /** The hosts of those that cannot, one for each passkey. */
    otherHostsOf: async (userId: string) =>
      (await store.selectOfUser(database, userId))
        .map((row) => row.relying_party)
        .filter((host) => host !== relyingParty.id),
    /** Undefined if there is no such passkey of this user. */
    rename: async (sql: Sql, id: string, userId: string, name: string) => {
      const [row] = await store.rename(sql, id, userId, name)
      return row && shownPasskey(row)
    },
    remove,
  }
}
