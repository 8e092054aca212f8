import { useState } from 'preact/hooks'
import type { AdminGroup } from '#contract/admin/admin-bodies.js'
import { isGroupName } from '#contract/groups.js'
import { Button } from '../components/button.js'
import { Field } from '../components/field.js'
import type { FieldProblems, Values } from '../components/form.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { ChangeDialog, ReasonField } from './change-dialog.js'
import { fragmentOf } from './place.js'
import { Loaded, Screen, useAdmin, useRead } from './screen.js'
import { At, type Column, Table } from './table.js'

export const GroupsScreen = () => {
  const words = useWords('admin')
  const { mayManage } = useAdmin()
  const read = useRead(calls.groups)
  const [openDialog, setOpenDialog] = useState<AdminGroup | 'new'>()
  const close = () => setOpenDialog(undefined)
  const columns = useColumns(setOpenDialog)
  const newButton = mayManage && (
    <Button look="primary" onPress={() => setOpenDialog('new')}>{`${words.group.action}…`}</Button>
  )
  return (
    <Screen
      title={words.groups}
      lead={words.group.lead}
      beside={read.value && read.value.groups.length > 0 && newButton}
    >
      <section class="panel">
        <Loaded {...read}>
          {({ groups }) => (
            <Table
              caption={words.groups}
              columns={columns}
              rows={groups}
              keyOf={({ name }) => name}
              empty={
                <>
                  <p>{words.group.empty}</p>
                  {newButton}
                </>
              }
            />
          )}
        </Loaded>
      </section>
      {openDialog === 'new' && <NewDialog onDone={read.reload} onClose={close} />}
      {openDialog !== undefined && openDialog !== 'new' && (
        <DeleteDialog group={openDialog} onDone={read.reload} onClose={close} />
      )}
    </Screen>
  )
}

const useColumns = (onDelete: (group: AdminGroup) => void): Column<AdminGroup>[] => {
  const { columns, group: words } = useWords('admin')
  const { mayManage } = useAdmin()
  const deletion: Column<AdminGroup> = {
    label: columns.change,
    align: 'end',
    // A group with a role is named by a setting, which has to change before the group can be deleted.
    cell: (group) =>
      group.role === null && (
        <Button label={fill(words.deleteOf, { group: group.name })} onPress={() => onDelete(group)}>
          {`${words.delete}…`}
        </Button>
      ),
  }
  return [
    { label: columns.group, cell: ({ name }) => <strong>{name}</strong> },
    {
      label: columns.members,
      cell: ({ name, members }) => (
        <a
          href={fragmentOf('users', undefined, { group: name })}
          aria-label={fill(words.membersOf, { group: name, count: `${members}` })}
        >
          {members}
        </a>
      ),
    },
    {
      label: columns.gives,
      cell: ({ role }) =>
        role === null ? <span class="muted">{words.noRole}</span> : <span class="badge">{words.roles[role]}</span>,
    },
    { label: columns.created, cell: ({ createdAt }) => <At moment={createdAt} /> },
    ...(mayManage ? [deletion] : []),
  ]
}

type DialogProps = { onDone: () => Promise<void>; onClose: () => void }

const NewDialog = (dialog: DialogProps) => {
  const { group: words, notTold } = useWords('admin')
  const check = async ({ name = '' }: Values, invalid: FieldProblems): Promise<FieldProblems> =>
    invalid.name || isGroupName(name.trim()) ? invalid : { ...invalid, name: [words.nameWrong] }
  return (
    <ChangeDialog
      {...dialog}
      title={words.title}
      lead={words.dialogLead}
      userNotice={notTold}
      submitLabel={words.submit}
      check={check}
      call={({ name = '' }) => calls.addGroup(name.trim())}
      successMessage={({ name = '' }) => fill(words.done, { group: name.trim() })}
    >
      <Field
        name="name"
        label={words.name}
        hint={words.nameHint}
        autoComplete="off"
        maxLength={32}
        smallLetters
        focused
      />
    </ChangeDialog>
  )
}

const DeleteDialog = ({ group: { name, members }, ...dialog }: DialogProps & { group: AdminGroup }) => {
  const { group: words, notTold } = useWords('admin')
  const hasMembers = members > 0
  return (
    <ChangeDialog
      {...dialog}
      title={fill(words.deleteTitle, { group: name })}
      lead={fill(words.deleteLead, { count: `${members}` })}
      userNotice={notTold}
      submitLabel={words.delete}
      look="danger"
      call={({ reason = '' }) => calls.deleteGroup({ name, ...(hasMembers && { members: true, reason }) })}
      successMessage={() => fill(words.deleted, { group: name })}
    >
      {hasMembers && <ReasonField />}
    </ChangeDialog>
  )
}

const prefix = 'group:'

type Props = {
  label: string
  names: readonly string[]
  chosen?: readonly string[]
  onChange?: (names: string[]) => void
}

/** A checkbox for each group. */
export const GroupChoices = ({ label, names, chosen = [], onChange }: Props) => {
  const change = (name: string, isChosen: boolean) =>
    onChange?.(isChosen ? [...chosen, name] : chosen.filter((each) => each !== name))
  return (
    <fieldset>
      <legend>{label}</legend>
      {names.map((name) => (
        <label key={name} class="check">
          <input
            type="checkbox"
            name={prefix + name}
            defaultChecked={chosen.includes(name)}
            onChange={({ currentTarget }) => change(name, currentTarget.checked)}
          />
          {name}
        </label>
      ))}
    </fieldset>
  )
}

export const chosenGroups = (values: Values) =>
  Object.keys(values).flatMap((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : []))
