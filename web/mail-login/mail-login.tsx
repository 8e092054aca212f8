import { useState } from 'preact/hooks'
import type { MailLoginNext } from '#contract/mail-login.js'
import type { SignedIn } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { storeReturnTo } from '../browser/navigation.js'
import { keepTypedLogin, typedBefore } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { Card } from '../components/card.js'
import { CodeField } from '../components/code-field.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { ContinuesTo } from '../components/from-application.js'
import { Heading } from '../components/heading.js'
import { MailIcon } from '../components/icons.js'
import { SendAgain } from '../components/send-again.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'
import type { MailStage } from './mail-stage.js'
import { Registration } from './registration.js'

const maxTries = 5

export type MailLoginProps = {
  stage: MailStage
  returnTo: string | undefined
  /** Goes to another stage, or with undefined back to the other ways to sign in. */
  onStage: (stage: MailStage | undefined) => void
  onEntered: (answered: object) => undefined
}

/** Continues after a right code or link: into the account, or to the registration if the address has no account. */
export const enterByMail = (answered: SignedIn | MailLoginNext, { onStage, onEntered }: MailLoginProps) => {
  if (!('next' in answered) || answered.next !== 'registration') return onEntered(answered)
  const { email = '', username = '' } = answered
  onStage({ at: 'registration', registration: { email, username } })
  return undefined
}

/** Signing in with a code that is mailed. */
export const MailLogin = (props: MailLoginProps) => {
  const { stage } = props
  if (stage.at === 'registration') return <Registration {...props} registration={stage.registration} />
  return stage.at === 'code' ? <EnterCode {...props} email={stage.email} /> : <AskForMail {...props} />
}

const AskForMail = ({ returnTo, onStage }: MailLoginProps) => {
  const words = useWords('mail-login')
  const { email: label } = useWords('common')
  const problemsOf = useProblems({ email_shape: 'email' })
  const submit = async ({ email = '' }: Values): Promise<Problems | undefined> => {
    const answer = await client.mailLogin({ email: email.trim() })
    if (answer.refused) return problemsOf(answer)
    // The link in the mail opens another tab, which finds the page to return to in the storage.
    storeReturnTo(returnTo)
    onStage({ at: 'code', email: email.trim() })
    return undefined
  }
  return (
    <Card>
      <Heading text={words.heading} lead={words.lead} />
      <ContinuesTo returnTo={returnTo} step="sign-in" />
      <Form submitLabel={words.send} onSubmit={submit}>
        <Field
          name="email"
          label={label}
          type="email"
          autoComplete="email"
          defaultValue={typedBefore('email')}
          onInput={keepTypedLogin}
          focused="chosen"
        />
      </Form>
      <Button look="quiet" onPress={() => onStage(undefined)}>
        {words.otherWay}
      </Button>
    </Card>
  )
}

const EnterCode = (props: MailLoginProps & { email: string }) => {
  const { email, returnTo, onStage } = props
  const words = useWords('mail-login')
  const { sentAgain } = useWords('common')
  const [mailCount, setMailCount] = useState(0)
  return (
    <Card>
      <span class="heading-icon">
        <MailIcon />
      </span>
      <Heading text={words.checkMail} lead={fill(words.sentTo, { email })} focused />
      <ContinuesTo returnTo={returnTo} />
      {/* Each mail gets a new form, because a message in the old one is about an older code. */}
      <CodeForm key={mailCount} {...props} />
      <p class="card-note">{words.noMail}</p>
      <SendAgain
        send={() => client.mailLogin({ email })}
        sentMessage={sentAgain}
        onSent={() => setMailCount(mailCount + 1)}
      />
      <p class="card-note">
        {words.wrongAddress}{' '}
        <button type="button" class="link" onClick={() => onStage({ at: 'ask' })}>
          {words.correctAddress}
        </button>
      </p>
      <Button look="quiet" onPress={() => onStage(undefined)}>
        {words.otherWay}
      </Button>
    </Card>
  )
}

const CodeForm = (props: MailLoginProps) => {
  const words = useWords('mail-login')
  const problemsOf = useProblems({ wrong_mailed_code: 'code', mailed_code_void: 'code' })
  const [wrongTries, setWrongTries] = useState(0)
  const submit = async ({ code = '' }: Values): Promise<Problems | undefined> => {
    const answer = await client.confirmMailLogin({ code })
    if (!answer.refused) return enterByMail(answer.value, props)
    const problems = problemsOf(answer)
    if (answer.refused !== 'wrong_mailed_code') return problems
    setWrongTries(wrongTries + 1)
    const triesLeft = fill(words.triesLeft, { count: String(Math.max(maxTries - wrongTries - 1, 0)) })
    return { fields: { code: [...(problems.fields?.code ?? []), triesLeft] } }
  }
  return (
    <Form submitLabel={words.submit} onSubmit={submit}>
      <CodeField label={words.code} from="mail" hint={words.codeHint} maxLength={12} />
    </Form>
  )
}
