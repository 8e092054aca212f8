import { client } from '../client.js'
import { Button } from '../components/button.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { useDisclosure } from '../focus.js'
import { useProblems } from '../refusals.js'
import { useWords } from '../settings.js'
import { fill } from '../words/format.js'
import { useDashboardActions } from './dashboard-actions.js'

export const ChangeEmail = () => {
  const words = useWords('change-email')
  const { isOpen, setOpen, containerProps } = useDisclosure(words.change)
  return (
    <div {...containerProps}>
      {isOpen ? (
        <NewEmail onDone={() => setOpen(false)} />
      ) : (
        <Button onPress={() => setOpen(true)}>{words.change}</Button>
      )}
    </div>
  )
}

const NewEmail = ({ onDone }: { onDone: () => void }) => {
  const words = useWords('change-email')
  const { cancel } = useWords('dashboard')
  const actions = useDashboardActions()
  const problemsOf = useProblems({ email_shape: 'email', email_domain_not_allowed: 'email' })

  const submit = async ({ email = '' }: Values): Promise<Problems | undefined> => {
    const answer = await actions.withFreshSignIn(() => client.changeEmail({ email }))
    if (!answer.refused) {
      onDone()
      actions.showSuccess(fill(words.sent, { email }))
      await actions.reload()
      return undefined
    }
    if (answer.refused !== 'not_authenticated') return problemsOf(answer)
    actions.showRefusal(answer)
    return undefined
  }

  return (
    <>
      <Form submitLabel={words.submit} onSubmit={submit}>
        <Field name="email" label={words.newEmail} type="email" autoComplete="email" maxLength={254} focused />
      </Form>
      <Button look="quiet" onPress={onDone}>
        {cancel}
      </Button>
    </>
  )
}
