import { api } from '../api.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { LoadingCard } from '../components/loading-card.js'
import { NewPasswordField } from '../components/new-password-field.js'
import { Notice } from '../components/notice.js'
import { ProviderButtons } from '../components/provider-buttons.js'
import { mount } from '../mount.js'
import { redirectAfterSignIn, returnToInAddress, storeEmail, storeReturnTo, withReturnTo } from '../navigation.js'
import { useNewPasswordProblems } from '../passwords.js'
import { useSettings, useWords } from '../settings.js'
import { useVisitor } from '../visitor.js'

const Register = () => {
  const words = useWords('register')
  const { registration } = useSettings()
  const returnTo = returnToInAddress()
  const visitor = useVisitor(() => redirectAfterSignIn(returnTo))
  if (visitor !== 'signed-out') return <LoadingCard />
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
  const problemsOf = useNewPasswordProblems('password', fields)

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

/** The field that a refusal belongs to. */
const fields = {
  username_length: 'username',
  username_at_sign: 'username',
  username_characters: 'username',
  username_alphabets: 'username',
  username_taken: 'username',
  email_shape: 'email',
}

mount(Register)
