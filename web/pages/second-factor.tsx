import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import type { NextStep } from '#contract/factors.js'
import { timeSpan } from '#contract/time-spans.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { redirectAfterSignIn, returnToInAddress, withReturnTo } from '../browser/navigation.js'
import { Button } from '../components/button.js'
import { Card, LoadingCard, PageNotLoaded } from '../components/card.js'
import { SendingCodeField } from '../components/code-field.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { ContinuesTo } from '../components/from-application.js'
import { Heading } from '../components/heading.js'
import { Notice } from '../components/notice.js'
import { useLoaded } from '../hooks/loaded.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { Enrolment } from '../sign-in/enrolment.js'
import { ProfileStep, type SignInStepProps, TermsStep } from '../sign-in/last-steps.js'
import { PasskeyButton, passkeySupport } from '../sign-in/passkeys.js'
import { fill } from '../words/format.js'
import { useProblems, useRefusalSentence } from '../words/refusals.js'

/**
 * The steps of a sign-in after the first: a code of the authenticator app, a recovery code or a passkey, or adding the first factor;
 * then missing fields and the terms.
 */
const SecondFactor = () => {
  const sentenceOf = useRefusalSentence()
  const returnTo = returnToInAddress()
  const [failure, setFailure] = useState<Refusal>()
  const stepCount = useRef(0)
  /** A user who is already signed in needs no second step, and leaves the page. */
  const endOrLeave = async (refusal: Refusal) => {
    const caller = await client.me()
    if (caller.refused) setFailure(refusal)
    else redirectAfterSignIn(returnTo)
  }
  const {
    value: waiting,
    refusal,
    reload,
  } = useLoaded(client.checkSecondFactor, (refused) => {
    const isOver = refused.refused === 'challenge_over'
    if (isOver) void endOrLeave(refused)
    return isOver
  })

  if (failure !== undefined) return <SignInOver sentence={sentenceOf(failure)} returnTo={returnTo} />
  if (refusal) return <PageNotLoaded refusal={refusal} returnTo={returnTo} onTryAgain={reload} />
  if (!waiting) return <LoadingCard />
  const goOn = (answered: object) => {
    stepCount.current += 1
    if ('next' in answered) void reload()
    else redirectAfterSignIn(returnTo)
  }
  const endIfExpired = (refusal: Refusal) => {
    const isOver = refusal.refused === 'challenge_over'
    if (isOver) setFailure(refusal)
    return isOver
  }
  const Step = steps[waiting.next]
  const stepProps = { waiting, returnTo, takesFocus: stepCount.current > 0, onAnswered: goOn, endIfExpired }
  return <Step {...stepProps} />
}

const Proof = (props: SignInStepProps) =>
  props.waiting.methods.includes('totp') ? <ByCode {...props} /> : <OnlyPasskey {...props} />

const steps: Record<NextStep, (props: SignInStepProps) => JSX.Element> = {
  second_factor: Proof,
  enrolment: Enrolment,
  profile: ProfileStep,
  terms: TermsStep,
}

const ByCode = ({ waiting, returnTo, onAnswered, endIfExpired }: SignInStepProps) => {
  const words = useWords('second-factor')
  const problemsOf = useProblems({ wrong_second_factor: 'code' })
  const [byRecoveryCode, setByRecoveryCode] = useState<boolean>()
  // Whoever reads on to the box below has time to tick it.
  const sendsByItself = waiting.trustedFor === null

  const submit = async ({ code = '', trustDevice }: Values): Promise<Problems | undefined> => {
    const answer = await client.secondFactor({ code, trustDevice: trustDevice !== undefined })
    if (!answer.refused) onAnswered(answer.value)
    else if (answer.refused === 'wrong_second_factor' && looksLikeRecoveryCode(code))
      return { fields: { code: [words.wrongRecoveryCode] } }
    else if (!endIfExpired(answer)) return problemsOf(answer)
    return undefined
  }

  return (
    <Card footer={<a href={withReturnTo('/login', returnTo)}>{useWords('common').backToLogin}</a>}>
      <Heading text={byRecoveryCode ? words.recoveryHeading : words.heading} />
      <p class="lead" aria-live="polite">
        {byRecoveryCode ? words.recoveryLead : words.lead}
        {byRecoveryCode && waiting.trustDevice && ` ${words.notTrusted}`}
      </p>
      <ContinuesTo returnTo={returnTo} />
      {/* Each kind of code has a form of its own, so that a message about one is not shown for the other. */}
      <Form key={String(byRecoveryCode)} submitLabel={words.submit} onSubmit={submit}>
        {byRecoveryCode ? (
          <Field name="code" label={words.recoveryCode} autoComplete="off" maxLength={64} code focused="chosen" />
        ) : (
          <SendingCodeField
            label={words.code}
            hint={sendsByItself ? words.codeIsSent : words.codeHint}
            // The field is long enough for a recovery code, which works here, too.
            maxLength={64}
            focused={byRecoveryCode === undefined ? true : 'chosen'}
            sendsByItself={sendsByItself}
          />
        )}
        {waiting.trustedFor !== null && !byRecoveryCode && <TrustDevice seconds={waiting.trustedFor} />}
      </Form>
      {waiting.methods.includes('passkey') && <ByPasskey onAnswered={onAnswered} />}
      {waiting.methods.includes('recovery_code') && (
        <div class="other-way">
          <Button onPress={() => setByRecoveryCode(!byRecoveryCode)}>
            {byRecoveryCode ? words.useApp : words.useRecoveryCode}
          </Button>
        </div>
      )}
    </Card>
  )
}

/** A code of the app has digits only. */
const looksLikeRecoveryCode = (code: string) => /[a-z]/i.test(code)

const TrustDevice = ({ seconds }: { seconds: number }) => {
  const words = useWords('second-factor')
  const { locale } = useSettings()
  return (
    <label class="check">
      <input type="checkbox" name="trustDevice" />{' '}
      {fill(words.trustDevice, { time: timeSpan(1_000 * seconds, locale) })}
    </label>
  )
}

/** A sign-in with a passkey of the account also finishes the sign-in that waits. */
const ByPasskey = ({ onAnswered, look }: Pick<SignInStepProps, 'onAnswered'> & { look?: 'primary' }) => (
  <div class="other-way">
    <PasskeyButton
      {...(look && { look })}
      loadOptions={client.passkeyLoginOptions}
      prove={async (credential) => {
        const answer = await client.passkeyLogin({ credential })
        if (answer.refused) return answer
        onAnswered(answer.value)
        return undefined
      }}
    />
  </div>
)

const OnlyPasskey = ({ returnTo, onAnswered }: SignInStepProps) => {
  const words = useWords('passkeys')
  return (
    <Card footer={<a href={withReturnTo('/login', returnTo)}>{useWords('common').backToLogin}</a>}>
      <Heading text={words.confirmHeading} />
      {passkeySupport() === 'yes' ? (
        <>
          <p class="lead">{words.confirmLead}</p>
          <ContinuesTo returnTo={returnTo} />
          <ByPasskey onAnswered={onAnswered} look="primary" />
        </>
      ) : (
        <Notice kind="error">{words.otherBrowser}</Notice>
      )}
    </Card>
  )
}

const SignInOver = ({ sentence, returnTo }: { sentence: string; returnTo: string | undefined }) => {
  const words = useWords('second-factor')
  return (
    <Card>
      <Heading text={words.heading} />
      <Notice kind="error">{sentence}</Notice>
      <ContinuesTo returnTo={returnTo} />
      <a class="button primary" href={withReturnTo('/login', returnTo)}>
        {words.signInAgain}
      </a>
    </Card>
  )
}

mount(SecondFactor)
