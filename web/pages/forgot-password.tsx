import { useState } from 'preact/hooks'
import { api } from '../api.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { MailIcon } from '../components/icons.js'
import { mount } from '../mount.js'
import { rememberPlace, wantedPlace, withWantedPlace } from '../navigation.js'
import { sentenceFor } from '../refusals.js'
import type { Settings } from '../settings.js'
import { fill } from '../words/format.js'

const ForgotPassword = ({ settings }: { settings: Settings<'forgot-password'> }) => {
  const { 'forgot-password': words, common } = settings.words
  const place = wantedPlace()
  const [sentTo, setSentTo] = useState<string>()

  const submit = async ({ email = '' }: Values) => {
    const address = email.trim()
    const answer = await api.askForReset(address)
    if (!answer.ok) {
      if (answer.refusal.status === 400) return { fields: { email: [common.emailShape] } }
      return { notice: sentenceFor(answer.refusal, common), retryAfter: answer.refusal.retryAfter }
    }
    rememberPlace(place)
    setSentTo(address)
    return undefined
  }

  return (
    <Card footer={<a href={withWantedPlace('/login', place)}>{common.backToLogin}</a>}>
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
