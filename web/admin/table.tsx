import type { ComponentChild, ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { AdminUser } from '#contract/admin/admin-bodies.js'
import { Button } from '../components/button.js'
import { isFocusAtStart, moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { dateWithSecondsAndZone, fullDate, timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { fragmentOf } from './place.js'
import { useAdmin } from './screen.js'

export type Column<Row> = {
  label: string
  cell: (row: Row) => ComponentChildren
  /** `end` is for numbers and buttons. */
  align?: 'end'
  /** The rows can be sorted by this column: how they are sorted by it now, and what a press on the head does. */
  sort?: { now: 'ascending' | 'descending' | 'none'; onPress: () => void }
  /** On a narrow screen the cell stands without its label in the second line of the row, or is left out there. */
  onPhone?: 'second-line' | 'beside-name' | 'left-out'
}

/** The roles are spelled out, because a browser drops them when CSS lays out the parts of a table differently, as on a narrow screen. */
export const role = {
  table: { role: 'table' },
  rowgroup: { role: 'rowgroup' },
  row: { role: 'row' },
  columnheader: { role: 'columnheader' },
  rowheader: { role: 'rowheader' },
  cell: { role: 'cell' },
} as const

type Props<Row> = {
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** Stands in the place of a table without rows: a sentence, and what can be done about it. */
  empty: ComponentChildren
  /** The first cell of a row has a link, and the whole row leads there. */
  rowsAreLinks?: boolean
}

/** The first column names the row. On a narrow screen each row is a card: its cells stand below each other, each with its label. */
export const Table = <Row,>({ caption, columns, rows, keyOf, empty, rowsAreLinks = false }: Props<Row>) => {
  const table = useFocusOnReturn()
  if (rows.length === 0) return <Empty>{empty}</Empty>
  return (
    <table ref={table} class={rowsAreLinks ? 'table linked' : 'table'} {...role.table}>
      <caption class="visually-hidden">{caption}</caption>
      <thead {...role.rowgroup}>
        <tr {...role.row}>
          {columns.map((column) => (
            <Head key={column.label} {...column} />
          ))}
        </tr>
      </thead>
      <tbody {...role.rowgroup}>
        {rows.map((row) => (
          <tr key={keyOf(row)} {...role.row}>
            {columns.map((column, index) => (
              <Cell key={column.label} column={column} row={row} isName={index === 0} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** What is shown where nothing is: why, and the way on. */
export const Empty = ({ children }: { children: ComponentChildren }) => <div class="empty">{children}</div>

/** On a narrow screen the heads are not seen, so nothing in them takes the focus there. */
const Head = <Row,>({ label, align, sort }: Column<Row>) => (
  <th scope="col" {...role.columnheader} class={align} aria-sort={sort?.now}>
    {sort ? (
      <>
        <span class="head-label">{label}</span>
        <button type="button" class="head-sort" onClick={sort.onPress}>
          {label}
          <SortIcon now={sort.now} />
        </button>
      </>
    ) : (
      label
    )}
  </th>
)

const SortIcon = ({ now }: { now: 'ascending' | 'descending' | 'none' }) => (
  <svg class={`sort-icon ${now}`} viewBox="0 0 8 12" width="0.5rem" height="0.75rem" aria-hidden="true">
    <path class="up" d="M4 1 7 5H1Z" />
    <path class="down" d="M4 11 1 7h6Z" />
  </svg>
)

/** Puts the focus back to the link of the table from which the administrator has left. */
export const useFocusOnReturn = () => {
  const { earlierDeparture } = useAdmin()
  const table = useRef<HTMLTableElement>(null)
  useEffect(() => {
    const links = [...(table.current?.querySelectorAll('a') ?? [])]
    const link = links.find((each) => each.getAttribute('href') === earlierDeparture?.to)
    if (!earlierDeparture || !link || !isFocusAtStart()) return
    scrollTo(0, earlierDeparture.scrolledTo)
    link.focus({ preventScroll: true })
  }, [earlierDeparture])
  return table
}

const Cell = <Row,>({ column, row, isName }: { column: Column<Row>; row: Row; isName: boolean }) =>
  isName ? (
    <th scope="row" {...role.rowheader}>
      {column.cell(row)}
    </th>
  ) : (
    <td
      {...role.cell}
      class={[column.align, column.onPhone].filter(Boolean).join(' ') || undefined}
      data-label={column.label}
    >
      <div>{column.cell(row)}</div>
    </td>
  )

type PagesProps<Row> = Props<Row> & { next: string | null; onMore: () => Promise<void>; count: number | undefined }

/** A table whose rows come page by page. The first new row gets the focus. */
export const PagedTable = <Row,>({ next, onMore, count, ...table }: PagesProps<Row>) => (
  <Paged next={next} onMore={onMore} shown={table.rows.length} count={count}>
    <Table {...table} />
  </Paged>
)

type PagedProps = {
  next: string | null
  onMore: () => Promise<void>
  shown: number
  /** How many there are in all, if that is known. */
  count: number | undefined
  /** More is loaded when the end comes into view. The button stays for who does not scroll. */
  loadsByItself?: boolean
  children: ComponentChildren
}

export const Paged = ({ next, onMore, shown, count, loadsByItself = false, children }: PagedProps) => {
  const words = useWords('admin')
  const formatNumber = useNumberFormat()
  const container = useRef<HTMLDivElement>(null)
  const end = useRef<HTMLDivElement>(null)
  const rowToFocus = useRef<number | undefined>(undefined)
  const isLoading = useRef(false)
  useEffect(() => {
    if (rowToFocus.current === undefined || shown <= rowToFocus.current) return
    moveFocusTo(container.current?.querySelectorAll<HTMLElement>('tbody tr:not(.day) > th')[rowToFocus.current])
    rowToFocus.current = undefined
  }, [shown])
  const load = useStableCallback(async () => {
    if (isLoading.current) return
    isLoading.current = true
    await onMore()
    isLoading.current = false
  })
  useEffect(() => {
    if (!loadsByItself || next === null || !end.current) return undefined
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void load(), {
      rootMargin: '400px',
    })
    observer.observe(end.current)
    return () => observer.disconnect()
  }, [loadsByItself, next])
  const text = next === null ? words.allShown : count === undefined ? words.moreBelow : words.shownOf
  // Where all are shown, their number stands above them already.
  const isSaidAbove = next === null && count !== undefined
  return (
    <div ref={container}>
      {children}
      <div class="table-end" ref={end}>
        <p class={shown === 0 ? 'visually-hidden' : 'panel-lead'} role="status">
          {shown === 0 && words.searchAll.nothing}
          {shown > 0 && !isSaidAbove && fill(text, { count: formatNumber(shown), all: formatNumber(count ?? shown) })}
        </p>
        {next !== null && (
          <Button
            onPress={() => {
              rowToFocus.current = shown
              return load()
            }}
          >
            {words.showMore}
          </Button>
        )}
      </div>
    </div>
  )
}

export const useNumberFormat = () => {
  const { locale } = useSettings()
  return (value: number) => new Intl.NumberFormat(locale).format(value)
}

type FilterProps = {
  label: string
  hint: string
  value: string
  onInput: (value: string) => void
  maxLength: number
}

/** A field that filters a list while the user types. */
export const FilterField = ({ label, hint, value, onInput, maxLength }: FilterProps) => {
  const id = useId()
  return (
    <div class="filter-field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        autocomplete="off"
        autocapitalize="none"
        autoCorrect="off"
        spellcheck={false}
        maxLength={maxLength}
        value={value}
        title={hint}
        aria-describedby={`${id}-hint`}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <p class="visually-hidden" id={`${id}-hint`}>
        {hint}
      </p>
    </div>
  )
}

type Choice = { value: string; label: string }
type FilterSelectProps = {
  label: string
  value: string
  onChange: (value: string) => void
  choices: readonly Choice[]
  groups?: readonly { label: string; choices: readonly Choice[] }[]
}

/** A choice that filters a list. */
export const FilterSelect = ({ label, value, onChange, choices, groups = [] }: FilterSelectProps) => {
  const id = useId()
  const option = (choice: Choice) => (
    <option key={choice.value} value={choice.value}>
      {choice.label}
    </option>
  )
  return (
    <div class="filter-field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {choices.map(option)}
        {groups.map((group) => (
          <optgroup key={group.label} label={group.label}>
            {group.choices.map(option)}
          </optgroup>
        ))}
      </select>
    </div>
  )
}

export const UserLink = ({ id, username }: Pick<AdminUser, 'id' | 'username'>) => (
  <a href={fragmentOf('users', id)}>{username}</a>
)

export const StateBadge = ({ disabled, lockedDown }: Pick<AdminUser, 'disabled' | 'lockedDown'>) => {
  const { userList } = useWords('admin')
  if (lockedDown) return <span class="badge bad">{userList.lockedDown}</span>
  return <span class={disabled ? 'badge bad' : 'badge'}>{disabled ? userList.disabled : userList.active}</span>
}

/** "3 minutes ago", with the whole date as a tooltip. */
export const Ago = ({ moment }: { moment: string | null }) => {
  const { never } = useWords('admin')
  const { locale } = useSettings()
  if (moment === null) return <span class="muted">{never}</span>
  return (
    <time dateTime={moment} title={dateWithSecondsAndZone(moment, locale)}>
      {timeAgo(moment, locale)}
    </time>
  )
}

/** The date, with its time zone as a tooltip. */
export const At = ({ moment }: { moment: string }) => {
  const { locale } = useSettings()
  return (
    <time dateTime={moment} title={dateWithSecondsAndZone(moment, locale)}>
      {fullDate(moment, locale)}
    </time>
  )
}

/** Names of groups, or a word for none. */
export const GroupNames = ({ groups }: Pick<AdminUser, 'groups'>) => {
  const { none } = useWords('admin')
  if (groups.length === 0) return <span class="muted">{none}</span>
  return (
    <ul class="tags">
      {groups.map((group) => (
        <li key={group}>{group}</li>
      ))}
    </ul>
  )
}

/** Rows with facts and buttons, or a sentence that there are none. */
export const RowList = ({ empty, children }: { empty: string; children: ComponentChild[] }) =>
  children.length === 0 ? <p class="panel-lead">{empty}</p> : <ul class="row-list">{children}</ul>
