import { useState } from 'preact/hooks'
import { api } from '../api.js'
import { Card } from '../components/card.js'
import { Form, type Values } from '../components/form.js'
import { NewPasswordField } from '../components/new-password-field.js'
import { Notice } from '../components/notice.js'
import { useMailedToken } from '../mailed-token.js'
import { mount } from '../mount.js'
import { translateMessage } from '../passwords.js'
import { recallPlace, rememberPlace, withWantedPlace } from '../places.js'
import { sentenceFor } from '../refusals.js'
import type { Settings } from '../settings.js'

const ResetPassword = ({ settings }: { settings: Settings<'reset-password'> }) => {
  const { 'reset-password': words, common, password: passwordWords } = settings.words
  const token = useMailedToken()
  const [expired, setExpired] = useState(false)

  const submit = async ({ password = '' }: Values) => {
    const answer = await api.confirmReset(token ?? '', password)
    if (answer.ok) {
      const place = recallPlace()
      rememberPlace(undefined)
      location.replace(withWantedPlace('/login?notice=password_reset', place))
      return undefined
    }
    if (answer.refusal.status === 422) {
      return { fields: { password: answer.refusal.errors.map((message) => translateMessage(message, passwordWords)) } }
    }
    if (answer.refusal.status === 400) {
      setExpired(true)
      return undefined
    }
    return { notice: sentenceFor(answer.refusal, common), retryAfter: answer.refusal.retryAfter }
  }

  return (
    <Card footer={<a href="/login">{common.backToLogin}</a>}>
      <h1>{words.heading}</h1>
      {token === undefined || expired ? (
        <>
          <Notice kind={expired ? 'error' : 'info'}>{expired ? words.expired : words.noLink}</Notice>
          <a class="button primary" href="/forgot-password">
            {words.askAgain}
          </a>
        </>
      ) : (
        <>
          <p class="lead">{words.lead}</p>
          <Form submitLabel={words.submit} onSubmit={submit}>
            <NewPasswordField name="password" label={passwordWords.newPassword} words={passwordWords} focused />
          </Form>
        </>
      )}
    </Card>
  )
}

mount(ResetPassword)
