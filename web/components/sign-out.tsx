import { useEffect, useState } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import { client } from '../browser/client.js'
import { replacePage, unmount } from '../browser/mount.js'
import { redirectToLogin } from '../browser/navigation.js'
import { forgetUnsaved } from '../browser/storage.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { useRefusalSentence } from '../words/refusals.js'
import { Button, staysBusy } from './button.js'
import { Card, LoadingCard } from './card.js'
import { Heading } from './heading.js'
import { Notice } from './notice.js'

type Extent = 'here' | 'everywhere'

/**
 * Clears the page at once, and then signs out: whoever presses the button and goes away leaves nothing on the screen, even if the service
 * takes its time or cannot be reached.
 */
export const signOut = (extent: Extent) => replacePage(() => <SigningOut extent={extent} />)

const SigningOut = ({ extent }: { extent: Extent }) => {
  const words = useWords('common')
  const sentenceOf = useRefusalSentence()
  const [refusal, setRefusal] = useState<Refusal>()
  const send = useStableCallback(async () => {
    const answer = await (extent === 'everywhere' ? client.logoutAll() : client.logout())
    if (!answer.refused) leaveSignedOut(extent === 'everywhere' ? 'signed_out_everywhere' : 'signed_out')
    else if (answer.refused === 'not_authenticated') leave('session_ended')
    else {
      setRefusal(answer)
      return undefined
    }
    return staysBusy
  })
  useEffect(() => {
    void send()
  }, [])
  if (!refusal) return <LoadingCard />
  return (
    <Card>
      <Heading text={words.notSignedOut} focused />
      <Notice kind="error">{sentenceOf(refusal)}</Notice>
      <Button look="primary" onPress={send}>
        {words.signOut}
      </Button>
    </Card>
  )
}

/** `label`: for a screen reader, where several buttons have the same text. */
export const SignOutButton = ({ label }: { label?: string }) => (
  <Button onPress={() => signOut('here')} {...(label !== undefined && { label })}>
    {useWords('common').signOut}
  </Button>
)

/** Clears the screen first, so that the browser keeps no picture of the account for its back button. */
export const leaveSignedOut = (notice: 'signed_out' | 'signed_out_everywhere' | 'account_deleted') => {
  unmount()
  forgetUnsaved()
  location.replace(`/login?notice=${notice}`)
}

/** Leaves the page without a sign-out: the visitor is not signed in, or no longer. */
export const leave = (notice: 'sign_in' | 'session_ended' | 'device_lost') => {
  unmount()
  redirectToLogin(notice)
}

/**
 * Browsers keep whole pages for the back button, so this page clears the screen when the visitor leaves it. The script leaves the page
 * when another tab signs out or the session has ended, and reloads it when another user has signed in or another tab has changed the
 * username. A new username in an answer does not reload the page, because the user may be in the middle of an action.
 */
export const clearScreenOnLeave = () => {
  addEventListener('pagehide', ({ persisted }) => {
    if (persisted) unmount()
  })
  client.onChange(({ change, by }) => {
    if (by === 'this_tab' || change === 'signed_in') return
    if (change === 'renamed') return by === 'other_tab' ? location.reload() : undefined
    if (change === 'other_user') location.reload()
    else if (by === 'answer') leave('session_ended')
    else leaveSignedOut('signed_out')
  })
}
