import { useState } from 'preact/hooks'
import type { MailLoginLink, MailLoginNext, MailRegistration } from '#contract/mailed-links.js'
import type { SignedIn } from '#contract/schemas.js'
import { chosenUsernameRefusal, normalizedUsername } from '#contract/usernames.js'
import { client } from '../browser/client.js'
import { forgetToken, storeReturnTo } from '../browser/navigation.js'
import { keepTypedLogin, tabStorage, typedBefore } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { Card, LoadingCard } from '../components/card.js'
import { CodeField } from '../components/code-field.js'
import { Field } from '../components/field.js'
import { type FieldProblems, Form, type Problems, type Values } from '../components/form.js'
import { ContinuesTo } from '../components/from-application.js'
import { Heading } from '../components/heading.js'
import { MailIcon } from '../components/icons.js'
import { Notice } from '../components/notice.js'
import { RegistrationQuestions, useFieldProblems, useRegistrationAnswers } from '../components/profile-fields.js'
import { SendAgain } from '../components/send-again.js'
import { useMailedLink } from '../hooks/mailed-link.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { useProblems, usernameRefusals } from '../words/refusals.js'

const maxTries = 5

export type MailLoginProps = {
  stage: MailStage
  returnTo: string | undefined
  /** Goes to another stage, or with undefined back to the other ways to sign in. */
  onStage: (stage: MailStage | undefined) => void
  onEntered: (answered: object) => undefined
}

/** Continues after a right code or link: into the account, or to the registration if the address has no account. */
const enterByMail = (answered: SignedIn | MailLoginNext, { onStage, onEntered }: MailLoginProps) => {
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

/** The stage of a sign-in by mail in this tab. */
export type MailStage =
  | { at: 'ask' }
  | { at: 'code'; email: string }
  | { at: 'registration'; registration: Pick<MailRegistration, 'email' | 'username'> }

const stageKey = 'latchkey.mail-login'
const stageLifetime = 10 * 60 * 1_000

/** Stores the stage, because a phone may load the page again when the user comes back from the mail. */
export const keepMailStage = (stage: MailStage | undefined) =>
  tabStorage.write(
    stageKey,
    stage && stage.at !== 'ask' ? JSON.stringify({ stage, until: Date.now() + stageLifetime }) : undefined,
  )

export const keptMailStage = (): MailStage | undefined => {
  try {
    const { stage, until } = JSON.parse(tabStorage.read(stageKey) ?? '{}') as { stage?: MailStage; until?: number }
    return until !== undefined && until > Date.now() ? stage : undefined
  } catch {
    return undefined
  }
}

type RegistrationProps = MailLoginProps & { registration: Pick<MailRegistration, 'email' | 'username'> }

/** The form for the new account of an address that the mail has proven. */
const Registration = ({ registration, returnTo, onEntered }: RegistrationProps) => {
  const words = useWords('mail-login')
  const common = useWords('common')
  const refusals = useWords('refusals')
  const problemsOf = useProblems(usernameRefusals)
  const fieldProblems = useFieldProblems()
  const asksUsername = useSettings().usernames === 'chosen'
  const answersOf = useRegistrationAnswers()

  const check = async (values: Values, invalid: FieldProblems): Promise<FieldProblems> => {
    const username = (values.username ?? '').trim()
    const code = username === '' ? undefined : chosenUsernameRefusal(normalizedUsername(username))
    return { ...invalid, ...(code && { username: [refusals[code]] }) }
  }
  const submit = async (values: Values): Promise<Problems | undefined> => {
    const answer = await client.registerByMail({
      ...(asksUsername && { username: (values.username ?? '').trim() }),
      ...answersOf(values),
    })
    return answer.refused ? (fieldProblems(answer) ?? problemsOf(answer)) : onEntered(answer.value)
  }
  return (
    <Card>
      <Heading text={words.registrationHeading} lead={fill(words.registrationLead, registration)} focused />
      <ContinuesTo returnTo={returnTo} />
      <Form submitLabel={words.register} check={check} onSubmit={submit}>
        {asksUsername && (
          <Field
            name="username"
            label={common.username}
            autoComplete="username"
            hint={common.usernameRule}
            defaultValue={registration.username}
          />
        )}
        <RegistrationQuestions />
      </Form>
    </Card>
  )
}

type LinkProps = Omit<MailLoginProps, 'stage'> & { token: string }

/**
 * The link of the mail. It signs the user in only in the browser that asked for it, and after a press. In another browser the link is
 * not used up, and the page says where to continue.
 */
export const MailedSignInLink = ({ token, ...props }: LinkProps) => {
  const { found, refusal, ending, endWith } = useMailedLink<MailLoginLink, 'other_browser'>(async (end) => {
    const answer = await client.checkMailLogin({ token })
    if (!answer.refused && answer.value.state === 'other_browser') end('other_browser')
    if (!answer.refused && answer.value.state === 'over') return { refused: 'invalid_link', status: 400 }
    return answer
  })
  if (ending === 'other_browser') return <Elsewhere {...props} />
  if (ending !== undefined) return <LinkOver {...props} />
  if (!found && !refusal) return <LoadingCard />
  return <ConfirmSignIn {...props} token={token} onEnd={endWith} />
}

const ConfirmSignIn = ({
  token,
  onEnd,
  ...props
}: LinkProps & { onEnd: (ending: 'other_browser' | 'dead') => void }) => {
  const words = useWords('mail-login')
  const problemsOf = useProblems()
  const submit = async () => {
    const answer = await client.confirmMailLogin({ token })
    if (answer.refused === 'other_browser') onEnd('other_browser')
    else if (answer.refused === 'invalid_link') onEnd('dead')
    else if (answer.refused) return problemsOf(answer)
    else {
      forgetToken()
      return enterByMail(answer.value, { ...props, stage: { at: 'ask' } })
    }
    return undefined
  }
  return (
    <Card>
      <Heading text={words.linkHeading} lead={words.linkLead} />
      <ContinuesTo returnTo={props.returnTo} step="sign-in" />
      <Form submitLabel={words.submit} onSubmit={submit}>
        {null}
      </Form>
    </Card>
  )
}

const Elsewhere = ({ onStage }: Pick<LinkProps, 'onStage'>) => {
  const words = useWords('mail-login')
  const { other_browser: sentence } = useWords('refusals')
  return (
    <Card>
      <Heading text={words.elsewhereHeading} />
      <Notice kind="info">{sentence}</Notice>
      <p class="card-note">{words.elsewhereWhy}</p>
      <Button
        look="quiet"
        onPress={() => {
          forgetToken()
          onStage(undefined)
        }}
      >
        {words.otherWay}
      </Button>
    </Card>
  )
}

const LinkOver = ({ onStage }: Pick<LinkProps, 'onStage'>) => {
  const words = useWords('mail-login')
  return (
    <Card>
      <Heading text={words.overHeading} lead={words.over} />
      <Form
        submitLabel={words.askAgain}
        onSubmit={async () => {
          onStage({ at: 'ask' })
          return undefined
        }}
      >
        {null}
      </Form>
    </Card>
  )
}
