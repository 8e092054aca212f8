import type { AdminApplication } from '#contract/admin/admin-bodies.js'
import { useWords } from '../hooks/settings.js'
import { calls } from './calls.js'
import { fragmentOf } from './place.js'
import { Loaded, Screen } from './screen.js'
import { type Column, Table } from './table.js'
import { useRead } from './use-read.js'
import { GroupNames } from './user-cells.js'

export const ApplicationsScreen = () => {
  const words = useWords('admin')
  const read = useRead(calls.applications)
  const columns = useColumns()
  return (
    <Screen title={words.applications} lead={words.app.lead}>
      <section class="panel">
        <Loaded {...read}>
          {({ applications }) => (
            <Table
              caption={words.applications}
              columns={columns}
              rows={applications}
              keyOf={({ id }) => id}
              empty={words.app.empty}
            />
          )}
        </Loaded>
      </section>
    </Screen>
  )
}

/** Shows who may use an application. With an empty list of groups, no user may. */
export const Access = ({ everyone, groups }: Pick<AdminApplication, 'everyone' | 'groups'>) => {
  const words = useWords('admin').app
  if (everyone) return <span>{words.everyone}</span>
  return groups.length === 0 ? <span>{words.nobody}</span> : <GroupNames groups={groups} />
}

const useColumns = (): Column<AdminApplication>[] => {
  const { columns, app } = useWords('admin')
  return [
    {
      label: columns.application,
      cell: ({ id, name, home }) => (
        <div class="row-text">
          <strong>
            <a href={fragmentOf('applications', id)}>{name}</a>
          </strong>
          <span>{home}</span>
        </div>
      ),
    },
    { label: columns.kind, cell: ({ kind }) => app.kinds[kind] },
    { label: columns.access, cell: (application) => <Access {...application} /> },
    {
      label: columns.lastError,
      cell: ({ errors: [newest] }) =>
        newest ? <span lang="en">{newest.message}</span> : <span class="muted">{app.noErrors}</span>,
    },
  ]
}
