import { useState } from 'preact/hooks'
import { Button } from '../components/button.js'
import { Panel } from '../components/panel.js'
import { changedFields, ProfileFieldInputs, useFieldLabel, useShownValue } from '../components/profile-fields.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { useAdmin } from './admin-context.js'
import { calls } from './calls.js'
import { ChangeDialog } from './change-dialog.js'
import { type UserProps, useWhyUnchangeable } from './user-changes.js'
import { Facts } from './user-facts.js'

/** The profile fields of a user. Support may change only the fields that users edit themselves. */
export const UserFields = (props: UserProps) => {
  const words = useWords('profile-fields')
  const { mayManage } = useAdmin()
  const labelOf = useFieldLabel()
  const shownValue = useShownValue()
  const [isDialogOpen, setDialogOpen] = useState(false)
  const { fields, fieldDefinitions } = props.user
  const mayChange = useWhyUnchangeable(props.user) === undefined
  const editableFields = fieldDefinitions.filter(({ editedBy }) => mayManage || editedBy === 'user')
  return (
    <Panel title={words.title}>
      <Facts
        facts={fieldDefinitions.map((definition) => {
          const value = fields[definition.key]
          const notGiven = <span class="muted">{words.notGiven}</span>
          return [labelOf(definition), value === undefined ? notGiven : shownValue(definition, value)]
        })}
      />
      {editableFields.length > 0 && mayChange && (
        <Button onPress={() => setDialogOpen(true)}>{`${words.edit}…`}</Button>
      )}
      {isDialogOpen && <FieldsDialog {...props} definitions={editableFields} onClose={() => setDialogOpen(false)} />}
    </Panel>
  )
}

type DialogProps = UserProps & { definitions: UserProps['user']['fieldDefinitions']; onClose: () => void }

const FieldsDialog = ({ user, definitions, reload, onClose }: DialogProps) => {
  const words = useWords('admin').fieldChanges
  const values = { username: user.username }
  return (
    <ChangeDialog
      title={fill(words.title, values)}
      lead={words.lead}
      userNotice={words.told}
      submitLabel={words.submit}
      call={(typed) => calls.changeFields(user.id, changedFields(typed, definitions, user.fields))}
      successMessage={() => fill(words.done, values)}
      onDone={reload}
      onClose={onClose}
    >
      <ProfileFieldInputs definitions={definitions} values={user.fields} focused />
    </ChangeDialog>
  )
}
