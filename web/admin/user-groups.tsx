import { useState } from 'preact/hooks'
import { Button } from '../components/button.js'
import { Panel } from '../components/panel.js'
import { SelectField } from '../components/select-field.js'
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
  const [asked, setAsked] = useState<{ remove: string } | 'add'>()
  const close = () => setAsked(undefined)
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
                  onPress={() => setAsked({ remove: group })}
                >{`${words.user.removeGroup}…`}</Button>
              )}
            </div>
          </li>
        ))}
      </RowList>
      {mayChange && <Button onPress={() => setAsked('add')}>{`${words.user.addGroup}…`}</Button>}
      {asked === 'add' && <AddDialog {...props} onClose={close} />}
      {asked !== undefined && asked !== 'add' && <RemoveDialog {...props} group={asked.remove} onClose={close} />}
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
      told={words.told}
      submit={words.remove}
      look="danger"
      call={({ reason = '' }) => calls.changeGroups(user.id, { remove: [group], reason })}
      done={() => fill(words.removed, values)}
      onDone={reload}
      onClose={onClose}
    >
      <ReasonField />
    </ChangeDialog>
  )
}

const AddDialog = ({ user, reload, onClose }: DialogProps) => {
  const words = useWords('admin')
  const { self } = useAdmin()
  const { value } = useRead(calls.groups)
  const free = (value?.groups ?? []).map(({ name }) => name).filter((name) => !user.groups.includes(name))
  const roles = [self.adminGroup, self.supportGroup].filter((group) => group !== null)
  return (
    <ChangeDialog
      title={words.user.addGroup}
      lead={words.groupChanges.addLead}
      told={words.groupChanges.told}
      submit={words.groupChanges.add}
      call={({ group = '' }) => calls.changeGroups(user.id, { add: [group] })}
      done={({ group = '' }) => fill(words.groupChanges.added, { username: user.username, group })}
      onDone={reload}
      onClose={onClose}
    >
      {value && (
        <SelectField
          name="group"
          label={words.user.chooseGroup}
          hint={fill(words.groupChanges.addAdminHint, { groups: roles.join(', ') })}
          choices={free.map((name) => ({ value: name, label: name }))}
          defaultValue={free[0] ?? ''}
        />
      )}
    </ChangeDialog>
  )
}
