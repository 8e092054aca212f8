import { useEffect, useRef, useState } from 'preact/hooks'
import type { Answer, Refusal } from '#client/client.js'
import { useStableCallback } from './stable.js'

/** Returns whether the refusal is dealt with. `isShown`: there is an older value, which stays. */
type HandleRefusal = (refusal: Refusal, isShown: boolean) => boolean | Promise<boolean>

/**
 * Asks the service for what a page, a screen or a dialog shows. It asks again when `key` changes; until the answer has come, the old value
 * stays. A refusal that `handleRefusal` does not deal with is in `refusal`.
 */
export const useLoaded = <Value>(ask: () => Promise<Answer<Value>>, handleRefusal: HandleRefusal, key = '') => {
  const [value, setValue] = useState<Value>()
  const [refusal, setRefusal] = useState<Refusal>()
  const newestKey = useRef(key)
  const load = useStableCallback(async (askedKey: string) => {
    newestKey.current = askedKey
    const answer = await ask()
    // An answer to an older question must not replace a newer one.
    if (askedKey !== newestKey.current) return
    if (!answer.refused) {
      setValue(answer.value)
      setRefusal(undefined)
      // A new object each time, so that an effect sees that the same refusal has come again.
    } else if (!(await handleRefusal(answer, value !== undefined))) setRefusal({ ...answer })
  })
  useEffect(() => {
    void load(key)
  }, [key])
  return { value, refusal, reload: () => load(newestKey.current), setValue }
}
