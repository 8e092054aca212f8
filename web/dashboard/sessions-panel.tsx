import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../../src/contract/schemas.js'
import { api } from '../api.js'
import { Button } from '../components/button.js'
import { isFocusLost, moveFocusTo } from '../focus.js'
import { useSettings, useWords } from '../settings.js'
import { fill } from '../words/format.js'
import { useDashboardActions } from './dashboard-actions.js'
import { shortDate, timeAgo } from './dates.js'
import { DeviceIcon, deviceName } from './devices.js'
import { Panel } from './panel.js'

export const SessionsPanel = ({ sessions }: { sessions: Session[] }) => {
  const words = useWords('dashboard')
  const actions = useDashboardActions()
  const [ending, setEnding] = useState<readonly string[]>([])
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
    setEnding(ids)
    const answers = await Promise.all(ids.map(api.endSession))
    // A session that had ended before is what the user wanted.
    const refused = answers.find((answer) => !answer.ok && answer.refusal.code !== 'not_found')
    await actions.reload()
    setEnding([])
    if (refused && !refused.ok) actions.showRefusal(refused.refusal)
    else actions.showSuccess(done)
  }

  return (
    <Panel title={words.sessions} lead={words.sessionsLead}>
      <ul class="row-list session-list" ref={list} aria-label={words.sessions}>
        {sessions.map((session) => (
          <li key={session.id}>
            <DeviceIcon {...session} />
            <SessionFacts session={session} />
            {session.current ? (
              <span class="badge">{words.thisDevice}</span>
            ) : (
              <Button
                label={fill(words.endSessionOf, { device: deviceName(session, words), ip: session.ip })}
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

const SessionFacts = ({ session }: { session: Session }) => {
  const words = useWords('dashboard')
  const { locale } = useSettings()
  return (
    <div class="row-text">
      <strong>{deviceName(session, words)}</strong>
      <span>
        {fill(words.lastUsed, { when: timeAgo(session.lastUsedAt, locale) })} · {session.ip}
      </span>
      <span>{fill(words.sessionSince, { date: shortDate(session.createdAt, locale) })}</span>
    </div>
  )
}
