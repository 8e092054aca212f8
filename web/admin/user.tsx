import type { AdminUserDetails } from '#contract/admin/admin-bodies.js'
import { DeviceIcon } from '../components/icons.js'
import { Panel } from '../components/panel.js'
import { SessionFacts } from '../components/session-facts.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithZone, timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { EventTable } from './event-table.js'
import { fragmentOf, listFragment } from './place.js'
import { RowList } from './row-list.js'
import { Loaded, Screen } from './screen.js'
import { useRead } from './use-read.js'
import { StateBadge } from './user-cells.js'
import { UserChanges } from './user-changes.js'
import { AccountFacts, FactorFacts } from './user-facts.js'
import { UserFields } from './user-fields.js'
import { UserGroups } from './user-groups.js'
import { UserWhy } from './user-why.js'

export const UserScreen = ({ id }: { id: string }) => {
  const words = useWords('admin')
  const read = useRead(() => calls.user(id))
  const { value: user, reload } = read
  const back = <a href={listFragment('users')}>{words.back}</a>
  return (
    <Screen
      title={user?.username ?? words.columns.user}
      beside={user && <StateBadge {...user} />}
      above={back}
      {...(user && { lead: user.name === null ? user.email : `${user.name} · ${user.email}` })}
    >
      <Loaded {...read}>
        {(shown) => (
          <div class="stack">
            <div class="panels">
              <div>
                <UserWhy user={shown} reload={reload} />
                <UserChanges user={shown} reload={reload} />
                <SessionsOf user={shown} />
              </div>
              <div>
                <AccountFacts user={shown} />
                {shown.fieldDefinitions.length > 0 && <UserFields user={shown} reload={reload} />}
                <FactorFacts user={shown} />
                <UserGroups user={shown} reload={reload} />
                <ApplicationsOf user={shown} />
              </div>
            </div>
            <EventsOf user={shown} />
          </div>
        )}
      </Loaded>
    </Screen>
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
