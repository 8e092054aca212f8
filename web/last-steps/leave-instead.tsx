import { useId } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import { saveFile } from '../browser/save-file.js'
import { leaveSignedOut } from '../browser/sign-out.js'
import { Button } from '../components/button.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { Notice } from '../components/notice.js'
import { useDisclosure } from '../hooks/focus.js'
import { useSaid } from '../hooks/said.js'
import { useWords } from '../hooks/settings.js'
import { useProblems, useSentences } from '../words/refusals.js'
import { deleteBeforeSession, exportBeforeSession } from './leave-calls.js'

type Props = { endIfExpired: (refusal: Refusal) => boolean }

/** Who does not want to go on can take the data, and delete the account. */
export const LeaveInstead = ({ endIfExpired }: Props) => {
  const words = useWords('profile-fields')
  const lead = useId()
  const { isOpen, setOpen, containerProps } = useDisclosure({ 'aria-labelledby': lead })
  return (
    <div {...containerProps}>
      {isOpen ? (
        <Leaving lead={lead} endIfExpired={endIfExpired} />
      ) : (
        <Button look="quiet" onPress={() => setOpen(true)}>
          {words.decline}
        </Button>
      )}
    </div>
  )
}

const Leaving = ({ lead, endIfExpired }: Props & { lead: string }) => {
  const words = useWords('profile-fields')
  const sentenceFor = useSentences()
  const problemsOf = useProblems({ other_username: 'username' })
  const { said: problem, say: setProblem } = useSaid<string>()
  const sentenceOf = (refusal: Refusal) =>
    refusal.refused === 'fresh_sign_in_required' ? words.proveFirst : sentenceFor(refusal)

  const download = async () => {
    const answer = await exportBeforeSession()
    setProblem(answer.refused && !endIfExpired(answer) ? sentenceOf(answer) : undefined)
    if (!answer.refused) saveFile(JSON.stringify(answer.value, null, 2), 'account-data.json', 'application/json')
  }
  const remove = async ({ username = '' }: Values): Promise<Problems | undefined> => {
    const answer = await deleteBeforeSession({ username: username.trim() })
    if (answer.refused === 'fresh_sign_in_required') return { notice: words.proveFirst }
    if (answer.refused) return endIfExpired(answer) ? undefined : problemsOf(answer)
    leaveSignedOut('account_deleted')
    return undefined
  }

  return (
    <>
      <p class="lead" id={lead}>
        {words.declineLead}
      </p>
      {problem !== undefined && <Notice kind="error">{problem}</Notice>}
      <Button onPress={download}>{words.download}</Button>
      <Form submitLabel={words.deleteSure} look="danger" onSubmit={remove}>
        <Field name="username" label={words.typeUsername} autoComplete="off" />
      </Form>
    </>
  )
}
