import type { ProfileFieldDefinition } from '#contract/profile-fields.js'
import type { Account } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { Form, type Problems, type Values } from '../components/form.js'
import {
  fieldsChanged,
  ProfileFieldInputs,
  useFieldLabel,
  useFieldProblems,
  useShownValue,
} from '../components/profile-fields.js'
import { useWords } from '../hooks/settings.js'
import { useProblems } from '../words/refusals.js'
import { useDashboardActions, useFormRefusal } from './dashboard-actions.js'
import { useKeptForm } from './kept-form.js'
import { AccountPanel } from './section.js'

type Props = { account: Account; fields: readonly ProfileFieldDefinition[] }

/** The fields that the operator asks users for. Values are text, also those that look like a link. */
export const FieldsPanel = ({ account, fields }: Props) => {
  const words = useWords('profile-fields')
  const labelOf = useFieldLabel()
  const shownValue = useShownValue()
  const { isOpen, setOpen, containerProps } = useKeptForm('details', account, words.edit)
  const editable = fields.filter(({ editedBy }) => editedBy === 'user')
  // While they are edited, the form shows them.
  const shown = isOpen ? fields.filter((field) => !editable.includes(field)) : fields
  return (
    <AccountPanel place="details" title={words.title}>
      <dl class="facts">
        {shown.map((definition) => {
          const value = Object.hasOwn(account.fields, definition.key) ? account.fields[definition.key] : undefined
          return (
            <div key={definition.key}>
              <dt>{labelOf(definition)}</dt>
              {value === undefined ? (
                <dd class="not-given">{words.notGiven}</dd>
              ) : (
                <dd>{shownValue(definition, value)}</dd>
              )}
            </div>
          )
        })}
      </dl>
      {editable.length > 0 && (
        <div {...containerProps}>
          {isOpen ? (
            <EditFields account={account} fields={editable} onDone={() => setOpen(false)} />
          ) : (
            <Button onPress={() => setOpen(true)}>{words.edit}</Button>
          )}
        </div>
      )}
    </AccountPanel>
  )
}

const EditFields = ({ account, fields, onDone }: Props & { onDone: () => void }) => {
  const saving = useWords('account-life')
  const { cancel } = useWords('dashboard')
  const actions = useDashboardActions()
  const fieldProblems = useFieldProblems()
  const problemsOf = useFormRefusal(useProblems())

  const submit = async (values: Values): Promise<Problems | undefined> => {
    const changed = fieldsChanged(values, fields, account.fields)
    const answer = await actions.withFreshSignIn(() => client.changeAccount({ fields: changed }))
    if (answer.refused) return fieldProblems(answer) ?? problemsOf(answer)
    onDone()
    actions.showSuccess(saving.saved)
    await actions.reload()
    return undefined
  }

  return (
    <>
      <Form submitLabel={saving.save} onSubmit={submit}>
        <ProfileFieldInputs definitions={fields} values={account.fields} focused />
      </Form>
      <Button look="quiet" onPress={onDone}>
        {cancel}
      </Button>
    </>
  )
}
