import { useEffect, useState } from 'preact/hooks'
import { adminPageSize } from '#contract/admin/admin-api.js'
import type { AdminUser } from '#contract/admin/admin-bodies.js'
import { Notice } from '../components/notice.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useDebounced } from '../hooks/stable.js'
import { timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { listFragment, type Place, replaceQuery } from './place.js'
import { Loaded, Screen, usePages, useRead } from './screen.js'
import { Ago, type Column, FilterField, FilterSelect, GroupNames, PagedTable, StateBadge, UserLink } from './table.js'

type Filter = Record<'search' | 'group' | 'state' | 'factor', string>

export const UsersScreen = ({ query }: Pick<Place, 'query'>) => {
  const words = useWords('admin')
  const { search = '', group = '', state = '', factor = '' } = query
  const [typed, setTyped] = useState<Filter>({ search, group, state, factor })
  const settledFilter = useDebounced(JSON.stringify({ ...typed, search: typed.search.trim() }))
  const filter: Filter = JSON.parse(settledFilter)
  useEffect(() => replaceQuery('users', JSON.parse(settledFilter)), [settledFilter])
  const columns = useColumns()
  const { items, ...pages } = usePages((after) => askForUsers(filter, after), settledFilter)
  return (
    <Screen title={words.users}>
      <section class="panel">
        <UserFilter filter={typed} onChange={(change) => setTyped((current) => ({ ...current, ...change }))} />
        <Loaded value={items} {...pages}>
          {(users) => (
            <>
              {users.length === 0 && filter.search.includes('@') && <AddressWithoutAccount search={filter.search} />}
              <PagedTable
                caption={words.users}
                columns={columns}
                rows={users}
                keyOf={({ id }) => id}
                empty={words.userList.empty}
                next={pages.next}
                onMore={pages.loadMore}
              />
            </>
          )}
        </Loaded>
      </section>
    </Screen>
  )
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
    </search>
  )
}

const maxPagesAsked = 100

/**
 * Asks for several pages. For each page the service looks at only some thousand users, so few of them or none may match although later
 * pages have more.
 */
const askForUsers = async (filter: Filter, after?: string) => {
  const items: AdminUser[] = []
  let next = after ?? null
  for (let pagesAsked = 0; pagesAsked < maxPagesAsked; pagesAsked += 1) {
    const answer = await calls.users({ ...filter, after: next ?? '' })
    if (answer.refused) return answer
    items.push(...answer.value.users)
    next = answer.value.next
    if (next === null || items.length >= adminPageSize) break
  }
  return { value: { items, next } }
}

const useColumns = (): Column<AdminUser>[] => {
  const { columns, userList } = useWords('admin')
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
    },
    { label: columns.state, cell: (user) => <StateBadge {...user} /> },
    { label: columns.lastSignIn, cell: ({ lastSignInAt }) => <Ago moment={lastSignInAt} /> },
    {
      label: columns.factors,
      cell: ({ factors }) =>
        factors.length === 0 ? (
          <span class="muted">{userList.noFactor}</span>
        ) : (
          factors.map((factor) => userList.factors[factor]).join(', ')
        ),
    },
    { label: columns.groups, cell: (user) => <GroupNames {...user} /> },
  ]
}

/** Shows what is known about an email address that no user has. */
const AddressWithoutAccount = ({ search }: { search: string }) => {
  const { userList: words, invitations } = useWords('admin')
  const { locale } = useSettings()
  const { value } = useRead(() => calls.users({ search, group: '', state: '', factor: '', after: '' }), search)
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
