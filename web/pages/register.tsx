import { api } from '../api.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { NewPasswordField } from '../components/new-password-field.js'
import { Notice } from '../components/notice.js'
import { ProviderButtons } from '../components/provider-buttons.js'
import { mount } from '../mount.js'
import { returnToInAddress, storeEmail, storeReturnTo, withReturnTo } from '../navigation.js'
import { translateMessage } from '../passwords.js'
import { sentenceFor } from '../refusals.js'
import type { Refusal } from '../requests.js'
import { useSettings, useWords } from '../settings.js'
import type { Words } from '../words/catalogue.js'

const Register = () => {
  const words = useWords('register')
  const { registration } = useSettings()
  const returnTo = returnToInAddress()
  return (
    <Card
      footer={
        <>
          {words.haveAccount} <a href={withReturnTo('/login', returnTo)}>{words.signIn}</a>
        </>
      }
    >
      <h1>{words.heading}</h1>
      {registration === 'closed' ? (
        <Notice kind="info">{words.closed}</Notice>
      ) : (
        <>
          <RegisterForm />
          <ProviderButtons returnTo={returnTo} />
        </>
      )}
    </Card>
  )
}

const RegisterForm = () => {
  const words = useWords('register')
  const common = useWords('common')
  const passwordWords = useWords('password')
  const problemsOf = useProblems()

  const submit = async ({ password = '', ...typed }: Values) => {
    const [name, username, email] = [typed.name, typed.username, typed.email].map((text = '') => text.trim())
    const given = { username: username ?? '', email: email ?? '', password }
    const answer = await api.register(name ? { ...given, name } : given)
    if (!answer.ok) return problemsOf(answer.refusal)
    storeReturnTo(returnToInAddress())
    storeEmail(given.email)
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
      <NewPasswordField name="password" label={passwordWords.choose} />
    </Form>
  )
}

/** The field that a refusal is about, by the code of the refusal. */
const fieldOf = {
  username_length: 'username',
  username_at_sign: 'username',
  username_characters: 'username',
  username_alphabets: 'username',
  email_shape: 'email',
} satisfies Record<keyof Words['register']['inputErrors'], string>

const isInputError = (code: string | undefined): code is keyof typeof fieldOf =>
  code !== undefined && Object.hasOwn(fieldOf, code)

const useProblems = () => {
  const words = useWords('register')
  const common = useWords('common')
  const password = useWords('password')
  return (refusal: Refusal): Problems => {
    if (refusal.status === 422) {
      return { fields: { password: refusal.errors.map((message) => translateMessage(message, password)) } }
    }
    if (refusal.error === 'Username taken') return { fields: { username: [words.usernameTaken] } }
    if (isInputError(refusal.code)) return { fields: { [fieldOf[refusal.code]]: [words.inputErrors[refusal.code]] } }
    if (refusal.status === 400) return { notice: words.refused }
    return { notice: sentenceFor(refusal, common), retryAfter: refusal.retryAfter }
  }
}

mount(Register)
