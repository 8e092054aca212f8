import { useEffect, useState } from 'preact/hooks'
import type { Refusal, User } from '#client/client.js'
import { client } from '../browser/client.js'
import { queryValue, wantsOtherAccount } from '../browser/navigation.js'
import { useSettings } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'

/** How long the form may wait for a slow answer. */
const longestWait = 3_000

type Visitor = 'unknown' | 'signed-out' | User

/**
 * Says who is signed in, for a page that a signed-in user does not need. If the browser has sent the cookie of a session, the form
 * waits for the answer, because the session may have to be refreshed first. A visitor who arrives with a notice is known to be signed
 * out, or wants to use another account. `onSignedOut` learns why.
 */
export const useVisitor = (onSignedIn: () => void, onSignedOut?: (refusal: Refusal) => void) => {
  const [isFormWanted] = useState(() => wantsOtherAccount() || queryValue('notice') !== undefined)
  const { maybeSignedIn = false } = useSettings()
  const [visitor, setVisitor] = useState<Visitor>(isFormWanted || !maybeSignedIn ? 'signed-out' : 'unknown')
  const handleSignedIn = useStableCallback((user: User) => {
    setVisitor(user)
    onSignedIn()
  })
  const handleSignedOut = useStableCallback((refusal: Refusal) => onSignedOut?.(refusal))
  useEffect(() => {
    const showForm = () => setVisitor((current) => (current === 'unknown' ? 'signed-out' : current))
    const timer = setTimeout(showForm, longestWait)
    if (!isFormWanted)
      void client.me().then((caller) => {
        if (!caller.refused) return handleSignedIn(caller.value.user)
        handleSignedOut(caller)
        showForm()
      })
    const stopListening = client.onChange(({ user, by }) => {
      if (user && by !== 'this_tab') handleSignedIn(user)
    })
    return () => {
      clearTimeout(timer)
      stopListening()
    }
  }, [isFormWanted])
  return visitor
}
