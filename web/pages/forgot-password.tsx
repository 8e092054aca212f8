import { useState } from 'preact/hooks'
import { api } from '../api.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { MailIcon } from '../components/icons.js'
import { mount } from '../mount.js'
import { returnToInAddress, storeReturnTo, withReturnTo } from '../navigation.js'
import { useProblems } from '../refusals.js'
import { useWords } from '../settings.js'
import { fill } from '../words/format.js'

const ForgotPassword = () => {
  const words = useWords('forgot-password')
  const common = useWords('common')
  const returnTo = returnToInAddress()
  const problemsOf = useProblems({ bad_request: 'email', email_shape: 'email' })
  const [sentTo, setSentTo] = useState<string>()

  const submit = async ({ email = '' }: Values) => {
    const address = email.trim()
    const answer = await api.askForReset(address)
    if (!answer.ok) return problemsOf(answer.refusal)
    storeReturnTo(returnTo)
    setSentTo(address)
    return undefined
  }

  return (
    <Card footer={<a href={withReturnTo('/login', returnTo)}>{common.backToLogin}</a>}>
      {sentTo === undefined ? (
        <>
          <h1>{words.heading}</h1>
          <p class="lead">{words.lead}</p>
          <Form submitLabel={words.submit} onSubmit={submit}>
            <Field name="email" label={common.email} type="email" autoComplete="email" focused />
          </Form>
        </>
      ) : (
        <>
          <span class="heading-icon">
            <MailIcon />
          </span>
          <h1>{words.sentHeading}</h1>
          <p class="lead" role="status">
            {fill(words.sent, { email: sentTo })}
          </p>
        </>
      )}
    </Card>
  )
}

mount(ForgotPassword)
