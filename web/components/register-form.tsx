import { longestName } from '#contract/name-lengths.js'
import type { Accepted, SecondFactorNeeded, SignedIn } from '#contract/schemas.js'
import { chosenUsernameRefusal, normalizedUsername } from '#contract/usernames.js'
import { client } from '../browser/client.js'
import {
  redirectAfterSignIn,
  returnToInAddress,
  secondFactorPath,
  storeEmail,
  storeReturnTo,
  withReturnTo,
} from '../browser/navigation.js'
import { forgetTyped, keepTyped, keepTypedFields, typedBefore } from '../browser/storage.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { usernameRefusals } from '../words/refusals.js'
import { AddressField } from './address-field.js'
import { Field, type FieldProps } from './field.js'
import { type FieldProblems, Form, type Problems, type Values } from './form.js'
import { applicationIdIn } from './from-application.js'
import { errorsOf, NewPasswordField, useNewPasswordProblems } from './new-password.js'
import { RegistrationQuestions, useFieldProblems, useRegistrationAnswers } from './profile-fields.js'

type Invitation = { token: string; email: string; hint: string; returnTo: string | undefined }

/** An `invitation` fixes the email address. When the service refuses the invitation, `onRefused` shows that in the place of the form. */
type Props = { invitation?: Invitation; onRefused?: () => void }

export const RegisterForm = ({ invitation, onRefused }: Props) => {
  const words = useWords('register')
  const { email: emailLabel } = useWords('common')
  const passwordWords = useWords('password')
  const asksUsername = useSettings().usernames === 'chosen'
  const usernameField = useUsernameField()
  const { check, withPasswordProblems } = useChecks()
  const problemsOf = useNewPasswordProblems('password', fieldOfRefusal)
  const fieldProblems = useFieldProblems()
  const answersOf = useRegistrationAnswers()

  const submit = async (values: Values) => {
    const { username, email, password, name } = registrationOf(values)
    const returnTo = returnToInAddress() ?? invitation?.returnTo
    const application = applicationIdIn(returnTo)
    const details = { ...(asksUsername && { username }), ...(name && { name }), ...answersOf(values) }
    const invitationPart = invitation && { invite: invitation.token, signIn: true }
    const answer = await client.register({ email, password, ...details, ...invitationPart, application })
    if (answer.refused === 'invalid_invitation' && onRefused) {
      onRefused()
      return undefined
    }
    if (answer.refused) return withPasswordProblems(fieldProblems(answer) ?? problemsOf(answer), values)
    // The fields are kept until the address is confirmed: if it is wrong, the user registers again.
    keepTypedFields(details.fields)
    goOn(answer.value, email, returnTo)
    return undefined
  }

  return (
    <Form submitLabel={words.submit} check={check} onSubmit={submit}>
      {invitation ? (
        <InvitedAddress {...invitation} />
      ) : (
        <AddressField label={emailLabel} {...restoredProps('email')} focused />
      )}
      {asksUsername && <Field {...usernameField} focused={invitation !== undefined} />}
      <Field
        name="name"
        label={words.name}
        autoComplete="name"
        required={false}
        maxLength={longestName}
        hint={words.nameHint}
        {...restoredProps('name')}
        focused={!asksUsername && invitation !== undefined}
      />
      <NewPasswordField name="password" label={passwordWords.choose} />
      <RegistrationQuestions />
    </Form>
  )
}

/**
 * Goes to the page that asks for the mailed code. If the invitation has proven the address, goes into the account or to its second
 * factor.
 */
const goOn = (answered: Accepted | SignedIn | SecondFactorNeeded, email: string, returnTo: string | undefined) => {
  if ('message' in answered) {
    storeReturnTo(returnTo)
    storeEmail(email)
    location.assign(withReturnTo('/verify-email', returnTo))
    return
  }
  forgetTyped()
  if ('next' in answered) location.replace(withReturnTo(secondFactorPath(2), returnTo))
  else redirectAfterSignIn(returnTo)
}

/**
 * The props of the field and not a component: errors are read out in the order of the fields only if all fields are equally deep in the
 * tree.
 */
export const useUsernameField = (): FieldProps => {
  const { username, usernameRule } = useWords('common')
  const { usernameHint } = useWords('register')
  return {
    name: 'username',
    label: username,
    autoComplete: 'username',
    hint: `${usernameRule} ${usernameHint}`,
    ...restoredProps('username'),
  }
}

const InvitedAddress = ({ email, hint }: Pick<Invitation, 'email' | 'hint'>) => (
  <Field
    name="email"
    label={useWords('common').email}
    type="email"
    autoComplete="email"
    defaultValue={email}
    readOnly
    hint={hint}
  />
)

/** The props of a field that keeps its text when the page is left and opened again. */
const restoredProps = (field: 'username' | 'email' | 'name') => ({
  defaultValue: typedBefore(field),
  onInput: (value: string) => keepTyped(field, value),
})

export const registrationOf = ({ username = '', email = '', password = '', name = '' }: Values) => ({
  username: username.trim(),
  email: email.trim(),
  password,
  name: name.trim(),
})

/**
 * The service refuses a registration for one reason at a time. So the page asks for the strength of the password and adds what is wrong
 * with it to the other problems, so that the user sees everything at once.
 */
export const useChecks = () => {
  const words = useWords('password')
  const refusals = useWords('refusals')

  const passwordProblems = async (values: Values): Promise<FieldProblems> => {
    const { password, ...person } = registrationOf(values)
    const answer = password === '' ? undefined : await client.passwordStrength({ ...person, password })
    const errors = !answer || answer.refused ? [] : errorsOf(answer.value.ids, words)
    return errors.length > 0 ? { password: errors } : {}
  }

  const check = async (values: Values, invalid: FieldProblems): Promise<FieldProblems> => {
    const { username } = registrationOf(values)
    const code = username === '' ? undefined : chosenUsernameRefusal(normalizedUsername(username))
    const problems = { ...invalid, ...(code && { username: [refusals[code]] }) }
    return Object.keys(problems).length === 0 ? problems : { ...(await passwordProblems(values)), ...problems }
  }

  const withPasswordProblems = async (problems: Problems, values: Values): Promise<Problems> =>
    problems.fields ? { ...problems, fields: { ...(await passwordProblems(values)), ...problems.fields } } : problems

  return { check, withPasswordProblems }
}

/** The field at which a refusal is shown. */
export const fieldOfRefusal = {
  ...usernameRefusals,
  email_shape: 'email',
  email_domain_not_allowed: 'email',
}
