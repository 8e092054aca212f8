import { client } from '../browser/client.js'
import { withReturnTo } from '../browser/navigation.js'
import { Card } from '../components/card.js'
import { Form, type Problems } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { TermsCheck } from '../components/profile-fields.js'
import { useWords } from '../hooks/settings.js'
import { useProblems } from '../words/refusals.js'
import { DeclineAndLeave } from './decline-and-leave.js'
import type { SignInStepProps } from './sign-in-step.js'

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
