import { normalizedUsername, usernameRefusal } from '../../src/contract/username-rules.js'
import { client } from '../client.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { type FieldProblems, Form, type Problems, type Values } from '../components/form.js'
import { LoadingCard } from '../components/loading-card.js'
import { NewPasswordField } from '../components/new-password-field.js'
import { Notice } from '../components/notice.js'
import { ProviderButtons } from '../components/provider-buttons.js'
import { mount } from '../mount.js'
import { redirectAfterSignIn, returnToInAddress, storeEmail, storeReturnTo, withReturnTo } from '../navigation.js'
import { errorsOf, useNewPasswordProblems } from '../passwords.js'
import { useSettings, useWords } from '../settings.js'
import { forgetTyped, keepTyped, typedBefore } from '../typed.js'
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
  const { check, completed } = useChecks()
  const problemsOf = useNewPasswordProblems('password', fields)

  const submit = async (values: Values) => {
    const { username, email, password, name } = registrationOf(values)
    const answer = await client.register({ username, email, password, ...(name && { name }) })
    if (answer.refused) return completed(problemsOf(answer), values)
    forgetTyped()
    storeReturnTo(returnToInAddress())
    storeEmail(email)
    location.assign('/verify-email')
    return undefined
  }

  return (
    <Form submitLabel={words.submit} check={check} onSubmit={submit}>
      <Field
        name="username"
        label={common.username}
        autoComplete="username"
        hint={words.usernameHint}
        {...kept('username')}
        focused
      />
      <Field name="email" label={common.email} type="email" autoComplete="email" {...kept('email')} />
      <Field
        name="name"
        label={words.name}
        autoComplete="name"
        required={false}
        maxLength={200}
        hint={words.nameHint}
        {...kept('name')}
      />
      <NewPasswordField name="password" label={passwordWords.choose} />
    </Form>
  )
}

const kept = (field: 'username' | 'email' | 'name') => ({
  defaultValue: typedBefore(field),
  onInput: (value: string) => keepTyped(field, value),
})

const registrationOf = ({ username = '', email = '', password = '', name = '' }: Values) => ({
  username: username.trim(),
  email: email.trim(),
  password,
  name: name.trim(),
})

/**
 * The service refuses a registration for one reason. The page asks for the strength of the password and adds what is wrong
 * with it to the other problems, so that the user sees everything at once.
 */
const useChecks = () => {
  const words = useWords('password')
  const refusals = useWords('refusals')

  const passwordProblems = async (values: Values): Promise<FieldProblems> => {
    const { password, ...about } = registrationOf(values)
    const answer = password === '' ? undefined : await client.passwordStrength({ ...about, password })
    const errors = !answer || answer.refused ? [] : errorsOf(answer.value.ids, words)
    return errors.length > 0 ? { password: errors } : {}
  }

  const check = async (values: Values, invalid: FieldProblems): Promise<FieldProblems> => {
    const { username } = registrationOf(values)
    const code = username === '' ? undefined : usernameRefusal(normalizedUsername(username))
    const found = { ...invalid, ...(code && { username: [refusals[code]] }) }
    return Object.keys(found).length === 0 ? found : { ...(await passwordProblems(values)), ...found }
  }

  const completed = async (problems: Problems, values: Values): Promise<Problems> =>
    problems.fields ? { ...problems, fields: { ...(await passwordProblems(values)), ...problems.fields } } : problems

  return { check, completed }
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
