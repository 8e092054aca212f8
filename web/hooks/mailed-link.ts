import { useEffect, useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import { forgetToken, takeToken } from '../browser/navigation.js'
import { useLoaded } from './loaded.js'

/** The refusals of a link that does not work. `bad_request`: it was cut off or changed on its way, so its token has the wrong form. */
const deadLinkRefusals: readonly string[] = ['invalid_link', 'invalid_invitation', 'bad_request']
export const isDeadLink = (refused: string | undefined) => refused !== undefined && deadLinkRefusals.includes(refused)

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
  const { value: found, ...loading } = useLoaded(
    () => check(endWith),
    ({ refused }) => {
      if (isDeadLink(refused)) endWith('dead')
      return isDeadLink(refused)
    },
  )
  return { ...loading, found, ending, endWith }
}

/** The token of the mailed link. If the tab already shows the page of the link, opening the link changes only the fragment. */
export const useLinkToken = (name?: string) => {
  const [token, setToken] = useState(() => takeToken(name))
  useEffect(() => {
    const onHashChange = () => setToken((known) => takeToken(name) ?? known)
    // The fragment may have changed between the first render and this effect.
    onHashChange()
    addEventListener('hashchange', onHashChange)
    return () => removeEventListener('hashchange', onHashChange)
  }, [name])
  return token
}
