import { useId } from 'preact/hooks'
import { client } from '../browser/client.js'
import { leaveSignedOut } from '../browser/sign-out.js'
import { Panel } from '../components/panel.js'
import { useWords } from '../hooks/settings.js'
import { AskFirst } from './ask-first.js'
import { useDashboardActions } from './dashboard-actions.js'

export const SignOutEverywherePanel = () => {
  const words = useWords('dashboard')
  const actions = useDashboardActions()
  const leadId = useId()

  const signOut = async () => {
    const answer = await client.logoutAll()
    if (answer.refused) actions.showRefusal(answer)
    else leaveSignedOut('signed_out_everywhere')
  }

  return (
    <Panel title={words.everywhere} lead={words.everywhereLead} leadId={leadId}>
      <AskFirst label={words.everywhere} questionId={leadId} sure={words.everywhereSure} onSure={signOut} />
    </Panel>
  )
}
