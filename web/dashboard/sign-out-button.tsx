import { useState } from 'preact/hooks'
import { api } from '../api.js'
import { Button } from '../components/button.js'
import type { Refusal } from '../requests.js'
import { useWords } from '../settings.js'
import { leaveSignedOut } from './sign-out.js'

export const SignOutButton = ({ onRefused }: { onRefused: (refusal: Refusal) => void }) => {
  const words = useWords('dashboard')
  const [busy, setBusy] = useState(false)
  const signOut = async () => {
    setBusy(true)
    const answer = await api.logout()
    if (answer.ok) return leaveSignedOut('signed_out')
    setBusy(false)
    onRefused(answer.refusal)
  }
  return (
    <Button busy={busy} onPress={signOut}>
      {words.signOut}
    </Button>
  )
}
