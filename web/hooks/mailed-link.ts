import { useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import { forgetToken } from '../browser/navigation.js'
import { useAnswer } from './answer.js'

/** A link that was cut off or changed on its way does not even have the form of one. */
const deadLinks: readonly string[] = ['invalid_link', 'invalid_invitation', 'bad_request']
export const isDeadLink = (refused: string | undefined) => refused !== undefined && deadLinks.includes(refused)

/**
 * Checks a mailed link before the page asks for anything. Nothing changes before a button is pressed: mail scanners open links too.
 * An ending is final, and the token is forgotten.
 */
export const useMailedLink = <Found, Ending extends string = 'done'>(
  check: (endWith: (ending: Ending) => void) => Promise<Answer<Found>>,
  onEnd?: () => void,
) => {
  const [ending, setEnding] = useState<Ending | 'dead'>()
  const endWith = (end: Ending | 'dead') => {
    forgetToken()
    onEnd?.()
    setEnding(end)
  }
  const { value: found, ...asked } = useAnswer(
    () => check(endWith),
    ({ refused }) => {
      if (isDeadLink(refused)) endWith('dead')
      return isDeadLink(refused)
    },
  )
  return { ...asked, found, ending, endWith }
}
