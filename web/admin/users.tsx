import { useEffect, useState } from 'preact/hooks'
import type { AdminUser } from '#contract/admin/admin-bodies.js'
import { useDebounced } from '../hooks/debounced.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { FilterField } from './filter-field.js'
import { fragmentOf, type Place, replaceQuery } from './place.js'
import { Loaded, Screen } from './screen.js'
import { type Column, PagedTable } from './table.js'
import { usePages } from './use-read.js'
import { Ago, GroupNames, StateBadge, UserLink } from './user-cells.js'

export const UsersScreen = ({ query }: Pick<Place, 'query'>) => {
  const words = useWords('admin')
  const { group } = query
  const [typed, setTyped] = useState(query.search ?? '')
  const search = useDebounced(typed.trim())
  useEffect(() => replaceQuery('users', { search, group }), [search, group])
  const columns = useColumns()
  const { items, ...pages } = usePages((after) => askForUsers(search, group, after), search)
  return (
    <Screen title={words.users}>
      <section class="panel">
        <search>
          <FilterField
            label={words.userList.search}
            hint={words.userList.searchHint}
            value={typed}
            onInput={setTyped}
            maxLength={254}
          />
          {group !== undefined && (
            <p class="filter-note">
              {fill(words.userList.inGroup, { group })} <a href={fragmentOf('users')}>{words.userList.anyGroup}</a>
            </p>
          )}
        </search>
        <Loaded value={items} {...pages}>
          {(users) => (
            <PagedTable
              caption={words.users}
              columns={columns}
              rows={users}
              keyOf={({ id }) => id}
              empty={words.userList.empty}
              next={pages.next}
              onMore={pages.loadMore}
            />
          )}
        </Loaded>
      </section>
    </Screen>
  )
}

const askForUsers = async (search: string, group: string | undefined, after?: string) => {
  const answer = await calls.users({ search, ...(group && { group }), ...(after && { after }) })
  return answer.refused ? answer : { value: { items: answer.value.users, next: answer.value.next } }
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
