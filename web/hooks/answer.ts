import { useEffect, useState } from 'preact/hooks'
import type { Answer, Refusal } from '#client/client.js'
import { useStableCallback } from './stable-callback.js'

/**
 * Asks the service for what a page needs before it can show anything. `isEnd` takes the refusals that are an answer too; after any other
 * one the page does not know (`unasked`), and `load` asks again.
 */
export const useAnswer = <Value>(ask: () => Promise<Answer<Value>>, isEnd: (refusal: Refusal) => boolean) => {
  const [value, setValue] = useState<Value>()
  const [unasked, setUnasked] = useState<Refusal>()
  const load = useStableCallback(async () => {
    const answer = await ask()
    if (answer.refused && isEnd(answer)) return
    if (!answer.refused) setValue(answer.value)
    setUnasked(answer.refused ? answer : undefined)
  })
  useEffect(() => {
    void load()
  }, [])
  return { value, unasked, load }
}
