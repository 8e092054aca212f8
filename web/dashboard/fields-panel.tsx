import type { ProfileFieldDefinition } from '#contract/profile-fields.js'
import type { Account } from '#contract/schemas.js'

import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { Form, type Problems, type Values } from '../components/form.js'
import {
  changedFields,
  ProfileFieldInputs,
  useFieldLabel,
  useFieldProblems,
  useShownValue,
} from '../components/profile-fields.js'
import { useWords } from '../hooks/settings.js'
import { useProblems } from '../words/refusals.js'
import { useDashboardActions, useFormProblems } from './dashboard-actions.js'
import { useKeptForm } from './kept-form.js'
import { AccountPanel } from './section.js'

type Props = { account: Account; fields: readonly ProfileFieldDefinition[] }

/** The fields that the operator asks users for. A value that looks like a link does not become one. */
export const FieldsPanel = ({ account, fields }: Props) => {
  const words = useWords('profile-fields')
  const labelOf = useFieldLabel()
  const shownValue = useShownValue()
  const { isOpen, setOpen, containerProps } = useKeptForm('details', account, words.edit)
  const fieldsOfUser = fields.filter(({ editedBy }) => editedBy === 'user')
  // While the user edits, the form shows the editable fields.
  const shownFields = isOpen ? fields.filter((field) => !fieldsOfUser.includes(field)) : fields
  return (
    <AccountPanel place="details" title={words.title}>
      <dl class="facts">
        {shownFields.map((definition) => {
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
      {fieldsOfUser.length > 0 && (
        <div {...containerProps}>
          {isOpen ? (
            <EditProfileFields account={account} fields={fieldsOfUser} onDone={() => setOpen(false)} />
          ) : (
            <Button onPress={() => setOpen(true)}>{words.edit}</Button>
          )}
        </div>
      )}
    </AccountPanel>
  )
}

const EditProfileFields = ({ account, fields, onDone }: Props & { onDone: () => void }) => {
  const accountWords = useWords('account-life')
  const { cancel } = useWords('dashboard')
  const actions = useDashboardActions()
  const fieldProblems = useFieldProblems()
  const problemsOf = useFormProblems(useProblems())

  const submit = async (values: Values): Promise<Problems | undefined> => {
    const changes = changedFields(values, fields, account.fields)
    const answer = await actions.withFreshSignIn(() => client.changeAccount({ fields: changes }))
    if (answer.refused) return fieldProblems(answer) ?? problemsOf(answer)
    onDone()
    actions.showSuccess(accountWords.saved)
    await actions.reload()
    return undefined
  }

  return (
    <>
      <Form submitLabel={accountWords.save} onSubmit={submit}>
        <ProfileFieldInputs definitions={fields} values={account.fields} focused />
      </Form>
      <Button look="quiet" onPress={onDone}>
        {cancel}
      </Button>
    </>
  )
}
