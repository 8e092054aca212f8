import { useEffect, useState } from 'preact/hooks'
import type { Answer, Refusal } from '#client/client.js'
import { forgetToken } from '../browser/navigation.js'
import { useStableCallback } from './stable-callback.js'

/** A link that was cut off or changed on its way does not even have the form of one. */
export const isDeadLink = (refused: string | undefined) => refused === 'invalid_link' || refused === 'bad_request'

/**
 * Checks a mailed link before the page asks for anything. `unasked`: the service could not say whether it works, and `load`
 * asks again. An ending is final.
 */
export const useMailedLink = <Found, Ending extends string = 'done'>(
  check: () => Promise<Answer<Found>>,
  onEnd?: () => void,
) => {
  const [found, setFound] = useState<Found>()
  const [unasked, setUnasked] = useState<Refusal>()
  const [ending, setEnding] = useState<Ending | 'dead'>()
  const endWith = (end: Ending | 'dead') => {
    forgetToken()
    onEnd?.()
    setEnding(end)
  }
  const load = useStableCallback(async () => {
    const answer = await check()
    if (isDeadLink(answer.refused)) return endWith('dead')
    if (!answer.refused) setFound(answer.value)
    setUnasked(answer.refused ? answer : undefined)
  })
  useEffect(() => {
    void load()
  }, [])
  return { found, unasked, ending, endWith, load }
}
