import { useEffect, useRef } from 'preact/hooks'
import type { Session } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { DeviceIcon } from '../components/icons.js'
import { endSessionLabel, SessionFacts } from '../components/session-facts.js'
import { SignOutButton, signOut } from '../components/sign-out.js'
import { isFocusLost, moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { AskFirst } from './ask-first.js'
import { useDashboardActions } from './dashboard-actions.js'
import { AccountPanel } from './section.js'
import { ShowAll, useFirstFew } from './show-all.js'

/** The sessions of the user, and the ways to end them: this one, another one, all others, all. */
export const SessionsPanel = ({ sessions }: { sessions: Session[] }) => {
  const words = useWords('dashboard')
  const actions = useDashboardActions()
  const list = useRef<HTMLUListElement>(null)
  const endedIds = useRef<readonly string[]>([])
  useEffect(() => {
    const isGone = (id: string) => !sessions.some((session) => session.id === id)
    // The pressed button is gone. The list gets the focus, because a second press on the next button would end another
    // session.
    if (endedIds.current.some(isGone) && isFocusLost()) moveFocusTo(list.current)
    endedIds.current = endedIds.current.filter((id) => !isGone(id))
  }, [sessions])
  const others = sessions.filter(({ current }) => !current)
  const inOrder = [...sessions.filter(({ current }) => current), ...others]
  const { shown, ...showAllProps } = useFirstFew(inOrder, list)

  const end = async (chosen: Session[], doneMessage: string) => {
    const ids = chosen.map(({ id }) => id)
    endedIds.current = ids
    const answers = await Promise.all(ids.map((id) => actions.withFreshSignIn(() => client.endSession(id))))
    // `not_found` means that the session had ended before, which is what the user wanted.
    const failedAnswer = answers.find((answer) => answer.refused && answer.refused !== 'not_found')
    await actions.reload()
    if (failedAnswer?.refused) actions.showRefusal(failedAnswer)
    else actions.showSuccess(doneMessage)
  }

  return (
    <AccountPanel place="sessions" title={words.sessions} lead={words.sessionsLead}>
      <ul class="row-list session-list" ref={list} aria-label={words.sessions}>
        {shown.map((session) => (
          <SessionRow key={session.id} session={session} onEnd={() => end([session], words.sessionEnded)} />
        ))}
      </ul>
      <ShowAll
        {...showAllProps}
        more={fill(words.showAllSessions, { count: String(sessions.length) })}
        fewer={words.showFewerSessions}
      />
      <div class="button-row">
        {others.length > 1 && <Button onPress={() => end(others, words.othersEnded)}>{words.endOthers}</Button>}
        <SignOutEverywhere />
      </div>
    </AccountPanel>
  )
}

const SignOutEverywhere = () => {
  const words = useWords('dashboard')
  return (
    <AskFirst
      label={words.everywhere}
      question={words.everywhereLead}
      confirmLabel={words.everywhereSure}
      onConfirm={async () => signOut('everywhere')}
    />
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
          <SignOutButton label={words.endThisSession} />
        ) : (
          <Button label={endSessionLabel(session, words, locale)} onPress={onEnd}>
            {words.endSession}
          </Button>
        )}
      </div>
    </li>
  )
}
