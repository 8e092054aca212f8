import type { AdminEvent } from '#contract/admin/admin-bodies.js'
import { type AccountEventKind, accountEventKinds } from '#contract/events.js'
import type { Method } from '#contract/factors.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { exactDate, zonedDate } from '../words/dates.js'
import { isWarning, operatorsPlace, useEventTitle } from '../words/event-titles.js'
import { fill } from '../words/format.js'
import { type Column, PagedTable, Table } from './table.js'
import { UserLink } from './user-cells.js'

type Props = {
  events: readonly AdminEvent[]
  empty: string
  /** The user whose page it is: their name is left out. */
  about?: string
  pages?: { next: string | null; onMore: () => Promise<void> }
}

export const EventTable = ({ events, empty, about, pages }: Props) => {
  const { caption } = useWords('admin').eventList
  const columns = useColumns(about)
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

/** What happened, in words that are about a user and not to them. A kind of a newer service is shown as it is. */
export const useAdminEventTitle = () => {
  const { kinds } = useWords('admin')
  const titleOf = useEventTitle()
  return ({ kind, reason }: Pick<AdminEvent, 'kind' | 'reason'>) => {
    if (Object.hasOwn(kinds, kind)) return kinds[kind as keyof typeof kinds]
    return isAccountKind(kind) ? titleOf({ kind, reason }) : kind
  }
}

const proofKinds: readonly string[] = [
  'second_factor_failed',
  'step_up_failed',
  'stepped_up',
] satisfies AccountEventKind[]

/** A provider, or what was used as a proof. Other reasons have no words. */
const useReasonInWords = () => {
  const { sessionMethods } = useWords('dashboard')
  const { providers } = useSettings()
  return ({ kind, reason }: Pick<AdminEvent, 'kind' | 'reason'>) => {
    const provider = providers.find(({ id }) => id === reason)?.name
    if (provider !== undefined || reason === null) return provider
    const isMethod = proofKinds.includes(kind) && Object.hasOwn(sessionMethods, reason)
    return isMethod ? sessionMethods[reason as Method] : undefined
  }
}

const What = ({ event }: { event: AdminEvent }) => {
  const words = useWords('admin').eventList
  const titleOf = useAdminEventTitle()
  const title = titleOf(event)
  const { reason, actorReason } = event
  const because = fill(words.because, { reason: '' })
  const inWords = useReasonInWords()(event)
  const isInTitle = reason !== null && title.includes(inWords ?? reason.replaceAll(',', ', '))
  return (
    <div class="row-text">
      <strong>{title}</strong>
      {reason !== null && !isInTitle && (inWords ? <span>{inWords}</span> : <span lang="en">{reason}</span>)}
      {actorReason !== null && (
        <span>
          {because}
          <bdi>{actorReason}</bdi>
        </span>
      )}
    </div>
  )
}

const Where = ({ event }: { event: AdminEvent }) => {
  const { eventList } = useWords('admin')
  if (event.ip === operatorsPlace) return <span>{eventList.commandLine}</span>
  if (event.ip === '') return <span class="muted">{eventList.service}</span>
  return (
    <div class="row-text">
      <span class="plain">{event.ip}</span>
      <span lang="en">{event.device}</span>
    </div>
  )
}

/** An administrator, or a service key: a user may have the name of a key. */
const Actor = ({ event: { actorId, actor, actorKey } }: { event: AdminEvent }) => {
  const { serviceKey } = useWords('admin').eventList
  if (actorId !== null) return <UserLink id={actorId} username={actor ?? actorId} />
  return <span>{actorKey === null ? '–' : fill(serviceKey, { name: actorKey })}</span>
}

const useColumns = (about: string | undefined): Column<AdminEvent>[] => {
  const { columns } = useWords('admin')
  const { locale } = useSettings()
  const user: Column<AdminEvent> = {
    label: columns.user,
    cell: ({ userId, username }) =>
      userId === null ? username : <UserLink id={userId} username={username ?? userId} />,
  }
  return [
    { label: columns.event, cell: (event) => <What event={event} /> },
    ...(about === undefined ? [user] : []),
    { label: columns.place, cell: (event) => <Where event={event} /> },
    { label: columns.actor, cell: (event) => <Actor event={event} /> },
    {
      label: columns.time,
      cell: ({ createdAt }) => (
        <time dateTime={createdAt} title={zonedDate(createdAt, locale)}>
          {exactDate(createdAt, locale)}
        </time>
      ),
    },
  ]
}
