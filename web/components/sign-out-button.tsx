import type { Refusal } from '#client/client.js'
import { client } from '../browser/client.js'
import { leaveSignedOut } from '../browser/sign-out.js'
import { staysBusy } from '../hooks/busy.js'
import { useWords } from '../hooks/settings.js'
import { Button } from './button.js'

type Props = {
  onRefused: (refusal: Refusal) => void
  /** The label for a screen reader, where several buttons have the same text. */
  label?: string
}

export const SignOutButton = ({ onRefused, label }: Props) => {
  const words = useWords('common')
  const signOut = async () => {
    const answer = await client.logout()
    if (answer.refused) return onRefused(answer)
    leaveSignedOut('signed_out')
    return staysBusy
  }
  return (
    <Button onPress={signOut} {...(label !== undefined && { label })}>
      {words.signOut}
    </Button>
  )
}
