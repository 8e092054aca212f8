import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Session } from '../api.js'
import { Button } from '../components/button.js'
import { focusOn, isFocusLost } from '../focus.js'
import type { Settings } from '../settings.js'
import { fill } from '../words/format.js'
import { useDashboardActions } from './dashboard-actions.js'
import { DeviceIcon, nameOf } from './devices.js'
import { ago, day } from './moments.js'
import { Panel } from './panel.js'

type Props = { sessions: Session[]; settings: Settings<'dashboard'> }

export const SessionsPanel = ({ sessions, settings }: Props) => {
  const words = settings.words.dashboard
  const actions = useDashboardActions()
  const [ending, setEnding] = useState<readonly string[]>([])
  const list = useRef<HTMLUListElement>(null)
  const hasEnded = useRef(false)
  useEffect(() => {
    // The pressed button went with its device. Not the next one: a second press would sign out another device.
    if (hasEnded.current && isFocusLost()) focusOn(list.current)
    hasEnded.current = false
  }, [sessions])
  const others = sessions.filter(({ current }) => !current)

  const end = async (chosen: Session[], done: string) => {
    hasEnded.current = true
    setEnding(chosen.map(({ id }) => id))
    const answers = await Promise.all(chosen.map(({ id }) => api.endSession(id)))
    // One that has ended by itself meanwhile is just as gone.
    const refused = answers.find((answer) => !answer.ok && answer.refusal.status !== 404)
    await actions.reload()
    setEnding([])
    if (refused && !refused.ok) actions.refuse(refused.refusal)
    else actions.tell(done)
  }

  return (
    <Panel title={words.sessions} lead={words.sessionsLead}>
      <ul class="row-list session-list" ref={list} aria-label={words.sessions}>
        {sessions.map((session) => (
          <li key={session.id}>
            <DeviceIcon device={session.device} />
            <SessionFacts session={session} settings={settings} />
            {session.current ? (
              <span class="badge">{words.thisDevice}</span>
            ) : (
              <Button
                label={fill(words.endSessionOf, { device: nameOf(session.device, words), ip: session.ip })}
                busy={ending.includes(session.id)}
                onPress={() => end([session], words.sessionEnded)}
              >
                {words.endSession}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {others.length > 1 && (
        <Button busy={ending.length > 1} onPress={() => end(others, words.othersEnded)}>
          {words.endOthers}
        </Button>
      )}
    </Panel>
  )
}

const SessionFacts = ({ session, settings }: { session: Session; settings: Settings<'dashboard'> }) => {
  const words = settings.words.dashboard
  return (
    <div class="row-text">
      <strong>{nameOf(session.device, words)}</strong>
      <span>
        {fill(words.lastUsed, { when: ago(session.lastUsedAt, settings.locale) })} · {session.ip}
      </span>
      <span>{fill(words.sessionSince, { date: day(session.createdAt, settings.locale) })}</span>
    </div>
  )
}
