import { useId } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import { saveFile } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { Notice, useMessage } from '../components/notice.js'
import { leaveSignedOut } from '../components/sign-out.js'
import { useDisclosure } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'
import { useProblems, useRefusalSentence } from '../words/refusals.js'
import { deleteAccountBeforeSession, exportAccountBeforeSession } from './leave-calls.js'

type Props = { endIfExpired: (refusal: Refusal) => boolean }

/** For users who do not agree or do not want to answer: they can download their data and delete the account. */
export const DeclineAndLeave = ({ endIfExpired }: Props) => {
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

const LeaveForm = ({ leadId, endIfExpired }: Props & { leadId: string }) => {
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
