import type { Answer, PasskeyCreationOptions, PasskeyCredential, PasskeyRequestOptions } from '#client/client.js'

/** The reason why there is no credential: the user cancelled or has none, this device has one already, or the address can have none. */
export type NoCredential = 'cancelled' | 'exists' | 'address'

/** Passkeys do not work on an IP address, whatever the browser can do. */
const isIpAddress = () => /^[\d.]+$|^\[/.test(location.hostname)

/** Says whether this browser can use passkeys. `address`: no browser can at this address. */
export const passkeySupport = (): 'yes' | 'no' | 'address' => {
  if (isIpAddress()) return 'address'
  const isKnown = typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === 'function'
  return isKnown ? 'yes' : 'no'
}

const reasons: Record<string, NoCredential> = { InvalidStateError: 'exists', SecurityError: 'address' }

const credentialOf = async (asking: Promise<Credential | null>): Promise<PasskeyCredential | NoCredential> => {
  try {
    const credential = await asking
    return credential instanceof PublicKeyCredential ? credential.toJSON() : 'cancelled'
  } catch (error) {
    return (error instanceof DOMException ? reasons[error.name] : undefined) ?? 'cancelled'
  }
}

export const makePasskey = async (options: PasskeyCreationOptions) => {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  return credentialOf(navigator.credentials.create({ publicKey }))
}

/** With `autofill`, the browser offers the passkeys in a field of the page until the signal aborts. */
export const getPasskey = async (options: PasskeyRequestOptions, autofill?: AbortSignal) => {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  return credentialOf(
    navigator.credentials.get({ publicKey, ...(autofill && { mediation: 'conditional' as const, signal: autofill }) }),
  )
}

type Signals = {
  signalAllAcceptedCredentials?: (accepted: {
    rpId: string
    userId: string
    allAcceptedCredentialIds: string[]
  }) => Promise<void>
}

/**
 * Tells the browser which passkeys there are, so that it does not offer those that were removed. The `excludeCredentials` of the
 * creation options list every passkey of the account.
 */
export const signalPasskeys = async (readCreationOptions: () => Promise<Answer<PasskeyCreationOptions>>) => {
  const { signalAllAcceptedCredentials: signal } = (globalThis.PublicKeyCredential ?? {}) as Signals
  if (!signal) return
  const answer = await readCreationOptions()
  if (answer.refused) return
  const { value: options } = answer
  const allAcceptedCredentialIds = options.excludeCredentials.map(({ id }) => id)
  const accepted = { rpId: options.rp.id, userId: options.user.id, allAcceptedCredentialIds }
  // If it fails, nothing is lost: the service has already removed the passkey.
  await signal.call(PublicKeyCredential, accepted).catch(() => undefined)
}
