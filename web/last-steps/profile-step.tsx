import { client } from '../browser/client.js'
import { withReturnTo } from '../browser/navigation.js'
import { Card } from '../components/card.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { ProfileFieldInputs, typedFields, useFieldProblems } from '../components/profile-fields.js'
import { useWords } from '../hooks/settings.js'
import { useProblems } from '../words/refusals.js'
import { DeclineAndLeave } from './decline-and-leave.js'
import type { SignInStepProps } from './sign-in-step.js'

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
