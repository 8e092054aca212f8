import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { deviceName } from '#contract/device-names.js'
import type { AccountEvent, Factors, Session, UsedApplication } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { DeviceIcon } from '../components/icons.js'
import { endSessionLabel, SessionFacts } from '../components/session-facts.js'
import { SignOutButton, signOut } from '../components/sign-out.js'
import { isFocusLost, moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { fullDate, isNow, timeAgo } from '../words/dates.js'
import { isWarning, operatorIps, useEventTitle } from '../words/event-titles.js'
import { fill } from '../words/format.js'
import { AskFirst, useDashboardActions } from './panels.js'
import { AccountPanel } from './sections.js'

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

/** The browsers that sign in without a code. */
export const TrustedDevicesPanel = ({ devices }: { devices: Factors['trustedDevices'] }) => {
  const words = useWords('two-step')
  const dashboard = useWords('dashboard')
  const { locale } = useSettings()
  const actions = useDashboardActions()
  const remove = async (id: string) => {
    const answer = await actions.withFreshSignIn(() => client.removeTrustedDevice(id))
    if (answer.refused) return actions.showRefusal(answer)
    await actions.reload()
  }
  // Once the panel was shown it stays, because the focus would be lost with it.
  const isShown = useRef(false)
  if (devices.length > 0) isShown.current = true
  if (!isShown.current) return null
  return (
    <AccountPanel
      place="trusted-browsers"
      title={words.trusted}
      lead={devices.length > 0 ? words.trustedLead : words.noneTrusted}
      step={devices.map(({ id }) => id).join(' ')}
    >
      <ul class="row-list">
        {devices.map((device) => (
          <li key={device.id}>
            <DeviceIcon {...device} />
            <div class="row-body">
              <div class="row-text">
                <strong>{deviceName(device, dashboard)}</strong>
                <span>
                  {device.ip} · {fill(words.trustedUntil, { date: fullDate(device.expiresAt, locale) })}
                </span>
              </div>
              <Button
                label={fill(words.stopTrustingOf, { device: deviceName(device, dashboard), ip: device.ip })}
                onPress={() => remove(device.id)}
              >
                {words.stopTrusting}
              </Button>
            </div>
          </li>
        ))}
      </ul>
    </AccountPanel>
  )
}

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

export const EventsPanel = ({ events }: { events: AccountEvent[] }) => {
  const words = useWords('dashboard')
  return (
    <AccountPanel place="activity" title={words.events}>
      {events.length === 0 && <p class="panel-lead">{words.noEvents}</p>}
      <EventList events={events} />
    </AccountPanel>
  )
}

/** The newest events, and the others after a press on the button. */
export const EventList = ({ events }: { events: AccountEvent[] }) => {
  const words = useWords('dashboard')
  const { locale } = useSettings()
  const titleOf = useEventTitle()
  const whereOf = (event: AccountEvent) =>
    operatorIps.includes(event.ip) ? words.byOperator : `${deviceName(event, words)} · ${event.ip}`
  const list = useRef<HTMLOListElement>(null)
  const { shown, ...showAllProps } = useFirstFew(events, list)
  return (
    <>
      <ol class="event-list" ref={list}>
        {shown.map((event) => (
          <li key={event.id} class={isWarning(event.kind) ? 'warning' : ''}>
            <span class="event-dot" aria-hidden="true" />
            <div class="row-text">
              <strong>{titleOf(event)}</strong>
              <span>{whereOf(event)}</span>
            </div>
            <time dateTime={event.createdAt}>
              {timeAgo(event.createdAt, locale)} <span>{fullDate(event.createdAt, locale)}</span>
            </time>
          </li>
        ))}
      </ol>
      <ShowAll {...showAllProps} more={words.showAllEvents} fewer={words.showFewerEvents} />
    </>
  )
}

const maxShownAtFirst = 5

/** The first lines of a list, or all lines. When all are shown, the focus goes to the first new line. */
const useFirstFew = <Item,>(items: readonly Item[], list: RefObject<HTMLElement | null>) => {
  const [isShowingAll, setShowingAll] = useState(false)
  const wasShowingAll = useRef(isShowingAll)
  const focusFirstNew = useStableCallback(() => moveFocusTo(list.current?.querySelectorAll('li')[maxShownAtFirst]))
  useEffect(() => {
    if (isShowingAll && !wasShowingAll.current) focusFirstNew()
    wasShowingAll.current = isShowingAll
  }, [isShowingAll])
  const hasMore = items.length > maxShownAtFirst
  return {
    shown: isShowingAll ? items : items.slice(0, maxShownAtFirst),
    isShowingAll,
    hasMore,
    toggle: () => setShowingAll(!isShowingAll),
  }
}

type Props = { isShowingAll: boolean; hasMore: boolean; toggle: () => void; more: string; fewer: string }

/** The same button shows all lines and then fewer again, so it keeps the focus. */
const ShowAll = ({ isShowingAll, hasMore, toggle, more, fewer }: Props) =>
  hasMore ? (
    <Button look="quiet" onPress={toggle}>
      {isShowingAll ? fewer : more}
    </Button>
  ) : null
