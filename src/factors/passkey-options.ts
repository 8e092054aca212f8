import type { PasskeyCreationOptions, PasskeyRequestOptions } from '../contract/passkeys.js'
import type { Database } from '../platform/database/database.js'
import type { User } from '../users/users.js'
import { type Ceremonies, type Ceremony, ceremonyLifetime } from './ceremonies.js'
import * as store from './passkeys.store.js'
import { algorithms, type RelyingParty } from './verification.js'

const toBase64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
/** The user handle, with which an authenticator says whose passkey it is. */
export const handleOf = (userId: string) => Buffer.from(userId, 'utf8').toString('base64url')

const descriptorOf = ({ credential_id: id, transports }: store.PasskeyRow) => ({
  id: toBase64url(id),
  type: 'public-key' as const,
  transports,
})

type Dependencies = { database: Database; ceremonies: Ceremonies; relyingParty: RelyingParty }

/** The options with which a browser makes a passkey, or signs a challenge with one. */
export const createPasskeyOptions = ({ database, ceremonies, relyingParty }: Dependencies) => {
  const usablePasskeysOf = async (userId: string) =>
    (await store.selectOfUser(database, userId)).filter((row) => row.relying_party === relyingParty.id)

  const requestOptions = ({ challenge }: Ceremony, rows: store.PasskeyRow[]): PasskeyRequestOptions => ({
    challenge,
    timeout: ceremonyLifetime,
    rpId: relyingParty.id,
    allowCredentials: rows.map(descriptorOf),
    userVerification: 'required',
  })

  /** The options are the same for every visitor of the sign-in page, and need no query. */
  const signInOptions = () => {
    const ceremony = ceremonies.begin('sign_in')
    return { ceremony, options: requestOptions(ceremony, []) }
  }

  const stepUpOptions = async (userId: string, binding: string) => {
    const ceremony = ceremonies.begin('step_up', binding)
    return { ceremony, options: requestOptions(ceremony, await usablePasskeysOf(userId)) }
  }

  const registrationOptions = async ({ id, username, name }: User, binding: string) => {
    const ceremony = ceremonies.begin('registration', binding)
    const options: PasskeyCreationOptions = {
      rp: { id: relyingParty.id, name: relyingParty.name },
      user: { id: handleOf(id), name: username, displayName: name ?? username },
      challenge: ceremony.challenge,
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      timeout: ceremonyLifetime,
      excludeCredentials: (await usablePasskeysOf(id)).map(descriptorOf),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
      extensions: { credProps: true },
    }
    return { ceremony, options }
  }

  return { signInOptions, stepUpOptions, registrationOptions }
}
