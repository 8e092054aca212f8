import type { PasskeyCreationOptions, PasskeyCredential, PasskeyRequestOptions } from '#contract/passkeys.js'
import type { Passkey, SecondFactorNeeded, SignedIn } from '#contract/schemas.js'
import type { Sending } from './sending.js'

/** The browser makes a credential from the options. The service takes its `toJSON()`. */
export const createPasskeyCalls = (sending: Sending) => ({
  /** For `PublicKeyCredential.parseRequestOptionsFromJSON`. */
  passkeyLoginOptions: () => sending.post<PasskeyRequestOptions>('passkey-login/options'),
  passkeyLogin: (answer: { credential: PasskeyCredential }) =>
    sending.signIn<SignedIn | SecondFactorNeeded>('passkey-login', answer),
  stepUpPasskeyOptions: () => sending.change<PasskeyRequestOptions>('POST', 'step-up/passkey/options'),
  /** For `PublicKeyCredential.parseCreationOptionsFromJSON`. */
  passkeyOptions: () => sending.change<PasskeyCreationOptions>('POST', 'passkeys/options'),
  addPasskey: (made: { credential: PasskeyCredential; name?: string | undefined }) =>
    sending.change<Passkey>('POST', 'passkeys', made),
  renamePasskey: (id: string, to: { name: string }) => sending.change<Passkey>('PATCH', pathOf(id), to),
  removePasskey: (id: string) => sending.change('DELETE', pathOf(id)),
})

const pathOf = (id: string) => `passkeys/${encodeURIComponent(id)}`
