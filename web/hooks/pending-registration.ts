import { useEffect, useState } from 'preact/hooks'
import { client } from '../browser/client.js'
import { useStableCallback } from './stable-callback.js'

type State = 'unknown' | 'waiting' | 'confirmed' | 'none'
type Known = { state: State; codeUsable: boolean }

const pollInterval = 20_000

/**
 * The state of the registration that this browser started. It may be confirmed in another tab (`onSignedIn` is called then)
 * or on another device, so the service is asked again from time to time while the tab is visible.
 */
export const usePendingRegistration = (onSignedIn: () => void) => {
  const [{ state, codeUsable }, setKnown] = useState<Known>({ state: 'unknown', codeUsable: true })
  const handleSignedIn = useStableCallback(onSignedIn)

  useEffect(() => client.onChange(({ user, by }) => user && by === 'other_tab' && handleSignedIn()), [])
  useEffect(() => {
    if (state !== 'unknown' && state !== 'waiting') return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const check = async () => {
      clearTimeout(timer)
      if (document.visibilityState === 'hidden') return
      const next = await askForState()
      if (next === 'signed-in') return handleSignedIn()
      setKnown(next)
      if (next.state === 'waiting') checkLater()
    }
    const checkLater = () => {
      clearTimeout(timer)
      timer = setTimeout(() => void check(), pollInterval)
    }
    const onVisible = () => void check()
    if (state === 'unknown') void check()
    else checkLater()
    document.addEventListener('visibilitychange', onVisible)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisible)
    }
  }, [state])
  return { state, codeUsable }
}

const askForState = async (): Promise<Known | 'signed-in'> => {
  const answer = await client.checkVerification()
  // If the service does not answer, the form stays.
  if (answer.refused) return { state: 'waiting', codeUsable: true }
  const { state, codeUsable } = answer.value
  if (state === 'waiting' || state === 'confirmed') return { state, codeUsable }
  // The browser forgets its registration when it confirms it, perhaps in a tab whose message did not arrive.
  const me = await client.me()
  return me.refused ? { state: 'none', codeUsable } : 'signed-in'
}
