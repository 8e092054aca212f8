import { useState } from 'preact/hooks'
import type { AdminProgram } from '#contract/admin/admin-bodies.js'
import { Button } from '../components/button.js'
import { Panel } from '../components/panel.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { ChangeDialog, ReasonField } from './change-dialog.js'
import { useAdmin } from './screen.js'
import { At, type Column, Table } from './table.js'

type Props = { programs: readonly AdminProgram[]; reload: () => Promise<void> }

/** Programs of documents: nobody registered them, and nothing of them can be changed here but that their access ends. */
export const Programs = ({ programs, reload }: Props) => {
  const { columns } = useWords('admin')
  const words = useWords('configuration').documents
  const { mayManage } = useAdmin()
  const [ending, setEnding] = useState<AdminProgram>()
  const ends: Column<AdminProgram> = {
    label: columns.change,
    align: 'end',
    cell: (program) =>
      program.sessions > 0 && (
        <Button label={fill(words.endOf, { name: program.name })} onPress={() => setEnding(program)}>
          {`${words.end}…`}
        </Button>
      ),
  }
  const shown: Column<AdminProgram>[] = [
    {
      label: words.program,
      cell: ({ name, host, document }) => (
        <div class="row-text">
          <strong>{fill(words.nameAndHost, { name, host })}</strong>
          <span>{document}</span>
        </div>
      ),
    },
    { label: words.sessions, cell: ({ sessions }) => sessions },
    { label: columns.created, cell: ({ createdAt }) => <At moment={createdAt} /> },
    ...(mayManage ? [ends] : []),
  ]
  return (
    <Panel title={words.heading} lead={words.lead}>
      <Table caption={words.heading} columns={shown} rows={programs} keyOf={({ id }) => id} empty="" />
      {ending && <EndDialog program={ending} onDone={reload} onClose={() => setEnding(undefined)} />}
    </Panel>
  )
}

type DialogProps = { program: AdminProgram; onDone: () => Promise<void>; onClose: () => void }

const EndDialog = ({ program: { id, name, host }, ...dialog }: DialogProps) => {
  const { notTold } = useWords('admin')
  const words = useWords('configuration').documents
  const values = { name: fill(words.nameAndHost, { name, host }) }
  return (
    <ChangeDialog
      {...dialog}
      title={fill(words.endTitle, values)}
      lead={words.endLead}
      userNotice={notTold}
      submitLabel={words.end}
      look="danger"
      call={({ reason = '' }) => calls.endAccess(id, reason)}
      successMessage={() => fill(words.ended, values)}
    >
      <ReasonField />
    </ChangeDialog>
  )
}
