import { useEffect, useState } from 'preact/hooks'
import type { Account, WaitingEmail } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { useDisclosure, useFocusAfter } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable-callback.js'
import { fullDate } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'
import { useDashboardActions, useFormRefusal } from './dashboard-actions.js'

type Props = { account: Account }

export const ChangeEmail = ({ account }: Props) => {
  const words = useWords('change-email')
  const { isOpen, setOpen, containerProps } = useDisclosure({ 'aria-label': words.change })
  const { waiting, load } = useWaitingEmail(account)
  useFocusAfter(containerProps.ref, waiting?.email)
  return (
    <>
      {waiting && <Waiting waiting={waiting} onCancelled={load} />}
      <div {...containerProps}>
        {isOpen ? (
          <NewEmail account={account} onSent={load} onDone={() => setOpen(false)} />
        ) : (
          <Button onPress={() => setOpen(true)}>{words.change}</Button>
        )}
      </div>
    </>
  )
}

/** The address that waits for its confirmation. It may be confirmed on another device. */
const useWaitingEmail = (account: Account) => {
  const [waiting, setWaiting] = useState<WaitingEmail>()
  const load = useStableCallback(async () => {
    const answer = await client.waitingEmail()
    if (!answer.refused) setWaiting(answer.value.waiting ?? undefined)
  })
  useEffect(() => {
    void load()
  }, [])
  return { waiting: waiting?.email === account.email ? undefined : waiting, load }
}

const Waiting = ({ waiting, onCancelled }: { waiting: WaitingEmail; onCancelled: () => Promise<void> }) => {
  const words = useWords('change-email')
  const { locale } = useSettings()
  const actions = useDashboardActions()
  const { email, expiresAt } = waiting
  const cancel = async () => {
    const answer = await actions.withFreshSignIn(client.cancelEmailChange)
    if (answer.refused) return actions.showRefusal(answer)
    actions.showSuccess(words.cancelled)
    await Promise.all([onCancelled(), actions.reload()])
  }
  return (
    <div class="waiting-email">
      <p class="panel-lead">{fill(words.waiting, { email, date: fullDate(expiresAt, locale) })}</p>
      <Button onPress={cancel}>{words.cancel}</Button>
    </div>
  )
}

const isSameMailbox = (left: string, right: string) => left.trim().toLowerCase() === right.trim().toLowerCase()

type NewProps = Props & { onSent: () => Promise<void>; onDone: () => void }

const NewEmail = ({ account, onSent, onDone }: NewProps) => {
  const words = useWords('change-email')
  const { cancel } = useWords('dashboard')
  const actions = useDashboardActions()
  const problemsOf = useFormRefusal(useProblems({ email_shape: 'email', email_domain_not_allowed: 'email' }))

  const submit = async ({ email = '' }: Values): Promise<Problems | undefined> => {
    // The service answers alike for every address, and sends nothing to the present one.
    if (isSameMailbox(email, account.email)) return { fields: { email: [words.isPresent] } }
    const answer = await actions.withFreshSignIn(() => client.changeEmail({ email }))
    if (answer.refused) return problemsOf(answer)
    onDone()
    actions.showSuccess(fill(words.sent, { email }))
    await Promise.all([onSent(), actions.reload()])
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
