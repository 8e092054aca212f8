import { useEffect, useRef } from 'preact/hooks'
import type { UsedApplication } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { isFocusLost, moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate, isNow, timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useDashboardActions } from './dashboard-actions.js'
import { AccountPanel } from './section.js'

/** The applications that sign their users in with this service, and that this user has used. */
export const ApplicationsPanel = ({ applications }: { applications: UsedApplication[] }) => {
  const words = useWords('dashboard')
  const actions = useDashboardActions()
  const list = useRef<HTMLUListElement>(null)
  const endedId = useRef<string | undefined>(undefined)
  // The panel is hidden while there is no application. Once it was shown it stays, because the focus would be lost with it.
  const isShown = useRef(false)
  if (applications.length > 0) isShown.current = true
  useEffect(() => {
    const isGone = endedId.current !== undefined && !applications.some(({ id }) => id === endedId.current)
    // The pressed button is gone. The list gets the focus, because a second press must not reach the next button.
    if (isGone && isFocusLost()) moveFocusTo(list.current)
    if (isGone) endedId.current = undefined
  }, [applications])

  const end = async ({ id, name }: UsedApplication) => {
    endedId.current = id
    const answer = await client.endApplication(id)
    await actions.reload()
    // `not_found` means that the access had ended before, which is what the user wanted.
    if (answer.refused && answer.refused !== 'not_found') actions.showRefusal(answer)
    else actions.showSuccess(fill(words.applicationEnded, { name }))
  }

  if (!isShown.current) return null
  return (
    <AccountPanel place="applications" title={words.applications} lead={words.applicationsLead}>
      <ul class="row-list" ref={list} aria-label={words.applications}>
        {applications.map((application) => (
          <ApplicationRow key={application.id} application={application} onEnd={() => end(application)} />
        ))}
        {applications.length === 0 && <li>{words.noApplications}</li>}
      </ul>
    </AccountPanel>
  )
}

const ApplicationRow = ({ application, onEnd }: { application: UsedApplication; onEnd: () => Promise<void> }) => {
  const words = useWords('dashboard')
  const { locale } = useSettings()
  const { name, since, lastUsedAt } = application
  return (
    <li>
      <div class="row-body">
        <div class="row-text">
          <strong>{name}</strong>
          <span>
            {isNow(lastUsedAt) ? words.activeNow : fill(words.lastUsed, { when: timeAgo(lastUsedAt, locale) })}
          </span>
          <span>{fill(words.sessionSince, { date: fullDate(since, locale) })}</span>
        </div>
        <Button label={fill(words.endApplicationOf, { name })} onPress={onEnd}>
          {words.endApplication}
        </Button>
      </div>
    </li>
  )
}
