import type { PasskeyCreationOptions, PasskeyCredential, PasskeyRequestOptions } from '#contract/passkeys.js'
import type { Passkey, SignedIn } from '#contract/schemas.js'
import type { Answer } from './answers.js'
import type { Method } from './requests.js'

type Dependencies = {
  post: <Value>(path: string, body?: object) => Promise<Answer<Value>>
  change: <Value = undefined>(method: Method, path: string, body?: object) => Promise<Answer<Value>>
  signIn: (path: string, body: object) => Promise<Answer<SignedIn>>
}

/** The browser makes the credential of the options, and its `toJSON()` is what the service takes. */
export const createPasskeyCalls = ({ post, change, signIn }: Dependencies) => ({
  /** For `PublicKeyCredential.parseRequestOptionsFromJSON`. */
  passkeyLoginOptions: () => post<PasskeyRequestOptions>('passkey-login/options'),
  passkeyLogin: (answer: { credential: PasskeyCredential }) => signIn('passkey-login', answer),
  stepUpPasskeyOptions: () => change<PasskeyRequestOptions>('POST', 'step-up/passkey/options'),
  /** For `PublicKeyCredential.parseCreationOptionsFromJSON`. */
  passkeyOptions: () => change<PasskeyCreationOptions>('POST', 'passkeys/options'),
  addPasskey: (made: { credential: PasskeyCredential; name?: string | undefined }) =>
    change<Passkey>('POST', 'passkeys', made),
  renamePasskey: (id: string, to: { name: string }) => change<Passkey>('PATCH', pathOf(id), to),
  removePasskey: (id: string) => change('DELETE', pathOf(id)),
})

const pathOf = (id: string) => `passkeys/${encodeURIComponent(id)}`
