import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { AdminEvent } from '#contract/admin/admin-bodies.js'
import type { EventReason, MailName } from '#contract/events.js'
import { type AccountEventKind, accountEventKinds, mailEventKinds } from '#contract/events.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithSecondsAndZone } from '../words/dates.js'
import { commandLineIp, configurationFileIp, isWarning, useEventTitle } from '../words/event-titles.js'
import { fill } from '../words/format.js'
import { fragmentOf } from './place.js'
import { Empty, Paged, role, UserLink, useFocusOnReturn } from './table.js'
import { type Fact, Facts } from './user-facts.js'

type Props = {
  events: readonly AdminEvent[]
  empty: ComponentChildren
  /** The id of the user whose page shows the table. Then the column with the user is left out. */
  pageUserId?: string
  pages?: { next: string | null; onMore: () => Promise<void> }
}

/** The events, one line each, below the head of their day. A press on an event shows all of it. */
export const EventTable = ({ events, empty, pageUserId, pages }: Props) => {
  if (events.length === 0) return <Empty>{empty}</Empty>
  const table = <Days events={events} hasUsers={pageUserId === undefined} />
  if (!pages) return table
  return (
    <Paged {...pages} shown={events.length} count={undefined} loadsByItself>
      {table}
    </Paged>
  )
}

const Days = ({ events, hasUsers }: { events: readonly AdminEvent[]; hasUsers: boolean }) => {
  const { columns, eventList } = useWords('admin')
  const { locale } = useSettings()
  const [openId, setOpenId] = useState<string>()
  const table = useFocusOnReturn()
  const heads = [columns.event, ...(hasUsers ? [columns.user] : []), columns.place, columns.actor, columns.time]
  const days = byDay(events, locale)
  return (
    <table ref={table} class="table events" {...role.table}>
      <caption class="visually-hidden">{eventList.caption}</caption>
      <thead {...role.rowgroup}>
        <tr {...role.row}>
          {heads.map((label) => (
            <th key={label} scope="col" {...role.columnheader}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      {[...days].map(([day, ofDay]) => (
        <tbody key={day} {...role.rowgroup}>
          <tr class="day" {...role.row}>
            <th colSpan={heads.length} scope="rowgroup" {...role.rowheader}>
              {day}
            </th>
          </tr>
          {ofDay.map((event) => (
            <EventRow
              key={event.id}
              event={event}
              hasUser={hasUsers}
              isOpen={event.id === openId}
              onPress={() => setOpenId(event.id === openId ? undefined : event.id)}
            />
          ))}
        </tbody>
      ))}
    </table>
  )
}

const byDay = (events: readonly AdminEvent[], locale: string) => {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'full' })
  const days = new Map<string, AdminEvent[]>()
  for (const event of events) {
    const day = format.format(new Date(event.createdAt))
    days.set(day, [...(days.get(day) ?? []), event])
  }
  return days
}

const timeOf = (moment: string, locale: string) =>
  new Intl.DateTimeFormat(locale, { timeStyle: 'medium' }).format(new Date(moment))

type RowProps = { event: AdminEvent; hasUser: boolean; isOpen: boolean; onPress: () => void }

const EventRow = ({ event, hasUser, isOpen, onPress }: RowProps) => {
  const { locale } = useSettings()
  const { createdAt, kind } = event
  const classes = [isWarning(kind) && 'warning', isOpen && 'open'].filter(Boolean).join(' ')
  return (
    <tr {...role.row} class={classes || undefined}>
      <th scope="row" {...role.rowheader}>
        <EventCell event={event} isOpen={isOpen} onPress={onPress} />
      </th>
      {hasUser && (
        <td {...role.cell}>
          <AboutUser event={event} />
        </td>
      )}
      <td {...role.cell}>
        <OriginCell event={event} />
      </td>
      <td {...role.cell} class="actor">
        <Actor event={event} />
      </td>
      <td {...role.cell} class="time">
        <time dateTime={createdAt} title={dateWithSecondsAndZone(createdAt, locale)}>
          {timeOf(createdAt, locale)}
        </time>
      </td>
    </tr>
  )
}

const AboutUser = ({ event: { userId, username } }: { event: AdminEvent }) =>
  userId === null ? <span>{username}</span> : <UserLink id={userId} username={username ?? userId} />

const isAccountKind = (kind: string): kind is AccountEventKind => accountEventKinds.some((each) => each === kind)

/** The title of an event, in the third person. A kind that only a newer version of the service knows is shown as it is. */
export const useAdminEventTitle = () => {
  const { kinds } = useWords('admin')
  const titleOf = useEventTitle()
  return ({ kind, reason }: Pick<AdminEvent, 'kind' | 'reason'>) => {
    if (Object.hasOwn(kinds, kind)) return kinds[kind as keyof typeof kinds]
    return isAccountKind(kind) ? titleOf({ kind, reason }) : kind
  }
}

/**
 * The kinds whose reason is a word of the service, which is translated. The reason of any other kind is a name, even if it looks like
 * such a word.
 */
const kindsWithReasonWords: readonly string[] = [
  'registered',
  'invitation_used',
  'signed_in',
  'sign_in_failed',
  'rate_limited',
  'signed_out',
  'refresh_theft',
  'device_proof_refused',
  'password_change_failed',
  'email_change_failed',
  'stepped_up',
  'step_up_failed',
  'second_factor_asked',
  'second_factor_failed',
] satisfies AccountEventKind[]

/** The reason as text, such as "Google · Wrong password". For a mail: its name, then the answer of the mail server. */
const useReasonInWords = () => {
  const { reasons, mails } = useWords('admin')
  const { providers } = useSettings()
  const providerOf = (part: string) => providers.find(({ id }) => id === part)?.name
  const wordOf = (part: string) =>
    providerOf(part) ?? (Object.hasOwn(reasons, part) ? reasons[part as EventReason] : undefined)
  return ({ kind, reason }: Pick<AdminEvent, 'kind' | 'reason'>) => {
    if (reason === null) return undefined
    if (mailEventKinds.some((each) => each === kind)) {
      const [name = '', ...answer] = reason.split(': ')
      return Object.hasOwn(mails, name) ? [mails[name as MailName], ...answer].join(': ') : undefined
    }
    if (!kindsWithReasonWords.includes(kind)) return providerOf(reason)
    const words = reason.split(' ').map(wordOf)
    return words.every((word) => word !== undefined) ? words.join(' · ') : undefined
  }
}

const EventCell = ({ event, isOpen, onPress }: Pick<RowProps, 'event' | 'isOpen' | 'onPress'>) => {
  const words = useWords('admin').eventList
  const titleOf = useAdminEventTitle()
  const title = titleOf(event)
  const { reason, actorReason } = event
  const becauseText = fill(words.because, { reason: '' })
  const reasonText = useReasonInWords()(event)
  const isInTitle = reason !== null && title.includes(reasonText ?? reason.replaceAll(',', ', '))
  return (
    <>
      <div class="event-line">
        <button type="button" class="row-open" aria-expanded={isOpen} onClick={onPress}>
          <strong>{title}</strong>
        </button>
        {reason !== null &&
          !isInTitle &&
          // The tooltip has the reason as it stands in log files and in the guides.
          (reasonText ? <span title={reason}>{reasonText}</span> : <span lang="en">{reason}</span>)}
        {actorReason !== null && (
          <span>
            {becauseText}
            <bdi>{actorReason}</bdi>
          </span>
        )}
      </div>
      {isOpen && <EventFacts event={event} />}
    </>
  )
}

/** What a line has no room for. */
const EventFacts = ({ event }: { event: AdminEvent }) => {
  const { eventList: words, columns } = useWords('admin')
  const { locale } = useSettings()
  const { event: ofEvent } = useWords('configuration')
  const { ip, userAgent, device, sessionId, requestId, kind, reason, createdAt, id, details } = event
  const facts: Fact[] = [
    [columns.time, dateWithSecondsAndZone(createdAt, locale)],
    [words.code, <code key="code">{reason === null ? kind : `${kind}: ${reason}`}</code>],
    ...(ip === '' ? [] : [[columns.place, <OriginCell key="origin" event={event} />] satisfies Fact]),
    ...(userAgent === ''
      ? []
      : [[words.device, <span key="device" lang="en">{`${device} · ${userAgent}`}</span>] satisfies Fact]),
    ...(sessionId === null ? [] : [[words.session, <code key="session">{sessionId}</code>] satisfies Fact]),
    ...(requestId === null ? [] : [[words.request, <code key="request">{requestId}</code>] satisfies Fact]),
    [words.id, <code key="id">{id}</code>],
  ]
  return (
    <div class="event-facts">
      <Facts facts={facts} />
      {details && <a href={fragmentOf('events', id)}>{ofEvent.link}</a>}
    </div>
  )
}

const OriginCell = ({ event }: { event: AdminEvent }) => {
  const { eventList } = useWords('admin')
  if (event.ip === commandLineIp) return <span>{eventList.commandLine}</span>
  if (event.ip === configurationFileIp) return <span>{eventList.configurationFile}</span>
  if (event.ip === '') return <span class="muted">{eventList.service}</span>
  return (
    <span title={event.device} class="plain">
      {event.ip}
    </span>
  )
}

/** Who made the change: an administrator or a service key. A key is called so, because a user may have the same name. */
const Actor = ({ event: { actorId, actor, actorKey } }: { event: AdminEvent }) => {
  const { serviceKey } = useWords('admin').eventList
  if (actorId !== null) return <UserLink id={actorId} username={actor ?? actorId} />
  return <span>{actorKey !== null && fill(serviceKey, { name: actorKey })}</span>
}
