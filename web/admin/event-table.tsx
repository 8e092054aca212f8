import type { AdminEvent } from '#contract/admin/admin-bodies.js'
import type { EventReason, MailName } from '#contract/events.js'
import { type AccountEventKind, accountEventKinds, mailEventKinds } from '#contract/events.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithSeconds, dateWithSecondsAndZone } from '../words/dates.js'
import { commandLineIp, isWarning, useEventTitle } from '../words/event-titles.js'
import { fill } from '../words/format.js'
import { type Column, PagedTable, Table, UserLink } from './table.js'

type Props = {
  events: readonly AdminEvent[]
  empty: string
  /** The id of the user whose page shows the table. Then the column with the user is left out. */
  pageUserId?: string
  pages?: { next: string | null; onMore: () => Promise<void> }
}

export const EventTable = ({ events, empty, pageUserId, pages }: Props) => {
  const { caption } = useWords('admin').eventList
  const columns = useColumns(pageUserId)
  const table = {
    caption,
    columns,
    rows: events,
    keyOf: ({ id }: AdminEvent) => id,
    empty,
    classOf: ({ kind }: AdminEvent) => (isWarning(kind) ? 'warning' : undefined),
  }
  return pages ? <PagedTable {...table} {...pages} /> : <Table {...table} />
}

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

const EventCell = ({ event }: { event: AdminEvent }) => {
  const words = useWords('admin').eventList
  const titleOf = useAdminEventTitle()
  const title = titleOf(event)
  const { reason, actorReason } = event
  const becauseText = fill(words.because, { reason: '' })
  const reasonText = useReasonInWords()(event)
  const isInTitle = reason !== null && title.includes(reasonText ?? reason.replaceAll(',', ', '))
  return (
    <div class="row-text">
      <strong>{title}</strong>
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
  )
}

const OriginCell = ({ event }: { event: AdminEvent }) => {
  const { eventList } = useWords('admin')
  if (event.ip === commandLineIp) return <span>{eventList.commandLine}</span>
  if (event.ip === '') return <span class="muted">{eventList.service}</span>
  return (
    <div class="row-text">
      <span class="plain">{event.ip}</span>
      <span lang="en">{event.device}</span>
    </div>
  )
}

/** Who made the change: an administrator or a service key. A key is called so, because a user may have the same name. */
const Actor = ({ event: { actorId, actor, actorKey } }: { event: AdminEvent }) => {
  const { serviceKey } = useWords('admin').eventList
  if (actorId !== null) return <UserLink id={actorId} username={actor ?? actorId} />
  return <span>{actorKey === null ? '–' : fill(serviceKey, { name: actorKey })}</span>
}

const useColumns = (pageUserId: string | undefined): Column<AdminEvent>[] => {
  const { columns } = useWords('admin')
  const { locale } = useSettings()
  const user: Column<AdminEvent> = {
    label: columns.user,
    cell: ({ userId, username }) =>
      userId === null ? username : <UserLink id={userId} username={username ?? userId} />,
  }
  return [
    { label: columns.event, cell: (event) => <EventCell event={event} /> },
    ...(pageUserId === undefined ? [user] : []),
    { label: columns.place, cell: (event) => <OriginCell event={event} /> },
    { label: columns.actor, cell: (event) => <Actor event={event} /> },
    {
      label: columns.time,
      cell: ({ createdAt }) => (
        <time dateTime={createdAt} title={dateWithSecondsAndZone(createdAt, locale)}>
          {dateWithSeconds(createdAt, locale)}
        </time>
      ),
    },
  ]
}
