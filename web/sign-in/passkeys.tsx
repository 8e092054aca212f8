import { useEffect, useState } from 'preact/hooks'
import type {
  Answer,
  PasskeyCreationOptions,
  PasskeyCredential,
  PasskeyRequestOptions,
  Refusal,
} from '#client/client.js'
import { client } from '../browser/client.js'
import { Button, staysBusy } from '../components/button.js'
import { KeyIcon } from '../components/icons.js'
import { Notice, useMessage } from '../components/notice.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { useRefusalSentence } from '../words/refusals.js'

/** Offers passkeys in the field of the username, and by a button. A browser can do only one of the two at a time. */
export const PasskeySignIn = ({ onSignedIn }: { onSignedIn: (answered: object) => void }) => {
  const sentenceOf = useRefusalSentence()
  const [isAsking, setAsking] = useState(false)
  const { message: problem, setMessage: setProblem } = useMessage<string>()
  const signIn = async (credential: PasskeyCredential) => {
    const answer = await client.passkeyLogin({ credential })
    if (answer.refused) return answer
    onSignedIn(answer.value)
    return undefined
  }
  usePasskeysInAutofill(!isAsking, async (credential) => {
    const refusal = await signIn(credential)
    setProblem(refusal && sentenceOf(refusal))
    return refusal === undefined
  })
  const ask = (asking: boolean) => {
    setAsking(asking)
    setProblem(undefined)
  }
  return (
    <div class="other-way">
      {problem !== undefined && <Notice kind="error">{problem}</Notice>}
      <PasskeyButton loadOptions={client.passkeyLoginOptions} prove={signIn} onAsk={ask} />
    </div>
  )
}

type Props = {
  look?: 'primary' | 'plain'
  loadOptions: () => Promise<Answer<PasskeyRequestOptions>>
  /** Returns the refusal, or nothing if the passkey was accepted. */
  prove: (credential: PasskeyCredential) => Promise<Refusal | undefined>
  onAsk?: (isAsking: boolean) => void
}

/** Asks the browser for a passkey. The button is not shown where passkeys do not work. */
export const PasskeyButton = ({ look = 'plain', loadOptions, prove, onAsk }: Props) => {
  const words = useWords('passkeys')
  const sentenceOf = useRefusalSentence()
  const { message: problem, setMessage: setProblem } = useMessage<{ kind: 'error' | 'info'; text: string }>()
  if (passkeySupport() !== 'yes') return null

  const ask = async () => {
    const requestOptions = await loadOptions()
    if (requestOptions.refused) return { kind: 'error' as const, text: sentenceOf(requestOptions) }
    const credential = await getPasskey(requestOptions.value)
    if (credential === 'address') return { kind: 'error' as const, text: words.wrongAddress }
    if (typeof credential === 'string') return { kind: 'info' as const, text: words.noneChosen }
    const refusal = await prove(credential)
    return refusal && { kind: 'error' as const, text: sentenceOf(refusal) }
  }
  const press = async () => {
    onAsk?.(true)
    setProblem(undefined)
    const newProblem = await ask()
    if (!newProblem) return staysBusy
    setProblem(newProblem)
    return onAsk?.(false)
  }

  return (
    <>
      {problem && <Notice kind={problem.kind}>{problem.text}</Notice>}
      <Button look={look} onPress={press}>
        <KeyIcon /> {words.use}
      </Button>
    </>
  )
}

/** A new challenge is asked for before the old one expires after 5 minutes. */
const renewAfter = 4 * 60 * 1_000

const isAvailable = async () =>
  passkeySupport() === 'yes' && (await PublicKeyCredential.isConditionalMediationAvailable?.()) === true

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve())
  })

/** Returns whether the user is signed in. */
type SignIn = (credential: PasskeyCredential) => Promise<boolean>

/** Offers passkeys for one challenge, until the user has chosen one or a new challenge is needed. */
const offerOnce = async (signIn: SignIn, stop: AbortSignal) => {
  const round = new AbortController()
  const end = () => round.abort()
  const timer = setTimeout(end, renewAfter)
  stop.addEventListener('abort', end)
  const options = await client.passkeyLoginOptions()
  const chosen = options.refused || stop.aborted ? 'cancelled' : await getPasskey(options.value, round.signal)
  const isSignedIn = typeof chosen === 'object' && (await signIn(chosen))
  // Waits until the round is over: a browser that refuses to offer passkeys would otherwise be asked without end.
  if (typeof chosen !== 'object') await untilAborted(round.signal)
  clearTimeout(timer)
  stop.removeEventListener('abort', end)
  return isSignedIn
}

/**
 * Offers passkeys in the field with `autocomplete="username webauthn"`, while `isWanted`. After a sign-in, passkeys are not
 * offered again while the browser leaves the page: a second sign-in would end the first session, and the tokens of the second would be
 * lost with the page.
 */
const usePasskeysInAutofill = (isWanted: boolean, signIn: SignIn) => {
  const stableSignIn = useStableCallback(signIn)
  useEffect(() => {
    if (!isWanted) return undefined
    const stop = new AbortController()
    const offer = async () => {
      if (!(await isAvailable())) return
      let isSignedIn = false
      while (!isSignedIn && !stop.signal.aborted) isSignedIn = await offerOnce(stableSignIn, stop.signal)
    }
    void offer()
    return () => stop.abort()
  }, [isWanted])
}

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
const getPasskey = async (options: PasskeyRequestOptions, autofill?: AbortSignal) => {
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
