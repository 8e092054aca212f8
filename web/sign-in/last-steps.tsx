import { useId } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import type { AccountExport } from '#contract/account-export.js'
import type { SecondFactorWaiting } from '#contract/schemas.js'
import { askService, client } from '../browser/client.js'
import { withReturnTo } from '../browser/navigation.js'
import { saveFile } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { Notice, useMessage } from '../components/notice.js'
import { ProfileFieldInputs, TermsCheck, typedFields, useFieldProblems } from '../components/profile-fields.js'
import { leaveSignedOut } from '../components/sign-out.js'
import { useDisclosure } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'
import { useProblems, useRefusalSentence } from '../words/refusals.js'

/** The props of each step of a sign-in that is not finished. */
export type SignInStepProps = {
  waiting: SecondFactorWaiting
  returnTo: string | undefined
  /** Another step was shown before. Its button had the focus and is gone, so the heading takes the focus. */
  takesFocus: boolean
  /** Called with the answer of the service: a session, or the next step. */
  onAnswered: (answered: object) => void
  /** Returns whether the sign-in has expired. If so, the page says it. */
  endIfExpired: (refusal: Refusal) => boolean
}

/** The sign-in continues when the user has filled in the missing fields. */
export const ProfileStep = ({
  waiting: { fields = [] },
  returnTo,
  takesFocus,
  onAnswered,
  endIfExpired,
}: SignInStepProps) => {
  const words = useWords('profile-fields')
  const problemsOf = useProblems()
  const fieldProblems = useFieldProblems()
  const submit = async (values: Values): Promise<Problems | undefined> => {
    const answer = await client.secondFactor({ fields: typedFields(values, fields) })
    if (answer.refused) return endIfExpired(answer) ? undefined : (fieldProblems(answer) ?? problemsOf(answer))
    onAnswered(answer.value)
    return undefined
  }
  return (
    <Card footer={<a href={withReturnTo('/login', returnTo)}>{useWords('common').backToLogin}</a>}>
      <Heading text={words.stepHeading} focused={takesFocus} />
      <p class="lead">{words.stepLead}</p>
      <Form submitLabel={words.goOn} onSubmit={submit}>
        <ProfileFieldInputs definitions={fields} focused={!takesFocus} />
      </Form>
      <DeclineAndLeave endIfExpired={endIfExpired} />
    </Card>
  )
}

/** The sign-in goes on when the user agrees to the present terms. */
export const TermsStep = ({ waiting: { terms }, returnTo, takesFocus, onAnswered, endIfExpired }: SignInStepProps) => {
  const words = useWords('profile-fields')
  const problemsOf = useProblems()
  const submit = async (): Promise<Problems | undefined> => {
    // Every open step of a sign-in is answered with this call.
    const answer = await client.secondFactor({ terms: terms?.version ?? '' })
    if (answer.refused) return endIfExpired(answer) ? undefined : problemsOf(answer)
    onAnswered(answer.value)
    return undefined
  }
  return (
    <Card footer={<a href={withReturnTo('/login', returnTo)}>{useWords('common').backToLogin}</a>}>
      <Heading text={words.termsHeading} focused={takesFocus} />
      <p class="lead">{words.termsLead}</p>
      <Form submitLabel={words.goOn} onSubmit={submit}>
        {terms && <TermsCheck terms={terms} />}
      </Form>
      <DeclineAndLeave endIfExpired={endIfExpired} />
    </Card>
  )
}

type LeaveProps = { endIfExpired: (refusal: Refusal) => boolean }

/** For users who do not agree or do not want to answer: they can download their data and delete the account. */
const DeclineAndLeave = ({ endIfExpired }: LeaveProps) => {
  const words = useWords('profile-fields')
  const leadId = useId()
  const { isOpen, setOpen, containerProps } = useDisclosure({ 'aria-labelledby': leadId })
  return (
    <div {...containerProps}>
      {isOpen ? (
        <LeaveForm leadId={leadId} endIfExpired={endIfExpired} />
      ) : (
        <Button look="quiet" onPress={() => setOpen(true)}>
          {words.decline}
        </Button>
      )}
    </div>
  )
}

const LeaveForm = ({ leadId, endIfExpired }: LeaveProps & { leadId: string }) => {
  const words = useWords('profile-fields')
  const refusalSentence = useRefusalSentence()
  const formProblems = useProblems({ other_username: 'username' })
  const { message: problem, setMessage: setProblem } = useMessage<string>()
  const isProofMissing = (refusal: Refusal) => refusal.refused === 'fresh_sign_in_required'
  const sentenceOf = (refusal: Refusal) => (isProofMissing(refusal) ? words.proveFirst : refusalSentence(refusal))

  const download = async () => {
    const answer = await exportAccountBeforeSession()
    setProblem(answer.refused && !endIfExpired(answer) ? sentenceOf(answer) : undefined)
    if (!answer.refused) saveFile(JSON.stringify(answer.value, null, 2), 'account-data.json', 'application/json')
  }
  const deleteAccount = async ({ username = '' }: Values): Promise<Problems | undefined> => {
    const answer = await deleteAccountBeforeSession({ username: username.trim() })
    if (answer.refused && isProofMissing(answer)) return { notice: words.proveFirst }
    if (answer.refused) return endIfExpired(answer) ? undefined : formProblems(answer)
    leaveSignedOut('account_deleted')
    return undefined
  }

  return (
    <>
      <p class="lead" id={leadId}>
        {words.declineLead}
      </p>
      {problem !== undefined && <Notice kind="error">{problem}</Notice>}
      <Button onPress={download}>{words.download}</Button>
      <Form submitLabel={words.deleteSure} look="danger" onSubmit={deleteAccount}>
        <Field name="username" label={words.typeUsername} autoComplete="off" />
      </Form>
    </>
  )
}

/** Calls for users who have proven their identity but do not finish the sign-in, so that there is no session yet. */
const exportAccountBeforeSession = () => askService<AccountExport>('second-factor/export')
const deleteAccountBeforeSession = (confirmation: { username: string }) =>
  askService<undefined>('second-factor/delete', confirmation)
