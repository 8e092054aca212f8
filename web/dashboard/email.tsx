import { useEffect, useState } from 'preact/hooks'
import type { WaitingEmail } from '#contract/mailed-links.js'
import type { Account } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { AddressField } from '../components/address-field.js'
import { Button } from '../components/button.js'
import { CodeField } from '../components/code-field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { useFocusAfter } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { fullDate } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'
import { useDashboardActions, useFormProblems, useKeptForm } from './panels.js'
import { AccountPanel } from './sections.js'

/** Shows the email address. Where nothing is mailed, no address can be confirmed, so only an administrator can change it. */
export const EmailPanel = ({ account }: { account: Account }) => {
  const words = useWords('dashboard')
  const { email } = useWords('common')
  const { mailIsOff } = useSettings()
  return (
    <AccountPanel
      place="email"
      title={email}
      state={{ text: account.email }}
      lead={mailIsOff ? words.emailByAdministrator : undefined}
    >
      {!mailIsOff && <ChangeEmail account={account} />}
    </AccountPanel>
  )
}

type Props = { account: Account }

const ChangeEmail = ({ account }: Props) => {
  const words = useWords('change-email')
  const { isOpen, setOpen, containerProps } = useKeptForm('email', account, words.change)
  const { waiting, load } = useWaitingEmail(account)
  useFocusAfter(containerProps.ref, waiting?.email)
  return (
    <>
      {waiting && <Waiting waiting={waiting} present={account.email} onDone={load} />}
      {!account.emailProven && !waiting && <ProveEmail account={account} onSent={load} />}
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

/** For an address that somebody else has entered, or that was never proven. The mail has the same link and code as that to a new address. */
const ProveEmail = ({ account: { email }, onSent }: Props & { onSent: () => Promise<void> }) => {
  const words = useWords('change-email')
  const { emailNotProven, proveEmail } = useWords('dashboard')
  const actions = useDashboardActions()
  const send = async () => {
    const answer = await actions.withFreshSignIn(() => client.changeEmail({ email }))
    if (answer.refused) return actions.showRefusal(answer)
    actions.showSuccess(fill(words.sentProof, { email }))
    await Promise.all([onSent(), actions.reload()])
  }
  return (
    <div class="waiting-email">
      <p class="panel-lead">{emailNotProven}</p>
      <Button onPress={send}>{proveEmail}</Button>
    </div>
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
  const isWaiting = waiting !== undefined && (waiting.email !== account.email || !account.emailProven)
  const { reload } = useDashboardActions()
  const reloadBoth = useStableCallback(() => Promise.all([load(), reload()]))
  // The user may have opened the link in another tab, and come back from there.
  useEffect(() => {
    if (!isWaiting) return
    const onVisible = () => {
      if (document.visibilityState === 'visible') void reloadBoth()
    }
    document.addEventListener('visibilitychange', onVisible)
    return () => document.removeEventListener('visibilitychange', onVisible)
  }, [isWaiting])
  return { waiting: isWaiting ? waiting : undefined, load }
}

/** `present`: the address of the account, which may be the one that waits for its proof. */
type WaitingProps = { waiting: WaitingEmail; present: string; onDone: () => Promise<void> }

const Waiting = ({ waiting, present, onDone }: WaitingProps) => {
  const words = useWords('change-email')
  const { locale } = useSettings()
  const actions = useDashboardActions()
  const { email, expiresAt, codeUsable } = waiting
  const cancel = async () => {
    const answer = await actions.withFreshSignIn(client.cancelEmailChange)
    if (answer.refused) return actions.showRefusal(answer)
    actions.showSuccess(words.cancelled)
    await Promise.all([onDone(), actions.reload()])
  }
  return (
    <div class="waiting-email">
      <p class="panel-lead">
        {fill(codeUsable ? words.waitingForCode : words.waiting, { email, date: fullDate(expiresAt, locale) })}
      </p>
      {codeUsable && <EnterCode email={email} present={present} onDone={onDone} />}
      {email !== present && <Button onPress={cancel}>{words.cancel}</Button>}
    </div>
  )
}

/** A code that no longer works may have ended because its user has opened the link of the same mail. */
const isConfirmedByLink = async (email: string) => {
  const answer = await client.account()
  return !answer.refused && answer.value.user.email === email && answer.value.user.emailProven
}

/** Takes the code in the session that asked for the change. The link in the same mail works in every browser. */
const EnterCode = ({ email, present, onDone }: Omit<WaitingProps, 'waiting'> & { email: string }) => {
  const words = useWords('change-email')
  const fieldWords = useWords('step-up')
  const actions = useDashboardActions()
  const problemsOf = useFormProblems(useProblems({ wrong_mailed_code: 'code' }))
  const submit = async ({ code = '' }: Values): Promise<Problems | undefined> => {
    const answer = await client.proveEmail({ code })
    const isDone = answer.refused === 'mailed_code_void' ? await isConfirmedByLink(email) : !answer.refused
    if (answer.refused && !isDone) return problemsOf(answer)
    actions.showSuccess(email === present ? words.proven : words.confirmed)
    await Promise.all([onDone(), actions.reload()])
    return undefined
  }
  return (
    <Form submitLabel={fieldWords.confirm} look="plain" onSubmit={submit}>
      <CodeField label={fieldWords.code} from="mail" hint={fieldWords.codeHint} maxLength={32} />
    </Form>
  )
}

const isSameMailbox = (left: string, right: string) => left.trim().toLowerCase() === right.trim().toLowerCase()

type NewProps = Props & { onSent: () => Promise<void>; onDone: () => void }

const NewEmail = ({ account, onSent, onDone }: NewProps) => {
  const words = useWords('change-email')
  const { cancel } = useWords('dashboard')
  const actions = useDashboardActions()
  const problemsOf = useFormProblems(useProblems({ email_shape: 'email', email_domain_not_allowed: 'email' }))

  const submit = async ({ email = '' }: Values): Promise<Problems | undefined> => {
    // The service gives the same answer for every address, and sends no mail to the present one, so the page itself refuses that one.
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
        <AddressField label={words.newEmail} maxLength={254} focused />
      </Form>
      <Button look="quiet" onPress={onDone}>
        {cancel}
      </Button>
    </>
  )
}
