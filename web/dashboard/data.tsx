import { useId } from 'preact/hooks'
import type { Account } from '#contract/schemas.js'
import { isSameUsername } from '#contract/usernames.js'
import { client } from '../browser/client.js'
import { saveFile } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { leaveSignedOut } from '../components/sign-out.js'
import { useDisclosure } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'
import { useDashboardActions, useFormProblems } from './panels.js'
import { AccountPanel } from './sections.js'

export const DataPanel = () => {
  const words = useWords('account-life')
  const actions = useDashboardActions()

  const download = async () => {
    const answer = await actions.withFreshSignIn(client.exportData)
    if (answer.refused) return actions.showRefusal(answer)
    saveFile(JSON.stringify(answer.value, null, 2), 'account-data.json', 'application/json')
    actions.showSuccess(words.downloaded)
  }

  return (
    <AccountPanel place="export" title={words.data} lead={words.dataLead}>
      <Button onPress={download}>{words.download}</Button>
    </AccountPanel>
  )
}

export const DeletePanel = ({ account }: { account: Account }) => {
  const words = useWords('account-life')
  const effectsId = useId()
  const { isOpen, setOpen, containerProps } = useDisclosure({ 'aria-labelledby': effectsId })
  return (
    <AccountPanel place="delete" title={words.deleteTitle} lead={words.deleteLead} look="danger">
      <div {...containerProps}>
        {isOpen ? (
          <DeleteAccount account={account} effectsId={effectsId} onCancel={() => setOpen(false)} />
        ) : (
          <Button look="danger" onPress={() => setOpen(true)}>
            {words.delete}
          </Button>
        )}
      </div>
    </AccountPanel>
  )
}

type DeleteProps = { account: Account; effectsId: string; onCancel: () => void }

const DeleteAccount = ({ account, effectsId, onCancel }: DeleteProps) => {
  const words = useWords('account-life')
  const { cancel } = useWords('dashboard')
  const refusals = useWords('refusals')
  const actions = useDashboardActions()
  const problemsOf = useFormProblems(useProblems({ other_username: 'username' }))

  const submit = async ({ username = '' }: Values): Promise<Problems | undefined> => {
    // The name is checked here, so that the user is not asked for a password in vain.
    if (!isSameUsername(username, account.username)) return { fields: { username: [refusals.other_username] } }
    const answer = await actions.withFreshSignIn(() => client.deleteAccount({ username: username.trim() }))
    if (answer.refused) return problemsOf(answer)
    leaveSignedOut('account_deleted')
    return undefined
  }

  return (
    <>
      <ul class="points" id={effectsId}>
        {Object.values(words.lost).map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      <Form submitLabel={words.deleteSure} look="danger" onSubmit={submit}>
        <Field name="username" label={fill(words.typeUsername, { username: account.username })} autoComplete="off" />
      </Form>
      <Button look="quiet" onPress={onCancel}>
        {cancel}
      </Button>
    </>
  )
}
