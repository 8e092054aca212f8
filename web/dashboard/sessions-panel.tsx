import { useEffect, useRef } from 'preact/hooks'
import type { Session } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { isFocusLost, moveFocusTo } from '../browser/focus.js'
import { Button } from '../components/button.js'
import { DeviceIcon } from '../components/devices.js'
import { Panel } from '../components/panel.js'
import { endSessionLabel, SessionFacts } from '../components/session-facts.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useDashboardActions } from './dashboard-actions.js'

export const SessionsPanel = ({ sessions }: { sessions: Session[] }) => {
  const words = useWords('dashboard')
  const actions = useDashboardActions()
  const list = useRef<HTMLUListElement>(null)
  const ended = useRef<readonly string[]>([])
  useEffect(() => {
    const isGone = (id: string) => !sessions.some((session) => session.id === id)
    // The pressed button is gone. The list gets the focus, because a second press on the next button would end another
    // session.
    if (ended.current.some(isGone) && isFocusLost()) moveFocusTo(list.current)
    ended.current = ended.current.filter((id) => !isGone(id))
  }, [sessions])
  const others = sessions.filter(({ current }) => !current)

  const end = async (chosen: Session[], done: string) => {
    const ids = chosen.map(({ id }) => id)
    ended.current = ids
    const answers = await Promise.all(ids.map((id) => actions.withFreshSignIn(() => client.endSession(id))))
    // A session that had ended before is what the user wanted.
    const refused = answers.find((answer) => answer.refused && answer.refused !== 'not_found')
    await actions.reload()
    if (refused?.refused) actions.showRefusal(refused)
    else actions.showSuccess(done)
  }

  return (
    <Panel title={words.sessions} lead={words.sessionsLead}>
      <ul class="row-list session-list" ref={list} aria-label={words.sessions}>
        {[...sessions.filter(({ current }) => current), ...others].map((session) => (
          <SessionRow key={session.id} session={session} onEnd={() => end([session], words.sessionEnded)} />
        ))}
      </ul>
      {others.length > 1 && <Button onPress={() => end(others, words.othersEnded)}>{words.endOthers}</Button>}
    </Panel>
  )
}

type RowProps = { session: Session; onEnd: () => Promise<void> }

const SessionRow = ({ session, onEnd }: RowProps) => {
  const words = useWords('dashboard')
  const { locale } = useSettings()
  return (
    <li>
      <DeviceIcon {...session} />
      <div class="row-body">
        <SessionFacts session={session} isCurrent={session.current} />
        {session.current ? (
          <span class="badge">{words.thisDevice}</span>
        ) : (
          <Button label={endSessionLabel(session, words, locale)} onPress={onEnd}>
            {words.endSession}
          </Button>
        )}
      </div>
    </li>
  )
}
