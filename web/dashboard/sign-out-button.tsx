import { useState } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { useWords } from '../hooks/settings.js'
import { leaveSignedOut } from './sign-out.js'

type Props = { look?: 'plain' | 'quiet'; onRefused: (refusal: Refusal) => void }

export const SignOutButton = ({ look = 'plain', onRefused }: Props) => {
  const words = useWords('common')
  const [busy, setBusy] = useState(false)
  const signOut = async () => {
    setBusy(true)
    const answer = await client.logout()
    if (!answer.refused) return leaveSignedOut('signed_out')
    setBusy(false)
    onRefused(answer)
  }
  return (
    <Button look={look} busy={busy} onPress={signOut}>
      {words.signOut}
    </Button>
  )
}
