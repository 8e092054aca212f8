import type { Refusal } from '#client/client.js'
import type { Account } from '#contract/schemas.js'
import { chosenUsernameRefusal, normalizedUsername } from '#contract/username-rules.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { type FieldProblems, Form, type Problems, type Values } from '../components/form.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate } from '../words/dates.js'
import { useProblems, usernameRefusals } from '../words/refusals.js'
import { useDashboardActions, useFormRefusal } from './dashboard-actions.js'
import { changesOf, editableFieldsInOrder, useFieldWords } from './editable-fields.js'

const fields = { ...usernameRefusals, too_many_usernames: 'username' }

type Props = { account: Account; onDone: () => void }

const useChanges = ({ account, onDone }: Props) => {
  const words = useWords('account-life')
  const refusals = useWords('refusals')
  const actions = useDashboardActions()
  const { locale } = useSettings()
  const dateOf = ({ freeFrom = '' }: Refusal) => ({ date: freeFrom && fullDate(freeFrom, locale) })
  const problemsOf = useFormRefusal(useProblems(fields, dateOf))

  const check = async ({ username = '' }: Values, invalid: FieldProblems): Promise<FieldProblems> => {
    const isUnchanged = username.trim() === account.username
    const code = invalid.username || isUnchanged ? undefined : chosenUsernameRefusal(normalizedUsername(username))
    return code ? { ...invalid, username: [refusals[code]] } : invalid
  }

  const submit = async (values: Values): Promise<Problems | undefined> => {
    const changes = changesOf(values, account)
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

export const EditNames = (props: Props) => {
  const { account, onDone } = props
  const words = useFieldWords()
  const { check, submit } = useChanges(props)
  return (
    <>
      <Form submitLabel={words.account.save} check={check} onSubmit={submit}>
        {editableFieldsInOrder.map(([name, { Input }], place) => (
          <Input key={name} account={account} words={words} focused={place === 0} />
        ))}
      </Form>
      <Button look="quiet" onPress={onDone}>
        {words.dashboard.cancel}
      </Button>
    </>
  )
}
