import { useEffect, useRef, useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import { adminPageSize } from '#contract/admin/admin-api.js'
import type { AdminUser, UserOrder } from '#contract/admin/admin-bodies.js'
import { saveFile } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { Announced, Notice } from '../components/notice.js'
import { isFocusAtStart, moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useDebounced } from '../hooks/stable.js'
import { timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useRefusalSentence } from '../words/refusals.js'
import { calls } from './calls.js'
import { usersAsCsv } from './files.js'
import { fragmentOf, listFragment, type Place, replaceQuery } from './place.js'
import { Loaded, Screen, useAdmin, usePages, useRead } from './screen.js'
import {
  Ago,
  type Column,
  FilterField,
  FilterSelect,
  GroupNames,
  PagedTable,
  StateBadge,
  UserLink,
  useNumberFormat,
} from './table.js'
import { UserDrawer } from './user.js'

type Filter = Record<'search' | 'group' | 'state' | 'factor' | 'order', string>

const noFilter: Filter = { search: '', group: '', state: '', factor: '', order: '' }

/** The list, and the user whose id the address names beside it. */
export const UsersScreen = ({ id, query }: Place) => {
  const words = useWords('admin')
  const [typed, setTyped] = useState<Filter>({ ...noFilter, ...query })
  const settledFilter = useDebounced(JSON.stringify({ ...typed, search: typed.search.trim() }))
  const filter: Filter = JSON.parse(settledFilter)
  const isListShown = id === undefined
  useEffect(() => {
    if (isListShown) replaceQuery('users', JSON.parse(settledFilter))
  }, [settledFilter, isListShown])
  useFocusBack(id)
  const change = (changed: Partial<Filter>) => setTyped((current) => ({ ...current, ...changed }))
  const columns = useColumns(filter, (order) => change({ order }))
  const { items, ...pages } = usePages((after) => askForUsers(filter, after), settledFilter)
  const isFiltered = Object.keys(filter).some((name) => name !== 'order' && filter[name as keyof Filter] !== '')
  return (
    <>
      <div class={id === undefined ? 'list' : 'list behind'}>
        <Screen title={words.users} isBehind={id !== undefined}>
          <section class="panel">
            <UserFilter filter={typed} onChange={change} />
            <Loaded value={items} {...pages}>
              {(users) => (
                <>
                  <UserTools filter={filter} shown={users.length} count={pages.count} />
                  {users.length === 0 && filter.search.includes('@') && (
                    <AddressWithoutAccount search={filter.search} />
                  )}
                  <PagedTable
                    caption={words.users}
                    columns={columns}
                    rows={users}
                    keyOf={(user) => user.id}
                    empty={
                      <>
                        <p>{words.userList.empty}</p>
                        {isFiltered && <Button onPress={() => setTyped(noFilter)}>{words.clearFilter}</Button>}
                      </>
                    }
                    rowsAreLinks
                    next={pages.next}
                    count={pages.count}
                    onMore={pages.loadMore}
                  />
                </>
              )}
            </Loaded>
          </section>
        </Screen>
      </div>
      {id !== undefined && <UserDrawer key={id} id={id} onChanged={pages.reload} />}
    </>
  )
}

/** When the user beside the list is closed, the focus goes back to their row. */
const useFocusBack = (id: string | undefined) => {
  const shown = useRef(id)
  useEffect(() => {
    const before = shown.current
    shown.current = id
    if (id !== undefined || before === undefined || !isFocusAtStart()) return
    moveFocusTo(document.querySelector<HTMLElement>(`tbody a[href="${fragmentOf('users', before)}"]`))
  }, [id])
}

const UserFilter = ({ filter, onChange }: { filter: Filter; onChange: (change: Partial<Filter>) => void }) => {
  const { userList: words, columns } = useWords('admin')
  const { value } = useRead(calls.groups)
  const names = value?.groups.map(({ name }) => name) ?? [filter.group].filter(Boolean)
  return (
    <search class="filters" aria-label={words.filter}>
      <FilterField
        label={words.search}
        hint={words.searchHint}
        value={filter.search}
        onInput={(search) => onChange({ search })}
        maxLength={254}
      />
      <FilterSelect
        label={columns.group}
        value={filter.group}
        onChange={(group) => onChange({ group })}
        choices={[{ value: '', label: words.anyGroup }, ...names.map((name) => ({ value: name, label: name }))]}
      />
      <FilterSelect
        label={columns.state}
        value={filter.state}
        onChange={(state) => onChange({ state })}
        choices={[
          { value: '', label: words.anyState },
          { value: 'active', label: words.active },
          { value: 'disabled', label: words.disabled },
        ]}
      />
      <FilterSelect
        label={columns.factors}
        value={filter.factor}
        onChange={(factor) => onChange({ factor })}
        choices={[
          { value: '', label: words.anyFactor },
          { value: 'none', label: words.withoutFactor },
        ]}
      />
      {/* The heads of the table are not seen on a phone. */}
      <div class="only-phone">
        <FilterSelect
          label={words.order}
          value={filter.order}
          onChange={(order) => onChange({ order })}
          choices={Object.entries(words.orders).map(([value, label]) => ({
            value: value === 'username' ? '' : value,
            label,
          }))}
        />
      </div>
    </search>
  )
}

const maxPagesAsked = 100
const maxExported = 10_000

type Page = { items: AdminUser[]; next: string | null; count: number | undefined }

/**
 * Asks for several pages. For each page the service looks at only some thousand users, so few of them or none may match although later
 * pages have more.
 */
const askForUsers = async ({ order, ...filter }: Filter, after?: string): Promise<Answer<Page>> => {
  const items: AdminUser[] = []
  let next = after ?? null
  let count: number | undefined
  for (let pagesAsked = 0; pagesAsked < maxPagesAsked; pagesAsked += 1) {
    const answer = await calls.users({ ...filter, order: filter.search === '' ? order : '', after: next ?? '' })
    if (answer.refused) return answer
    items.push(...answer.value.users)
    next = answer.value.next
    count ??= answer.value.count ?? undefined
    if (next === null || items.length >= adminPageSize) break
  }
  return { value: { items, next, count } }
}

/** How many there are, and all of them as a file. */
const UserTools = ({ filter, shown, count }: { filter: Filter; shown: number; count: number | undefined }) => {
  const words = useWords('admin').userList
  const formatNumber = useNumberFormat()
  const { showSuccess, showError, leaveIfEnded } = useAdmin()
  const sentenceOf = useRefusalSentence()
  const save = async () => {
    const users: AdminUser[] = []
    let after: string | undefined
    do {
      const answer = await askForUsers(filter, after)
      if (answer.refused) {
        if (!(await leaveIfEnded(answer))) showError(sentenceOf(answer))
        return
      }
      users.push(...answer.value.items)
      after = answer.value.next ?? undefined
    } while (after !== undefined && users.length < maxExported)
    saveFile(usersAsCsv(users), 'users.csv', 'text/csv')
    showSuccess(fill(after === undefined ? words.exported : words.exportCut, { count: formatNumber(users.length) }))
  }
  const found = count === undefined ? words.many : fill(words.found, { count: formatNumber(count) })
  // The region stays while nothing is found, so that a screen reader knows it when there is something again.
  return (
    <div class={shown === 0 ? 'visually-hidden' : 'tools'}>
      <Announced class="panel-lead" text={shown === 0 ? '' : found} />
      {shown > 0 && (
        <div class="button-row">
          <Button onPress={save}>{words.exportCsv}</Button>
        </div>
      )}
    </div>
  )
}

const useColumns = ({ search, order }: Filter, onOrder: (order: UserOrder) => void): Column<AdminUser>[] => {
  const { columns, userList } = useWords('admin')
  // What a search finds has its best matches first.
  const sortBy = (name: 'username' | 'created'): Pick<Column<AdminUser>, 'sort'> => {
    if (search !== '') return {}
    const isUp = (order === '' ? 'username' : order) === name
    const isDown = order === `-${name}`
    const now = isUp ? 'ascending' : isDown ? 'descending' : 'none'
    return { sort: { now, onPress: () => onOrder(isUp ? `-${name}` : name) } }
  }
  return [
    {
      label: columns.user,
      cell: (user) => (
        <div class="row-text">
          <strong>
            <UserLink {...user} />
          </strong>
          <span>{user.name === null ? user.email : `${user.name} · ${user.email}`}</span>
        </div>
      ),
      ...sortBy('username'),
    },
    { label: columns.state, cell: (user) => <StateBadge {...user} />, onPhone: 'beside-name' },
    { label: columns.lastSignIn, cell: ({ lastSignInAt }) => <Ago moment={lastSignInAt} />, onPhone: 'second-line' },
    {
      label: columns.factors,
      cell: ({ factors }) =>
        factors.length === 0 ? (
          <span class="muted">{userList.noFactor}</span>
        ) : (
          factors.map((factor) => userList.factors[factor]).join(', ')
        ),
      onPhone: 'left-out',
    },
    { label: columns.groups, cell: (user) => <GroupNames {...user} />, onPhone: 'left-out' },
    {
      label: columns.created,
      cell: ({ createdAt }) => <Ago moment={createdAt} />,
      onPhone: 'left-out',
      ...sortBy('created'),
    },
  ]
}

/** Shows what is known about an email address that no user has. */
const AddressWithoutAccount = ({ search }: { search: string }) => {
  const { userList: words, invitations } = useWords('admin')
  const { locale } = useSettings()
  const { value } = useRead(() => calls.users({ search }), search)
  const withoutAccount = value?.withoutAccount
  if (!withoutAccount) return null
  const { email, invitedAt, registeredAt } = withoutAccount
  const sentences = [
    ...(registeredAt === null ? [] : [fill(words.registered, { email, ago: timeAgo(registeredAt, locale) })]),
    ...(invitedAt === null ? [] : [fill(words.invited, { email, ago: timeAgo(invitedAt, locale) })]),
  ]
  return (
    <Notice kind="info" after={invitedAt !== null && <a href={listFragment('invitations')}>{invitations}</a>}>
      {sentences.join(' ')}
    </Notice>
  )
}
