import type { Refusal } from '#client/client.js'
import { chosenUsernameRefusal, normalizedUsername } from '#contract/names.js'
import type { Account } from '#contract/schemas.js'

import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { type FieldProblems, Form, type Problems, type Values } from '../components/form.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate } from '../words/dates.js'
import { useProblems, usernameRefusals } from '../words/refusals.js'
import { useDashboardActions, useFormProblems } from './dashboard-actions.js'
import { changesOf, editableFields, type FieldName, useFieldWords } from './editable-fields.js'

const fieldOfRefusal = { ...usernameRefusals, too_many_usernames: 'username' }

type Props = { names: readonly FieldName[]; account: Account; onDone: () => void }

const useChanges = ({ names, account, onDone }: Props) => {
  const words = useWords('account-life')
  const refusals = useWords('refusals')
  const actions = useDashboardActions()
  const { locale } = useSettings()
  const dateOf = ({ freeFrom = '' }: Refusal) => ({ date: freeFrom && fullDate(freeFrom, locale) })
  const problemsOf = useFormProblems(useProblems(fieldOfRefusal, dateOf))

  const check = async ({ username = '' }: Values, invalid: FieldProblems): Promise<FieldProblems> => {
    const isUnchanged = !names.includes('username') || username.trim() === account.username
    const code = invalid.username || isUnchanged ? undefined : chosenUsernameRefusal(normalizedUsername(username))
    return code ? { ...invalid, username: [refusals[code]] } : invalid
  }

  const submit = async (values: Values): Promise<Problems | undefined> => {
    const changes = changesOf(names, values, account)
    if (Object.keys(changes).length === 0) return { notice: words.nothingChanged }
    const answer = await actions.withFreshSignIn(() => client.changeAccount(changes))
    if (answer.refused) return problemsOf(answer)
    onDone()
    actions.showSuccess(words.saved)
    await actions.reload()
    return undefined
  }

  return { check, submit }
}

/** A form for some of the `editableFields`. */
export const EditFields = (props: Props) => {
  const { names, account, onDone } = props
  const words = useFieldWords()
  const { check, submit } = useChanges(props)
  return (
    <>
      <Form submitLabel={words.account.save} check={check} onSubmit={submit}>
        {names.map((name, index) => {
          const { Input } = editableFields[name]
          return <Input key={name} account={account} words={words} focused={index === 0} />
        })}
      </Form>
      <Button look="quiet" onPress={onDone}>
        {words.dashboard.cancel}
      </Button>
    </>
  )
}
