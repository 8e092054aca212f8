import { useEffect } from 'preact/hooks'
import type { PasskeyCredential } from '#client/client.js'
import { client } from '../browser/client.js'
import { useStableCallback } from '../hooks/stable.js'
import { getPasskey, passkeySupport } from './ceremonies.js'

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
export const usePasskeysInAutofill = (isWanted: boolean, signIn: SignIn) => {
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
