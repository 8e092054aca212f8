import { useState } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import { longestName } from '#contract/name-lengths.js'
import type { SecondFactorNeeded, SignedIn } from '#contract/schemas.js'
import { calls } from '../admin/calls.js'
import { fragmentOf } from '../admin/place.js'
import { askService, client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { forgetToken, redirectToLogin, secondFactorPath, withReturnTo } from '../browser/navigation.js'
import { AddressField } from '../components/address-field.js'
import { Card, LoadingCard, PageNotLoaded } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { NewPasswordField, useNewPasswordProblems } from '../components/new-password.js'
import { Notice } from '../components/notice.js'
import { fieldOfRefusal, registrationOf, useChecks, useUsernameField } from '../components/register-form.js'
import { useLoaded } from '../hooks/loaded.js'
import { useLinkToken } from '../hooks/mailed-link.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { StepUpDialog, useStepUp } from '../sign-in/step-up.js'
import { AddFactor } from '../sign-in/two-step.js'
import { useRefusalSentence } from '../words/refusals.js'

/** The query of this page once the account is made. Another page of the sign-in may come in between. */
const madePath = '/api/auth/setup?made'

/** The first start. Without a link, and without the account that it has made, the page says where the link is. */
const Setup = () => {
  const token = useLinkToken()
  const [isMade, setMade] = useState(() => new URLSearchParams(location.search).has('made'))
  const [ending, setEnding] = useState<Refusal>()
  const onMade = () => {
    history.replaceState(null, '', madePath)
    setMade(true)
  }
  if (isMade) return <SecondStep />
  if (ending) return <NoSetup refusal={ending} />
  return token === undefined ? <NoSetup /> : <CheckedLink token={token} onMade={onMade} onEnd={setEnding} />
}

/** Refusals after which the form is of no use. */
const endings: readonly string[] = ['invalid_setup_token', 'already_set_up', 'admin_group_needed']

type AccountProps = { token: string; onMade: () => void; onEnd: (refusal: Refusal) => void }

/**
 * Whether the link works is asked before anything is typed, by an attempt that no service accepts: it has no address. The token is judged
 * first, so a dead link is refused for itself, and a right one for the address.
 */
const checkLink = async (token: string) => {
  const answer = await askService<never>('setup', { token, username: '-', email: '', password: '-' })
  return answer.refused === 'bad_request' ? { ...answer, refused: 'invalid_setup_token' as const } : answer
}

const CheckedLink = (props: AccountProps) => {
  const { refusal } = useLoaded(
    () => checkLink(props.token),
    (found) => {
      const isOver = endings.includes(found.refused)
      if (isOver) props.onEnd(found)
      return isOver
    },
  )
  return refusal ? <FirstAccount {...props} /> : <LoadingCard />
}

const FirstAccount = ({ token, onMade, onEnd }: AccountProps) => {
  const words = useWords('setup')
  const { name: nameLabel, nameHint } = useWords('register')
  const { email: emailLabel } = useWords('common')
  const { choose } = useWords('password')
  const asksUsername = useSettings().usernames === 'chosen'
  const usernameField = useUsernameField()
  const { check, withPasswordProblems } = useChecks()
  const problemsOf = useNewPasswordProblems('password', fieldOfRefusal)

  const submit = async (values: Values) => {
    const { username, email, password, name } = registrationOf(values)
    const details = { ...(asksUsername && { username }), ...(name && { name }) }
    const answer = await askService<SignedIn | SecondFactorNeeded>('setup', { token, email, password, ...details })
    if (answer.refused && endings.includes(answer.refused)) {
      // The token of a group that is missing works again, when the operator has set ADMIN_GROUP.
      if (answer.refused !== 'admin_group_needed') forgetToken()
      onEnd(answer)
    } else if (answer.refused) return withPasswordProblems(problemsOf(answer), values)
    else if ('user' in answer.value) onMade()
    else location.replace(withReturnTo(secondFactorPath(2), madePath))
    return undefined
  }

  return (
    <Card>
      <Heading text={words.heading} />
      <p class="lead">{words.lead}</p>
      <Form submitLabel={words.submit} check={check} onSubmit={submit}>
        <AddressField label={emailLabel} focused />
        {asksUsername && <Field {...usernameField} />}
        <Field
          name="name"
          label={nameLabel}
          autoComplete="name"
          required={false}
          maxLength={longestName}
          hint={nameHint}
        />
        <NewPasswordField name="password" label={choose} />
      </Form>
    </Card>
  )
}

/** Says where the link is, or why the one in the address does not work, and which command helps. */
const NoSetup = ({ refusal }: { refusal?: Refusal }) => {
  const words = useWords('setup')
  const { signIn } = useWords('register')
  const sentenceOf = useRefusalSentence()
  const isOver = refusal?.refused === 'already_set_up'
  const needsSetting = refusal?.refused === 'admin_group_needed'
  return (
    <Card footer={<a href="/login">{signIn}</a>}>
      <Heading text={words.title} focused={refusal !== undefined} />
      {refusal && <Notice kind="error">{sentenceOf(refusal)}</Notice>}
      <p class="lead">{isOver ? words.otherWay : needsSetting ? words.groupTaken : words.noLink}</p>
      {!needsSetting && (
        <p>
          <code class="secret">{isOver ? 'latchkey user groups USER --add GROUP' : 'latchkey setup-link'}</code>
        </p>
      )}
    </Card>
  )
}

/**
 * Leads to the page of administrators, or to the account page if a proxy does not pass that one on. Both show the next steps. The page of
 * administrators asks for the second factor, so its refusal shows that it can be reached.
 */
const leave = async () => {
  const { refused } = await calls.self()
  const isReachable = refused === undefined || refused === 'fresh_sign_in_required'
  const overview = `/api/auth/admin${fragmentOf('overview', undefined, { setup: 'done' })}`
  location.replace(isReachable ? overview : '/api/auth/account-page?setup=done')
}

const SecondStep = () => {
  const words = useWords('setup')
  const { stepUp, withFreshSignIn } = useStepUp()
  const { value, refusal, reload } = useLoaded(
    async () => {
      const caller = await client.me()
      if (caller.refused) return caller
      const factors = await client.factors()
      if (factors.refused) return factors
      const { totp, passkeys } = factors.value
      // With SECOND_FACTOR=required it was added before the session began.
      const isAdded = totp !== null || passkeys.length > 0
      if (isAdded) await leave()
      return { value: { username: caller.value.user.username, isAdded } }
    },
    (refusal) => {
      const isSignedOut = refusal.refused === 'not_authenticated'
      if (isSignedOut) redirectToLogin('sign_in')
      return isSignedOut
    },
  )
  if (refusal) return <PageNotLoaded refusal={refusal} onTryAgain={reload} />
  if (!value || value.isAdded) return <LoadingCard />
  const { username } = value
  return (
    <>
      <AddFactor
        username={username}
        lead={words.secondStep}
        withFreshSignIn={withFreshSignIn}
        onAdded={leave}
        footer={<a href="/api/auth/account-page?setup=done">{words.later}</a>}
      />
      {stepUp && <StepUpDialog {...stepUp} username={username} onSignedOut={() => redirectToLogin('sign_in')} />}
    </>
  )
}

mount(Setup)
