import { api } from '../api.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { NewPasswordField } from '../components/new-password-field.js'
import { Notice } from '../components/notice.js'
import { ProviderButtons } from '../components/provider-buttons.js'
import { mount } from '../mount.js'
import { rememberMailbox, rememberPlace, wantedPlace, withWantedPlace } from '../navigation.js'
import { translateMessage } from '../passwords.js'
import { sentenceFor } from '../refusals.js'
import type { Refusal } from '../requests.js'
import type { Settings } from '../settings.js'
import type { Words } from '../words/catalogue.js'

type Props = { settings: Settings<'register'> }

const Register = ({ settings }: Props) => {
  const { register: words } = settings.words
  const place = wantedPlace()
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
        <>
          <RegisterForm settings={settings} />
          <ProviderButtons place={place} />
        </>
      )}
    </Card>
  )
}

const RegisterForm = ({ settings }: Props) => {
  const { register: words, common, password: passwordWords } = settings.words

  const submit = async ({ password = '', ...typed }: Values) => {
    const [name, username, email] = [typed.name, typed.username, typed.email].map((text = '') => text.trim())
    const given = { username: username ?? '', email: email ?? '', password }
    const answer = await api.register(name ? { ...given, name } : given)
    if (!answer.ok) return problemsOf(answer.refusal, settings)
    rememberPlace(wantedPlace())
    rememberMailbox(given.email)
    location.assign('/verify-email')
    return undefined
  }

  return (
    <Form submitLabel={words.submit} onSubmit={submit}>
      <Field
        name="name"
        label={words.name}
        autoComplete="name"
        required={false}
        maxLength={200}
        hint={words.nameHint}
        focused
      />
      <Field name="username" label={common.username} autoComplete="username" hint={words.usernameHint} />
      <Field name="email" label={common.email} type="email" autoComplete="email" />
      <NewPasswordField name="password" label={passwordWords.choose} words={passwordWords} />
    </Form>
  )
}

/** The field that a refusal of the service is about, by the code that comes with it. */
const fieldOf = {
  username_length: 'username',
  username_at_sign: 'username',
  username_characters: 'username',
  username_alphabets: 'username',
  email_shape: 'email',
} satisfies Record<keyof Words['register']['inputErrors'], string>

const isInputError = (code: string | undefined): code is keyof typeof fieldOf =>
  code !== undefined && Object.hasOwn(fieldOf, code)

const problemsOf = (refusal: Refusal, settings: Props['settings']): Problems => {
  const { register: words, common, password } = settings.words
  if (refusal.status === 422) {
    return { fields: { password: refusal.errors.map((message) => translateMessage(message, password)) } }
  }
  if (refusal.error === 'Username taken') return { fields: { username: [words.usernameTaken] } }
  if (isInputError(refusal.code)) return { fields: { [fieldOf[refusal.code]]: [words.inputErrors[refusal.code]] } }
  if (refusal.status === 400) return { notice: words.refused }
  return { notice: sentenceFor(refusal, common), retryAfter: refusal.retryAfter }
}

mount(Register)
