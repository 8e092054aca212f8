import { useState } from 'preact/hooks'
import {
  type LoginNotice,
  loginNotices,
  mailTokenName,
  type ProviderButton,
  type PublicReason,
  providerParameter,
} from '#contract/pages.js'
import { providerPath } from '#contract/provider-paths.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import {
  queryValue,
  redirectAfterSignIn,
  returnToInAddress,
  storedReturnTo,
  storeEmail,
  storeReturnTo,
  withReturnTo,
} from '../browser/navigation.js'
import { forgetTyped, keepTypedLogin, loginTypedBefore } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { Card, LoadingCard } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { ContinuesTo, nameOfApplicationIn } from '../components/from-application.js'
import { HelpLink, Notice } from '../components/notice.js'
import { ProviderButtons } from '../components/providers.js'
import { SendAgain } from '../components/send-again.js'
import { useLinkToken } from '../hooks/mailed-link.js'
import { useSettings, useWords } from '../hooks/settings.js'
import {
  keepMailStage,
  keptMailStage,
  MailedSignInLink,
  MailLogin,
  type MailLoginProps,
  type MailStage,
} from '../sign-in/mail-login.js'
import { useWithOtherWays } from '../sign-in/other-ways.js'
import { PasskeySignIn } from '../sign-in/passkeys.js'
import { useVisitor } from '../sign-in/visitor.js'
import { fill } from '../words/format.js'
import { providerErrorFor, reasonAsksForHelp, useProblems } from '../words/refusals.js'

export const Login = () => {
  const token = useLinkToken(mailTokenName)
  const { mailSignIn } = useSettings()
  const returnTo = returnToInAddress() ?? (token === undefined ? returnToBeforeProvider() : storedReturnTo())
  const [mailStage, setMailStage] = useState(keptMailStage)
  const [usedToken, setUsedToken] = useState<string>()
  const [isDeviceLost, setDeviceLost] = useState(false)
  const visitor = useVisitor(
    () => redirectAfterSignIn(returnTo),
    ({ because }) => setDeviceLost(because !== undefined),
  )

  /** Goes to the page that the visitor wanted, or to the next step of the sign-in. */
  const onEntered = (answered: object) => {
    forgetTyped()
    keepMailStage(undefined)
    if ('next' in answered) location.assign(withReturnTo('/second-factor', returnTo))
    else redirectAfterSignIn(returnTo)
    return undefined
  }
  const onStage = (stage: MailStage | undefined) => {
    setUsedToken(token)
    keepMailStage(stage)
    setMailStage(stage)
  }
  const wayProps = { returnTo, onEntered, onStage }

  if (visitor !== 'signed-out') return <LoadingCard />
  if (mailSignIn && token !== undefined && token !== usedToken)
    return <MailedSignInLink key={token} token={token} {...wayProps} />
  return mailSignIn && mailStage ? (
    <MailLogin stage={mailStage} {...wayProps} />
  ) : (
    <AllWays isDeviceLost={isDeviceLost} {...wayProps} />
  )
}

type AllWaysProps = Omit<MailLoginProps, 'stage'> & { isDeviceLost: boolean }

const AllWays = ({ returnTo, onEntered, onStage, isDeviceLost }: AllWaysProps) => {
  const words = useWords('login')
  const common = useWords('common')
  const { registration, mailSignIn, mailIsOff } = useSettings()
  const namedProvider = useNamedProvider()
  const problemsOf = useProblems({ invalid_credentials: 'password' })
  const withOtherWays = useWithOtherWays()
  const confirms = registration !== 'closed' && !mailIsOff

  /** The same for everyone, so it tells nothing of the account. */
  const withConfirmFirst = ({ fields, ...problems }: Problems): Problems => ({
    ...problems,
    fields: { ...fields, password: [...(fields?.password ?? []), ...(confirms ? [words.confirmFirst] : [])] },
  })

  const submit = async ({ username = '', password = '' }: Values) => {
    const answer = await client.login({ username: username.trim(), password })
    if (!answer.refused) return onEntered(answer.value)
    const problems = problemsOf(answer)
    if (answer.refused === 'too_many_logins') return withOtherWays(problems, { offersMail: true })
    if (answer.refused === 'invalid_credentials') return withConfirmFirst(problems)
    if (answer.refused !== 'email_not_confirmed') return problems
    storeReturnTo(returnTo)
    storeEmail(username.includes('@') ? username.trim() : undefined)
    return { ...problems, offer: <ConfirmEmail returnTo={returnTo} /> }
  }

  return (
    <Card footer={registration !== 'closed' ? <ToRegistration returnTo={returnTo} /> : undefined}>
      {/* A greeting does not fit a message that the visitor is signed out or could not be signed in. */}
      <h1>{isDeviceLost || hasMessage() || namedProvider ? words.title : words.heading}</h1>
      <ContinuesTo returnTo={returnTo} step="sign-in" />
      {isDeviceLost ? (
        <Notice kind="info">{words.notices.device_lost}</Notice>
      ) : (
        <AddressNotice namedProvider={namedProvider} returnTo={returnTo} />
      )}
      <Form submitLabel={words.submit} onSubmit={submit}>
        <Field
          name="username"
          label={common.identifier}
          autoComplete="username webauthn"
          defaultValue={loginTypedBefore()}
          onInput={keepTypedLogin}
          focused={namedProvider === undefined}
        />
        <Field name="password" label={common.password} type="password" autoComplete="current-password" />
        <p class="forgot-link">
          <a href={withReturnTo('/forgot-password', returnTo)}>{common.forgotPassword}</a>
        </p>
      </Form>
      <PasskeySignIn onSignedIn={onEntered} />
      {mailSignIn && (
        <div class="other-way">
          <Button look="quiet" onPress={() => onStage({ at: 'ask' })}>
            {words.byMail}
          </Button>
        </div>
      )}
      <ProviderButtons returnTo={returnTo} focused={namedProvider?.id} />
      {queryValue('notice') === ('other_account' satisfies LoginNotice) && (
        <Button look="quiet" onPress={() => redirectAfterSignIn(returnTo)}>
          {words.keepAccount}
        </Button>
      )}
    </Card>
  )
}

/** The provider that the address names, because another site sent the visitor to it. The sign-in begins only with a press on its button. */
const useNamedProvider = () => {
  const path = queryValue(providerParameter)
  return useSettings().providers.find(({ id }) => providerPath(id) === path)
}

const ToRegistration = ({ returnTo }: { returnTo: string | undefined }) => {
  const words = useWords('login')
  return (
    <>
      {words.noAccount} <a href={withReturnTo('/register', returnTo)}>{words.register}</a>
    </>
  )
}

/** The address after a failed sign-in with a provider has no `returnTo`, so the stored one is used. */
const returnToBeforeProvider = () => (queryValue('error') === undefined ? undefined : storedReturnTo())

/** Only the browser that registered is told `email_not_confirmed`. There, the visitor can enter the code or ask for a new mail. */
const ConfirmEmail = ({ returnTo }: { returnTo: string | undefined }) => (
  <>
    <SendAgain
      send={client.resendVerification}
      sentMessage={useWords('common').sentAgain}
      onSent={() => location.assign(withReturnTo('/verify-email', returnTo))}
    />
    <a href={withReturnTo('/verify-email', returnTo)}>{useWords('common').enterCode}</a>
  </>
)

const hasMessage = () => queryValue('error') !== undefined || queryValue('notice') !== undefined

type NoticeProps = { namedProvider: ProviderButton | undefined; returnTo: string | undefined }

/** A notice about why the visitor is here, if the URL has a known word for it. */
const AddressNotice = ({ namedProvider, returnTo }: NoticeProps) => {
  const { notices, askedProvider } = useWords('login')
  const common = useWords('common')
  const { providers } = useSettings()
  const error = queryValue('error')
  const notice = queryValue('notice')
  if (error !== undefined) {
    const reason = queryValue('reason')
    const sentence = providerErrorFor(error, reason, providers, common)
    // The visitor has cancelled on purpose, which is no error.
    const kind = reason === ('cancelled' satisfies PublicReason) ? 'info' : 'error'
    return (
      <Notice kind={kind} after={reasonAsksForHelp(reason) && <HelpLink />}>
        {sentence}
      </Notice>
    )
  }
  if (namedProvider) return <Notice kind="info">{fill(askedProvider, { provider: namedProvider.name })}</Notice>
  const knownNotice = loginNotices.find((each) => each === notice)
  // The heading already says it, with the name of the application.
  const isInHeading = knownNotice === 'sign_in' && nameOfApplicationIn(returnTo) !== undefined
  if (knownNotice === undefined || isInHeading) return null
  return <Notice kind={isSuccess[knownNotice] ? 'success' : 'info'}>{notices[knownNotice]}</Notice>
}

/** Whether a notice tells of something that the visitor has done. */
const isSuccess: Record<LoginNotice, boolean> = {
  signed_out: true,
  signed_out_everywhere: true,
  sign_in: false,
  connect_device: false,
  other_account: false,
  session_ended: false,
  device_lost: false,
  password_reset: true,
  account_deleted: true,
}

/** A device shows a short address, `/login#device`, which leads to the page for its code. */
const deviceLink = /^#device(?:=(.*))?$/.exec(location.hash)
if (deviceLink) location.replace(`/api/auth/device${deviceLink[1] ? `#${deviceLink[1]}` : ''}`)
else mount(Login)
