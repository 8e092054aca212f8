import { useState } from 'preact/hooks'
import { api } from '../api.js'
import { Button } from '../components/button.js'
import { useChoice } from '../focus.js'
import type { Settings } from '../settings.js'
import { useDashboardActions } from './dashboard-actions.js'
import { leaveSignedOut } from './leaving.js'
import { Panel } from './panel.js'

/** The largest of the switches asks once more before it acts. */
export const EverywherePanel = ({ settings }: { settings: Settings<'dashboard'> }) => {
  const words = settings.words.dashboard
  const actions = useDashboardActions()
  const { open, setOpen, frame } = useChoice(words.everywhere)
  const [busy, setBusy] = useState(false)

  const signOut = async () => {
    setBusy(true)
    const answer = await api.logoutAll()
    if (answer.ok) return leaveSignedOut('signed_out_everywhere')
    setBusy(false)
    actions.refuse(answer.refusal)
  }

  return (
    <Panel title={words.everywhere} lead={words.everywhereLead}>
      <div {...frame}>
        {open ? (
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
