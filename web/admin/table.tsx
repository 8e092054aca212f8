import type { ComponentChild, ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { AdminUser } from '#contract/admin/admin-bodies.js'
import { Button } from '../components/button.js'
import { isFocusAtStart, moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithSecondsAndZone, fullDate, timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { fragmentOf } from './place.js'
import { useAdmin } from './screen.js'

export type Column<Row> = {
  label: string
  cell: (row: Row) => ComponentChildren
  /** `end` is for numbers and buttons. */
  align?: 'end'
}

/** The roles are spelled out, because a browser drops them when CSS lays out the parts of a table differently, as on a narrow screen. */
const role = {
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
  empty: string
  classOf?: (row: Row) => string | undefined
}

/** The first column names the row. On a narrow screen each row is a card: its cells stand below each other, each with its label. */
export const Table = <Row,>({ caption, columns, rows, keyOf, empty, classOf }: Props<Row>) => {
  const table = useFocusOnReturn()
  if (rows.length === 0) return <p class="panel-lead">{empty}</p>
  return (
    <table ref={table} class="table" {...role.table}>
      <caption class="visually-hidden">{caption}</caption>
      <thead {...role.rowgroup}>
        <tr {...role.row}>
          {columns.map(({ label, align }) => (
            <th key={label} scope="col" {...role.columnheader} class={align}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody {...role.rowgroup}>
        {rows.map((row) => (
          <tr key={keyOf(row)} {...role.row} class={classOf?.(row)}>
            {columns.map((column, index) => (
              <Cell key={column.label} column={column} row={row} isName={index === 0} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Puts the focus back to the link of the table from which the administrator has left. */
const useFocusOnReturn = () => {
  const { earlierDeparture } = useAdmin()
  const table = useRef<HTMLTableElement>(null)
  useEffect(() => {
    const links = [...(table.current?.querySelectorAll('a') ?? [])]
    const link = links.find((each) => each.getAttribute('href') === earlierDeparture?.to)
    if (!earlierDeparture || !link || !isFocusAtStart()) return
    scrollTo(0, earlierDeparture.scrolledTo)
    link.focus()
  }, [earlierDeparture])
  return table
}

const Cell = <Row,>({ column, row, isName }: { column: Column<Row>; row: Row; isName: boolean }) =>
  isName ? (
    <th scope="row" {...role.rowheader}>
      {column.cell(row)}
    </th>
  ) : (
    <td {...role.cell} class={column.align} data-label={column.label}>
      <div>{column.cell(row)}</div>
    </td>
  )

type PagesProps<Row> = Props<Row> & { next: string | null; onMore: () => Promise<void> }

/** A table whose rows come page by page. The first new row gets the focus. */
export const PagedTable = <Row,>({ next, onMore, ...table }: PagesProps<Row>) => {
  const words = useWords('admin')
  const container = useRef<HTMLDivElement>(null)
  const rowToFocus = useRef<number | undefined>(undefined)
  const { rows } = table
  useEffect(() => {
    if (rowToFocus.current === undefined || rows.length <= rowToFocus.current) return
    moveFocusTo(container.current?.querySelectorAll<HTMLElement>('tbody th')[rowToFocus.current])
    rowToFocus.current = undefined
  }, [rows.length])
  const loadMore = async () => {
    rowToFocus.current = rows.length
    await onMore()
  }
  return (
    <div ref={container}>
      {rows.length > 0 && <Table {...table} />}
      <div class="table-end">
        <p class="panel-lead" role="status">
          {rows.length === 0
            ? table.empty
            : fill(next === null ? words.allShown : words.moreBelow, { count: `${rows.length}` })}
        </p>
        {next !== null && <Button onPress={loadMore}>{words.showMore}</Button>}
      </div>
    </div>
  )
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
        aria-describedby={`${id}-hint`}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <p class="field-hint" id={`${id}-hint`}>
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
