import type { MailRegistration } from '#contract/mail-login.js'
import { chosenUsernameRefusal, normalizedUsername } from '#contract/username-rules.js'
import { client } from '../browser/client.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { type FieldProblems, Form, type Problems, type Values } from '../components/form.js'
import { ContinuesTo } from '../components/from-application.js'
import { Heading } from '../components/heading.js'
import { RegistrationQuestions, useFieldProblems, useRegistrationAnswers } from '../components/profile-fields.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { useProblems, usernameRefusals } from '../words/refusals.js'
import type { MailLoginProps } from './mail-login.js'

type Props = MailLoginProps & { registration: Pick<MailRegistration, 'email' | 'username'> }

/** The form for the new account of an address that the mail has proven. */
export const Registration = ({ registration, returnTo, onEntered }: Props) => {
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
