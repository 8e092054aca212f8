import { useState } from 'preact/hooks'
import type { AdminObstacle, AdminUserDetails, UserAction } from '#contract/admin/admin-bodies.js'
import { labelIn } from '#contract/languages.js'
import { Button } from '../components/button.js'
import { AlertIcon, CheckIcon, DeviceIcon } from '../components/icons.js'
import { Announced } from '../components/notice.js'
import { Panel } from '../components/panel.js'
import { SessionFacts } from '../components/session-facts.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithZone, timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { EventTable } from './event-table.js'
import { fragmentOf, listFragment } from './place.js'
import { Loaded, Screen, useAdmin, useRead } from './screen.js'
import { RowList, StateBadge } from './table.js'
import {
  ActionDialog,
  mayEnable,
  UserChanges,
  UserFields,
  UserGroups,
  type UserProps,
  useWhyUnchangeable,
} from './user-changes.js'
import { AccountFacts, FactorFacts } from './user-facts.js'
import { TokensOf } from './user-tokens.js'

/** One user, beside the list where there is room, and else in its place. Escape leads back to the list. */
export const UserDrawer = ({ id, onChanged }: { id: string; onChanged: () => Promise<void> }) => {
  const words = useWords('admin')
  const { reload: reloadUser, ...read } = useRead(() => calls.user(id))
  const { value: user } = read
  const reload = async () => {
    await Promise.all([reloadUser(), onChanged()])
  }
  const closeOnEscape = ({ key, target }: KeyboardEvent) => {
    const isInDialog = target instanceof Element && target.closest('dialog') !== null
    if (key === 'Escape' && !isInDialog) location.hash = listFragment('users')
  }
  return (
    <section class="drawer" aria-label={words.columns.user} onKeyDown={closeOnEscape}>
      <Screen
        title={user?.username ?? words.columns.user}
        beside={user && <StateBadge {...user} />}
        above={<a href={listFragment('users')}>{words.back}</a>}
        {...(user && { lead: user.name === null ? user.email : `${user.name} · ${user.email}` })}
      >
        <Loaded {...read} reload={reloadUser}>
          {(shown) => <UserPanels user={shown} reload={reload} onDeleted={onChanged} />}
        </Loaded>
      </Screen>
      {/* The heading was read before it had the name. */}
      <Announced class="visually-hidden" text={user?.username ?? ''} />
    </section>
  )
}

const UserPanels = (props: UserProps) => {
  const { user } = props
  return (
    <div class="stack">
      <UserWhy {...props} />
      <UserChanges {...props} />
      <div class="panels">
        <div>
          <AccountFacts user={user} />
          {user.fieldDefinitions.length > 0 && <UserFields {...props} />}
          <UserGroups {...props} />
        </div>
        <div>
          <FactorFacts user={user} />
          <SessionsOf user={user} />
          <ApplicationsOf user={user} />
          <TokensOf {...props} />
        </div>
      </div>
      <EventsOf user={user} />
    </div>
  )
}

type Props = { user: AdminUserDetails }

const SessionsOf = ({ user: { sessions } }: Props) => {
  const words = useWords('admin').user
  return (
    <Panel title={words.sessions}>
      <RowList empty={words.noSessions}>
        {sessions.map((session) => (
          <li key={session.id}>
            <DeviceIcon {...session} />
            <div class="row-body">
              <SessionFacts session={session} dateOf={dateWithZone} />
            </div>
          </li>
        ))}
      </RowList>
    </Panel>
  )
}

const ApplicationsOf = ({ user: { applications } }: Props) => {
  const words = useWords('admin').user
  const dashboard = useWords('dashboard')
  const { locale } = useSettings()
  return (
    <Panel title={words.applications}>
      <RowList empty={words.noApplications}>
        {applications.map(({ id, name, since, lastUsedAt }) => (
          <li key={id}>
            <div class="row-text">
              <strong>{name}</strong>
              <span>{fill(dashboard.lastUsed, { when: timeAgo(lastUsedAt, locale) })}</span>
              <span>{fill(dashboard.sessionSince, { date: dateWithZone(since, locale) })}</span>
            </div>
          </li>
        ))}
      </RowList>
    </Panel>
  )
}

const EventsOf = ({ user: { id, events } }: Props) => {
  const words = useWords('admin').user
  return (
    <Panel title={words.events}>
      <EventTable events={events} pageUserId={id} empty={words.noEvents} />
      {events.length > 0 && (
        <a class="more-link" href={fragmentOf('events', undefined, { user: id })}>
          {words.allEvents}
        </a>
      )}
    </Panel>
  )
}

/** The obstacles to a sign-in of the user, each with what solves it. */
const UserWhy = (props: UserProps) => {
  const words = useWords('admin').user
  const [chosenAction, setChosenAction] = useState<UserAction>()
  const sentenceOf = useObstacleSentence(props.user)
  const { why } = props.user
  const { mayManage } = useAdmin()
  const mayChange = useWhyUnchangeable(props.user) === undefined
  const mayDo = (action: AdminObstacle['solvedBy']) =>
    mayChange && (action !== 'enable' || mayEnable(props.user, mayManage))
  return (
    <Panel title={words.whyHeading} step={why.map(({ code }) => code).join()}>
      {why.length === 0 ? (
        <p class="finding fine">
          <CheckIcon />
          <span>{words.whyNothing}</span>
        </p>
      ) : (
        <ul class="findings">
          {why.map((obstacle) => (
            <li key={`${obstacle.code} ${obstacle.subject}`} class="finding">
              <AlertIcon />
              <span>{sentenceOf(obstacle)}</span>
              <Solution obstacle={obstacle} isPossible={mayDo(obstacle.solvedBy)} onAsk={setChosenAction} />
            </li>
          ))}
        </ul>
      )}
      {chosenAction && <ActionDialog {...props} action={chosenAction} onClose={() => setChosenAction(undefined)} />}
    </Panel>
  )
}

type SolutionProps = { obstacle: AdminObstacle; isPossible: boolean; onAsk: (action: UserAction) => void }

const Solution = ({ obstacle: { solvedBy }, isPossible, onAsk }: SolutionProps) => {
  const words = useWords('admin').user
  if (solvedBy === null || !isPossible) return null
  return <Button onPress={() => onAsk(solvedBy)}>{`${words.solvedBy[solvedBy]}…`}</Button>
}

const useObstacleSentence = ({ fieldDefinitions }: UserProps['user']) => {
  const words = useWords('admin').user
  const { locale, language, mailIsOff } = useSettings()
  const sentences: Readonly<Record<string, string>> = mailIsOff
    ? { ...words.obstacles, ...words.obstaclesWithoutMail }
    : words.obstacles
  const labelOf = (key: string) =>
    labelIn(fieldDefinitions.find((each) => each.key === key)?.labels ?? {}, language, key)
  const subjectText = (code: string, subject: string | null) =>
    code === 'must_give_fields' ? subject?.split(', ').map(labelOf).join(', ') : subject
  return ({ code, subject, until, since, count, detail, message }: AdminObstacle) =>
    fill(sentences[code] ?? message, {
      subject: subjectText(code, subject) ?? '–',
      until: until === null ? '' : dateWithZone(until, locale),
      since: since === null ? '' : dateWithZone(since, locale),
      count: `${count ?? ''}`,
      detail: detail ?? '–',
    })
}
