import { useEffect, useState } from 'preact/hooks'
import type { Answer, Refusal } from '#client/client.js'
import { useStableCallback } from './stable-callback.js'

/**
 * Asks the service for what a page needs before it can show anything. `handleRefusal` returns true for a refusal that the page handles
 * itself. Any other refusal is in `loadRefusal`, and `load` asks again.
 */
export const useAnswer = <Value>(ask: () => Promise<Answer<Value>>, handleRefusal: (refusal: Refusal) => boolean) => {
  const [value, setValue] = useState<Value>()
  const [loadRefusal, setLoadRefusal] = useState<Refusal>()
  const load = useStableCallback(async () => {
    const answer = await ask()
    if (answer.refused && handleRefusal(answer)) return
    if (!answer.refused) setValue(answer.value)
    setLoadRefusal(answer.refused ? answer : undefined)
  })
  useEffect(() => {
    void load()
  }, [])
  return { value, loadRefusal, load }
}
