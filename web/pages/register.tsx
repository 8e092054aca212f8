import { api } from '../api.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { NewPasswordField } from '../components/new-password-field.js'
import { Notice } from '../components/notice.js'
import { mount } from '../mount.js'
import { translateMessage } from '../passwords.js'
import { rememberMailbox, rememberPlace, wantedPlace, withWantedPlace } from '../places.js'
import { sentenceFor } from '../refusals.js'
import type { Refusal } from '../requests.js'
import type { Settings } from '../settings.js'

const Register = ({ settings }: { settings: Settings<'register'> }) => {
  const { register: words, common, password: passwordWords } = settings.words
  const place = wantedPlace()

  const submit = async ({ name = '', username = '', email = '', password = '' }: Values) => {
    if (username.includes('@') || Array.from(username).length > 64)
      return { fields: { username: [words.usernameShape] } }
    const given = { username, email: email.trim(), password }
    const answer = await api.register(name.trim() === '' ? given : { ...given, name: name.trim() })
    if (!answer.ok) return problemsOf(answer.refusal, settings)
    rememberPlace(place)
    rememberMailbox(given.email)
    location.assign('/verify-email')
    return undefined
  }

  return (
    <Card
      footer={
        <>
          {words.haveAccount} <a href={withWantedPlace('/login', place)}>{words.signIn}</a>
        </>
      }
    >
      <h1>{words.heading}</h1>
      {settings.registration === 'closed' ? (
        <Notice kind="info">{words.closed}</Notice>
      ) : (
        <Form submitLabel={words.submit} onSubmit={submit}>
          <Field name="name" label={words.name} autoComplete="name" required={false} hint={words.nameHint} focused />
          <Field name="username" label={common.username} autoComplete="username" hint={words.usernameHint} />
          <Field name="email" label={common.email} type="email" autoComplete="email" />
          <NewPasswordField name="password" label={passwordWords.choose} words={passwordWords} />
        </Form>
      )}
    </Card>
  )
}

const problemsOf = (refusal: Refusal, settings: Settings<'register'>): Problems => {
  const { register: words, common, password } = settings.words
  if (refusal.status === 422) {
    return { fields: { password: refusal.errors.map((message) => translateMessage(message, password)) } }
  }
  if (refusal.error === 'Username taken') return { fields: { username: [words.usernameTaken] } }
  if (refusal.status === 400) return { notice: words.refused }
  return { notice: sentenceFor(refusal, common), retryAfter: refusal.retryAfter }
}

mount(Register)
