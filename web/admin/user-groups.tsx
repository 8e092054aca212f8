import { useState } from 'preact/hooks'
import { Button } from '../components/button.js'
import { SelectField } from '../components/field.js'
import { Notice } from '../components/notice.js'
import { Panel } from '../components/panel.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { useAdmin } from './admin-context.js'
import { calls } from './calls.js'
import { ChangeDialog, ReasonField } from './change-dialog.js'
import { RowList } from './row-list.js'
import { useRead } from './use-read.js'
import type { UserProps } from './user-changes.js'

export const UserGroups = (props: UserProps) => {
  const words = useWords('admin')
  const { mayManage } = useAdmin()
  const [openDialog, setOpenDialog] = useState<{ remove: string } | 'add'>()
  const close = () => setOpenDialog(undefined)
  const { groups, self } = props.user
  const mayChange = mayManage && !self
  return (
    <Panel title={words.groups} lead={words.user.groupsLead} step={groups.join()}>
      <RowList empty={words.user.noGroups}>
        {groups.map((group) => (
          <li key={group}>
            <div class="row-body">
              <div class="row-text">
                <strong>{group}</strong>
              </div>
              {mayChange && (
                <Button
                  label={fill(words.user.removeGroupOf, { group })}
                  onPress={() => setOpenDialog({ remove: group })}
                >{`${words.user.removeGroup}…`}</Button>
              )}
            </div>
          </li>
        ))}
      </RowList>
      {mayChange && <Button onPress={() => setOpenDialog('add')}>{`${words.user.addGroup}…`}</Button>}
      {openDialog === 'add' && <AddDialog {...props} onClose={close} />}
      {openDialog !== undefined && openDialog !== 'add' && (
        <RemoveDialog {...props} group={openDialog.remove} onClose={close} />
      )}
    </Panel>
  )
}

type DialogProps = UserProps & { onClose: () => void }

const RemoveDialog = ({ user, group, reload, onClose }: DialogProps & { group: string }) => {
  const words = useWords('admin').groupChanges
  const values = { username: user.username, group }
  return (
    <ChangeDialog
      title={fill(words.removeTitle, values)}
      lead={words.removeLead}
      userNotice={words.told}
      submitLabel={words.remove}
      look="danger"
      call={({ reason = '' }) => calls.changeGroups(user.id, { remove: [group], reason })}
      successMessage={() => fill(words.removed, values)}
      onDone={reload}
      onClose={onClose}
    >
      <ReasonField />
    </ChangeDialog>
  )
}

const AddDialog = ({ user, reload, onClose }: DialogProps) => {
  const words = useWords('admin')
  const { value } = useRead(calls.groups)
  const [chosen, setChosen] = useState('')
  const joinableGroups = (value?.groups ?? []).filter(({ name }) => !user.groups.includes(name))
  const role = joinableGroups.find(({ name }) => name === chosen)?.role ?? undefined
  const { username } = user
  return (
    <ChangeDialog
      title={fill(words.groupChanges.addTitle, { username })}
      lead={words.groupChanges.addLead}
      userNotice={words.groupChanges.told}
      submitLabel={words.groupChanges.add}
      call={({ group = '', reason }) =>
        calls.changeGroups(user.id, { add: [group], ...(reason !== undefined && { reason }) })
      }
      successMessage={({ group = '' }) => fill(words.groupChanges.added, { username, group })}
      onDone={reload}
      onClose={onClose}
    >
      <SelectField
        name="group"
        label={words.user.chooseGroup}
        choices={joinableGroups.map(({ name }) => ({ value: name, label: name }))}
        onChoose={setChosen}
      />
      {role && <Notice kind="info">{words.groupChanges.gives[role]}</Notice>}
      {role && <ReasonField focused={false} />}
    </ChangeDialog>
  )
}
