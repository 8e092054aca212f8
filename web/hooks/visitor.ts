import { useEffect, useState } from 'preact/hooks'
import type { User } from '#client/client.js'
import { client } from '../browser/client.js'
import { queryValue, wantsOtherAccount } from '../browser/navigation.js'
import { useSettings } from './settings.js'
import { useStableCallback } from './stable-callback.js'

/** How long a slow answer may hide the form. */
const longestWait = 3_000

type Visitor = 'unknown' | 'signed-out' | User

/**
 * For a page that a signed-in user does not need: who is signed in already, here or in another tab. If the browser has sent the
 * cookie of a session, the form is not shown before that is known, because the session may be refreshed first. A visitor who arrives
 * with a notice is known to be signed out, or wants to use another account.
 */
export const useVisitor = (onSignedIn: () => void) => {
  const [isKnown] = useState(() => wantsOtherAccount() || queryValue('notice') !== undefined)
  const { maybeSignedIn = false } = useSettings()
  const [visitor, setVisitor] = useState<Visitor>(isKnown || !maybeSignedIn ? 'signed-out' : 'unknown')
  const signedIn = useStableCallback((user: User) => {
    setVisitor(user)
    onSignedIn()
  })
  useEffect(() => {
    const showForm = () => setVisitor((current) => (current === 'unknown' ? 'signed-out' : current))
    const timer = setTimeout(showForm, longestWait)
    if (!isKnown) void client.me().then((caller) => (caller.refused ? showForm() : signedIn(caller.value.user)))
    const stopListening = client.onChange(({ user, by }) => {
      if (user && by !== 'this_tab') signedIn(user)
    })
    return () => {
      clearTimeout(timer)
      stopListening()
    }
  }, [isKnown])
  return visitor
}
