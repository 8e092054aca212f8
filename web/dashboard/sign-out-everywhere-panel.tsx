import { useState } from 'preact/hooks'
import { client } from '../client.js'
import { Button } from '../components/button.js'
import { useDisclosure } from '../focus.js'
import { useWords } from '../settings.js'
import { useDashboardActions } from './dashboard-actions.js'
import { Panel } from './panel.js'
import { leaveSignedOut } from './sign-out.js'

/** Asks for a second press, because it ends every session. */
export const SignOutEverywherePanel = () => {
  const words = useWords('dashboard')
  const actions = useDashboardActions()
  const { isOpen, setOpen, containerProps } = useDisclosure(words.everywhere)
  const [busy, setBusy] = useState(false)

  const signOut = async () => {
    setBusy(true)
    const answer = await client.logoutAll()
    if (!answer.refused) return leaveSignedOut('signed_out_everywhere')
    setBusy(false)
    actions.showRefusal(answer)
  }

  return (
    <Panel title={words.everywhere} lead={words.everywhereLead}>
      <div {...containerProps}>
        {isOpen ? (
          <div class="button-row">
            <Button look="danger" busy={busy} onPress={signOut}>
              {words.everywhereSure}
            </Button>
            <Button look="quiet" onPress={() => setOpen(false)}>
              {words.cancel}
            </Button>
          </div>
        ) : (
          <Button onPress={() => setOpen(true)}>{words.everywhere}</Button>
        )}
      </div>
    </Panel>
  )
}
