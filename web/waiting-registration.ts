import { useEffect, useState } from 'preact/hooks'
import { api } from './api.js'
import { onNews } from './tabs.js'

type Waiting = 'unknown' | 'waiting' | 'confirmed' | 'none'

const interval = 20_000

/**
 * What has become of the registration that this browser began. It may be confirmed in another tab (`onSignedIn` is called
 * then) or on another device. While the tab is visible the service is asked again from time to time.
 */
export const useWaitingRegistration = (onSignedIn: () => void) => {
  const [waiting, setWaiting] = useState<Waiting>('unknown')

  useEffect(() => onNews('signed-in', onSignedIn), [])
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = async () => {
      clearTimeout(timer)
      if (document.visibilityState === 'hidden') return
      const next = await ask()
      if (next === 'signed-in') return onSignedIn()
      if (next !== 'waiting') return setWaiting(next)
      setWaiting('waiting')
      clearTimeout(timer)
      timer = setTimeout(() => void look(), interval)
    }
    if (waiting === 'unknown' || waiting === 'waiting') {
      const onVisible = () => void look()
      if (waiting === 'unknown') void look()
      else timer = setTimeout(() => void look(), interval)
      document.addEventListener('visibilitychange', onVisible)
      return () => {
        clearTimeout(timer)
        document.removeEventListener('visibilitychange', onVisible)
      }
    }
    return undefined
  }, [waiting])
  return waiting
}

const ask = async (): Promise<'waiting' | 'confirmed' | 'none' | 'signed-in'> => {
  const answer = await api.checkRegistration()
  // No answer is no news: the form stays.
  if (!answer.ok || answer.value.state === 'waiting') return 'waiting'
  if (answer.value.state === 'confirmed') return 'confirmed'
  // The browser forgets its registration when it confirms it, perhaps in a tab whose news did not arrive.
  const me = await api.me()
  return me.ok ? 'signed-in' : 'none'
}
