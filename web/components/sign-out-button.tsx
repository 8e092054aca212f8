import { useEffect, useState } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import { client } from '../browser/client.js'
import { replacePage } from '../browser/mount.js'
import { leave, leaveSignedOut } from '../browser/sign-out.js'
import { staysBusy } from '../hooks/busy.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable-callback.js'
import { useRefusalSentence } from '../words/refusals.js'
import { Button } from './button.js'
import { Card } from './card.js'
import { Heading } from './heading.js'
import { LoadingCard } from './loading-card.js'
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
