import { useState } from 'preact/hooks'
import type { Answer, Refusal } from '#client/client.js'
import type { TotpBegun } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { stepNumberInAddress, withReturnTo } from '../browser/navigation.js'
import { Button, staysBusy } from '../components/button.js'
import { Card, MessageCard } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { ContinuesTo } from '../components/from-application.js'
import { Heading, useStepText } from '../components/heading.js'
import { KeyIcon } from '../components/icons.js'
import { Notice, useMessage } from '../components/notice.js'
import { useWords } from '../hooks/settings.js'
import { useProblems, useRefusalSentence } from '../words/refusals.js'
import type { SignInStepProps } from './last-steps.js'
import { makePasskey, passkeySupport } from './passkeys.js'
import { MailedCode } from './step-up.js'
import { AddApp, RecoveryCodes, useAppProblems } from './two-step.js'

/** If another step of the sign-in follows, the answer does not name the user. */
const usernameIn = (added: { user?: { username: string } }) => added.user?.username ?? ''

/** The sign-in continues when the user has entered the mailed code or the password, and has added a factor. */
export const Enrolment = ({ waiting, returnTo, onAnswered, endIfExpired }: SignInStepProps) => {
  const words = useWords('enrolment')
  const common = useWords('common')
  const [needsMail, setNeedsMail] = useState(waiting.mailedCodeRequired)
  const [needsPassword, setNeedsPassword] = useState(waiting.passwordRequired)
  const [totp, setTotp] = useState<TotpBegun>()
  const stepText = useStepText(stepNumberInAddress())
  const [codesToSave, setCodesToSave] = useState<{ codes: string[]; added: object }>()
  /** Whether this is the first step, at which the focus stays where the browser has put it. */
  const [isFirst, setFirst] = useState(true)
  const toNextStep =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      setFirst(false)
      set(value)
    }

  const { link_required: linkRequired } = useWords('refusals')
  const problemsOf = useAppProblems()
  const problemsUnlessExpired = (refusal: Refusal) => (endIfExpired(refusal) ? undefined : problemsOf(refusal))

  if (codesToSave)
    return <SaveCodes {...codesToSave} returnTo={returnTo} onDone={() => onAnswered(codesToSave.added)} />
  if (waiting.linkRequired)
    return <MessageCard heading={words.chooseHeading} kind="info" text={linkRequired} hasHelpLink />
  const heading = needsPassword
    ? words.passwordHeading
    : needsMail
      ? words.heading
      : totp
        ? words.appHeading
        : words.chooseHeading
  return (
    <Card footer={<a href={withReturnTo('/login', returnTo)}>{common.backToLogin}</a>}>
      {/* Each step has a new heading, which gets the focus, because the form of the step before is gone. */}
      <Heading key={heading} text={heading} focused={!isFirst} step={stepText} />
      <ContinuesTo returnTo={returnTo} />
      {needsPassword ? (
        <ByPassword onEntered={() => toNextStep(setNeedsPassword)(false)} endIfExpired={endIfExpired} />
      ) : needsMail ? (
        <ByMail onEntered={() => toNextStep(setNeedsMail)(false)} endIfExpired={endIfExpired} />
      ) : totp ? (
        <>
          <AddApp
            totp={totp}
            confirm={client.confirmTotpToSignIn}
            onAdded={(added) => setCodesToSave({ codes: added.recoveryCodes, added })}
            problemsOf={problemsUnlessExpired}
          />
          <Button look="quiet" onPress={() => setTotp(undefined)}>
            {words.otherWay}
          </Button>
        </>
      ) : (
        <Choice onAnswered={onAnswered} onTotp={toNextStep(setTotp)} endIfExpired={endIfExpired} />
      )}
    </Card>
  )
}

type SaveProps = { codes: string[]; added: object; returnTo: string | undefined; onDone: () => void }

const SaveCodes = ({ codes, added, returnTo, onDone }: SaveProps) => (
  <Card>
    <Heading text={useWords('two-step').savedHeading} focused />
    <ContinuesTo returnTo={returnTo} />
    <RecoveryCodes codes={codes} username={usernameIn(added)} onDone={onDone} />
  </Card>
)

/** True if the proof was refused. An earlier try, whose answer was lost on the way, may have opened the enrolment already. */
const isProblem = (answer: Answer<unknown>): answer is Refusal =>
  answer.refused !== undefined && answer.refused !== 'enrolment_open'

/** After a sign-in by mail, the user enters the password before a factor is added. */
const ByPassword = ({ onEntered, endIfExpired }: Pick<SignInStepProps, 'endIfExpired'> & { onEntered: () => void }) => {
  const words = useWords('enrolment')
  const { password: label } = useWords('common')
  const problemsOf = useProblems({ wrong_current_password: 'password' })
  const submit = async ({ password = '' }: Values): Promise<Problems | undefined> => {
    const answer = await client.openEnrolmentByPassword({ password })
    if (isProblem(answer)) return endIfExpired(answer) ? undefined : problemsOf(answer)
    onEntered()
    return undefined
  }
  return (
    <>
      <p>{words.passwordLead}</p>
      <Form submitLabel={words.passwordSubmit} onSubmit={submit}>
        <Field name="password" label={label} type="password" autoComplete="current-password" focused="chosen" />
      </Form>
    </>
  )
}

const ByMail = ({ onEntered, endIfExpired }: Pick<SignInStepProps, 'endIfExpired'> & { onEntered: () => void }) => {
  const words = useWords('enrolment')
  const problemsOf = useProblems({ wrong_mailed_code: 'code' })
  const enter = async (mailedCode: string): Promise<Problems | undefined> => {
    const answer = await client.openEnrolment({ mailedCode })
    if (isProblem(answer)) return endIfExpired(answer) ? undefined : problemsOf(answer)
    onEntered()
    return undefined
  }
  const send = async () => {
    const answer = await client.mailEnrolmentCode()
    if (answer.refused) endIfExpired(answer)
    return answer
  }
  return (
    <>
      <p class="lead">{words.lead}</p>
      <MailedCode send={send} enter={enter} />
    </>
  )
}

type AddProps = Pick<SignInStepProps, 'onAnswered' | 'endIfExpired'>

const Choice = ({ onAnswered, onTotp, endIfExpired }: AddProps & { onTotp: (totp: TotpBegun) => void }) => {
  const words = useWords('enrolment')
  const problemsOf = useProblems()
  const begin = async (): Promise<Problems | undefined> => {
    const answer = await client.beginTotpToSignIn()
    if (answer.refused) return endIfExpired(answer) ? undefined : problemsOf(answer)
    onTotp(answer.value)
    return undefined
  }
  return (
    <>
      <p class="lead">{words.choose}</p>
      <Form submitLabel={words.useApp} onSubmit={begin}>
        {null}
      </Form>
      {passkeySupport() === 'yes' && <ByPasskey onAnswered={onAnswered} endIfExpired={endIfExpired} />}
    </>
  )
}

const ByPasskey = ({ onAnswered, endIfExpired }: AddProps) => {
  const words = useWords('passkeys')
  const sentenceOf = useRefusalSentence()
  const { message: problem, setMessage: setProblem } = useMessage<string>()

  const sentenceUnlessExpired = (refusal: Refusal) => (endIfExpired(refusal) ? undefined : sentenceOf(refusal))
  const add = async () => {
    const options = await client.passkeyOptionsToSignIn()
    if (options.refused) return sentenceUnlessExpired(options)
    const credential = await makePasskey(options.value)
    if (typeof credential === 'string') return credential === 'address' ? words.wrongAddress : words.noneAdded
    const added = await client.addPasskeyToSignIn({ credential })
    if (added.refused) return sentenceUnlessExpired(added)
    onAnswered(added.value)
    return undefined
  }
  const press = async () => {
    setProblem(undefined)
    const newProblem = await add()
    setProblem(newProblem)
    return newProblem === undefined ? staysBusy : undefined
  }

  return (
    <div class="other-way">
      {problem !== undefined && <Notice kind="info">{problem}</Notice>}
      <Button onPress={press}>
        <KeyIcon /> {words.add}
      </Button>
    </div>
  )
}
