import { useEffect, useState } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import type { LinkState } from '#contract/mailed-links.js'
import type { RefusalCode } from '#contract/refusals.js'
import type { NamedApplication, SecondFactorNeeded, SignedIn } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import {
  correctEmailPath,
  forgetToken,
  redirectAfterSignIn,
  reloadInAskedLanguage,
  returnToInAddress,
  secondFactorPath,
  storedEmail,
  storedReturnTo,
  storeEmail,
  storeReturnTo,
  withReturnTo,
} from '../browser/navigation.js'
import { forgetTyped } from '../browser/storage.js'
import { Card, LoadingCard } from '../components/card.js'
import { CodeField } from '../components/code-field.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { ContinuesTo, GoBack, nameOfApplicationIn } from '../components/from-application.js'
import { Heading, useStepText } from '../components/heading.js'
import { MailIcon } from '../components/icons.js'
import { HelpLink, Notice } from '../components/notice.js'
import { SendAgain } from '../components/send-again.js'
import { useLinkToken, useMailedLink } from '../hooks/mailed-link.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { fill } from '../words/format.js'
import { asksForHelp, useProblems } from '../words/refusals.js'

type Result = keyof typeof results

/**
 * The results after which there is nothing to confirm: the kind of the notice, where the button leads, and the second choice below the
 * card. A link that has expired or was used before may belong to a user who is registered, so signing in is the first thing that is
 * offered there.
 */
const results = {
  already_confirmed: { kind: 'success', to: '/login', action: 'signIn', second: 'none' },
  already_registered: { kind: 'info', to: '/login', action: 'signIn', second: 'none' },
  link_replaced: { kind: 'info', to: '/verify-email', action: 'enterCode', second: 'login' },
  no_registration_waiting: { kind: 'info', to: '/login', action: 'signIn', second: 'register' },
  invalid_link: { kind: 'error', to: '/login', action: 'signIn', second: 'register' },
  username_taken_since: { kind: 'error', to: '/register', action: 'registerAgain', second: 'login' },
  confirmed_now: { kind: 'success', to: '/login', action: 'continue', second: 'none' },
  confirmed_signed_in: { kind: 'success', to: '/login', action: 'continue', second: 'none' },
  signed_in: { kind: 'info', to: '/login', action: 'continue', second: 'none' },
} as const satisfies { [Code in RefusalCode | SignedInResult]?: object }

type SignedInResult = 'confirmed_now' | 'confirmed_signed_in' | 'signed_in'

/** The result for a visitor who may be signed in already: then the page says so, and does not ask for a sign-in. */
const forVisitor = async (found: Result): Promise<Result> => {
  if (found !== 'invalid_link' && found !== 'already_confirmed') return found
  if ((await client.me()).refused) return found
  return found === 'invalid_link' ? 'signed_in' : 'confirmed_signed_in'
}

const resultOf = ({ refused }: Refusal) => (Object.hasOwn(results, refused) ? (refused as Result) : undefined)

const resultOfState: Record<LinkState['state'], Result | undefined> = {
  waiting: undefined,
  confirmed: 'already_confirmed',
  replaced: 'link_replaced',
  unknown: 'invalid_link',
}

const VerifyEmail = () => {
  const token = useLinkToken()
  return token === undefined ? <ByCode /> : <ByLink key={token} token={token} />
}

/** The state if the service does not answer: then the form is shown. */
const unknownLink: LinkState = { state: 'waiting', passwordRequired: false, newerMail: false, codeUsable: false }

const ByLink = ({ token }: { token: string }) => {
  const { found, refusal, ending, endWith } = useMailedLink<LinkState, Result>(async (end) => {
    const answer = await client.checkVerification({ token })
    const result = answer.refused ? undefined : resultOfState[answer.value.state]
    if (result !== undefined) end(await forVisitor(result))
    return answer
  })
  const link = found ?? (refusal && unknownLink)
  const returnTo = storedReturnTo()
  const applicationElsewhere = nameOfApplicationIn(returnTo) === undefined ? link?.application : undefined
  const onResult = async (result: Result) => endWith(await forVisitor(result))
  if (ending !== undefined) {
    const result = ending === 'dead' ? 'invalid_link' : ending
    return <ResultCard result={result} returnTo={returnTo} applicationElsewhere={applicationElsewhere} />
  }
  if (!link) return <LoadingCard />
  return <ConfirmForm token={token} link={link} applicationElsewhere={applicationElsewhere} onResult={onResult} />
}

/** The application that waits in another browser, in which the user continues. */
type ElsewhereProps = { applicationElsewhere?: NamedApplication | undefined }
type ConfirmProps = ElsewhereProps & { token: string; link: LinkState; onResult: (result: Result) => Promise<void> }

const ConfirmForm = ({ token, link, applicationElsewhere, onResult }: ConfirmProps) => {
  const words = useWords('verify-email')
  const common = useWords('common')
  const problemsOf = useProblems({ wrong_chosen_password: 'password' })
  const [asksPassword, setAsksPassword] = useState(link.passwordRequired)
  const wayOut = useWayOut()

  const submit = async ({ password }: Values): Promise<Problems | undefined> => {
    const answer = await client.verifyEmail({ token, password })
    if (!answer.refused) {
      if (!applicationElsewhere || 'next' in answer.value) return continueSignIn(answer.value, storedReturnTo())
      await onResult('confirmed_now')
      return undefined
    }
    const result = resultOf(answer)
    if (answer.refused === 'password_required') setAsksPassword(true)
    else if (result !== undefined) await onResult(result)
    else return problemsOf(answer)
    return undefined
  }

  return (
    <Card footer={asksPassword ? wayOut : undefined}>
      <Heading text={words.heading} step={useStepText(2, 3)} />
      {link.newerMail && <Notice kind="info">{words.newerMail}</Notice>}
      <p class="lead" aria-live="polite">
        {asksPassword ? words.otherBrowser : words.pressToConfirm}
      </p>
      <ContinuesTo returnTo={storedReturnTo()} applicationElsewhere={applicationElsewhere} />
      <Form key={String(asksPassword)} submitLabel={words.confirm} onSubmit={submit}>
        {asksPassword && (
          <Field name="password" label={common.password} type="password" autoComplete="current-password" focused />
        )}
      </Form>
    </Card>
  )
}

/** For a forgotten password. There is no account yet whose password could be reset, so the way out is to register again. */
const useWayOut = () => {
  const words = useWords('verify-email')
  if (useSettings().registration !== 'open') return undefined
  return (
    <>
      {words.passwordForgotten} <a href={withReturnTo('/register', storedReturnTo())}>{words.registerAgain}</a>
    </>
  )
}

const resultOfRegistration = {
  unknown: undefined,
  waiting: undefined,
  confirmed: 'already_confirmed',
  none: 'no_registration_waiting',
} as const

/**
 * The form for the mailed code. If another tab confirms, that tab answers the request of the application. A request can be answered only
 * once, so this tab does not go to the application.
 */
const ByCode = () => {
  const words = useWords('verify-email')
  const { sentAgain } = useWords('common')
  const { tries_used_up: noTriesLeftSentence } = useWords('refusals')
  const problemsOf = useProblems({ invalid_code: 'code' })
  const email = storedEmail()
  // If another tab confirms, that tab removes the stored value. This tab has the value in its address, also after a reload.
  const [returnTo] = useState(() => returnToInAddress() ?? storedReturnTo())
  const [result, setResult] = useState<Result>()
  const [triesUsedUp, setTriesUsedUp] = useState(false)
  const [mailCount, setMailCount] = useState(0)
  const { state: registration, codeUsable } = usePendingRegistration(() =>
    nameOfApplicationIn(returnTo) === undefined ? finish(returnTo) : setResult('confirmed_signed_in'),
  )
  const noTriesLeft = triesUsedUp || !codeUsable
  const step = useStepText(2, 3)
  const sentence = email === undefined ? words.sent : fill(words.sentTo, { email })

  const submit = async ({ code = '' }: Values): Promise<Problems | undefined> => {
    const answer = await client.verifyEmail({ code })
    if (!answer.refused) return continueSignIn(answer.value, returnTo)
    const found = resultOf(answer)
    if (answer.refused === 'tries_used_up') setTriesUsedUp(true)
    else if (found !== undefined) setResult(await forVisitor(found))
    else return problemsOf(answer)
    return undefined
  }

  const ending = result ?? resultOfRegistration[registration]
  if (ending !== undefined) return <ResultCard result={ending} returnTo={returnTo} />
  // Right after registering, the form need not wait for the answer.
  if (registration === 'unknown' && email === undefined) return <LoadingCard />
  return (
    <Card>
      <span class="heading-icon">
        <MailIcon />
      </span>
      <Heading text={words.checkMail} lead={noTriesLeft ? undefined : sentence} focused={!noTriesLeft} step={step} />
      <ContinuesTo returnTo={returnTo} />
      {noTriesLeft ? (
        <Notice kind="error" focused={triesUsedUp}>
          {noTriesLeftSentence}
        </Notice>
      ) : (
        // Each mail gets a new form, because a message in the old one is about an older code.
        <CodeForm key={mailCount} onSubmit={submit} />
      )}
      <p class="card-note">{words.noMail}</p>
      <SendAgain
        send={client.resendVerification}
        sentMessage={sentAgain}
        onSent={() => setMailCount(mailCount + 1)}
        onRefused={(refusal) => setResult(resultOf(refusal))}
      />
      <WrongAddress returnTo={returnTo} />
    </Card>
  )
}

const WrongAddress = ({ returnTo }: { returnTo: string | undefined }) => {
  const words = useWords('verify-email')
  if (useSettings().registration !== 'open') return null
  return (
    <p class="card-note">
      {words.wrongAddress} <a href={withReturnTo(correctEmailPath, returnTo)}>{words.correctAddress}</a>
    </p>
  )
}

const CodeForm = ({ onSubmit }: { onSubmit: (values: Values) => Promise<Problems | undefined> }) => {
  const words = useWords('verify-email')
  return (
    <Form submitLabel={words.submitCode} onSubmit={onSubmit}>
      <CodeField label={words.code} from="mail" hint={words.codeHint} maxLength={32} />
    </Form>
  )
}

type ResultProps = ElsewhereProps & { result: Result; returnTo: string | undefined }

const ResultCard = ({ result, returnTo, applicationElsewhere }: ResultProps) => {
  const words = useWords('verify-email')
  const { kind, to, action, second } = results[result]
  const canEnterCode = useCanEnterCode(action === 'enterCode')
  // Where registration is not open, the user had an invitation.
  const needsInvitation = useSettings().registration !== 'open' && action === 'registerAgain'
  const footer = useResultFooter(second, returnTo)
  const sentences: Record<Result, string> = { ...useWords('refusals'), ...words.signedIn }
  const goesBack = applicationElsewhere && to === '/login'
  const isActionPossible = (action !== 'enterCode' || canEnterCode) && !needsInvitation
  return (
    <Card footer={footer}>
      <Heading text={words.headings[result]} />
      <Notice kind={kind} after={asksForHelp(result) && <HelpLink />}>
        {sentences[result]}
      </Notice>
      {needsInvitation && <p class="card-note">{words.inviteAgain}</p>}
      <ContinuesTo returnTo={returnTo} />
      {goesBack && <GoBack application={applicationElsewhere} />}
      {isActionPossible && !goesBack && (
        // The login page redirects a user who is signed in already.
        <a class="button primary" href={withReturnTo(to, returnTo)}>
          {words[action]}
        </a>
      )}
    </Card>
  )
}

const useResultFooter = (second: (typeof results)[Result]['second'], returnTo: string | undefined) => {
  const words = useWords('verify-email')
  const common = useWords('common')
  const { registration } = useSettings()
  if (second === 'login') return <a href={withReturnTo('/login', returnTo)}>{common.backToLogin}</a>
  if (second === 'none' || registration !== 'open') return undefined
  return (
    <>
      {words.notRegistered} <a href={withReturnTo('/register', returnTo)}>{words.register}</a>
    </>
  )
}

/** A code can be entered only in a browser that has a pending registration. */
const useCanEnterCode = (isOffered: boolean) => {
  const [canEnter, setCanEnter] = useState(false)
  useEffect(() => {
    const ask = async () => {
      const answer = await client.checkVerification()
      setCanEnter(!answer.refused && answer.value.state === 'waiting')
    }
    if (isOffered) void ask()
  }, [isOffered])
  return canEnter
}

const forgetRegistration = () => {
  forgetToken()
  storeReturnTo(undefined)
  storeEmail(undefined)
  forgetTyped()
}

const finish = (returnTo: string | undefined) => {
  forgetRegistration()
  redirectAfterSignIn(returnTo)
}

/** The user is signed in, or has to add a second factor first. */
const continueSignIn = (answer: SignedIn | SecondFactorNeeded, returnTo: string | undefined) => {
  forgetRegistration()
  if ('next' in answer) location.replace(withReturnTo(secondFactorPath(3), returnTo))
  else redirectAfterSignIn(returnTo)
  return undefined
}

type State = 'unknown' | 'waiting' | 'confirmed' | 'none'
type Known = { state: State; codeUsable: boolean }

const pollInterval = 20_000

/**
 * The state of the registration that this browser started. It may be confirmed in another tab (`onSignedIn` is called then)
 * or on another device, so the service is asked again from time to time while the tab is visible.
 */
export const usePendingRegistration = (onSignedIn: () => void) => {
  const [{ state, codeUsable }, setKnown] = useState<Known>({ state: 'unknown', codeUsable: true })
  const handleSignedIn = useStableCallback(onSignedIn)

  useEffect(() => client.onChange(({ user, by }) => user && by === 'other_tab' && handleSignedIn()), [])
  useEffect(() => {
    if (state !== 'unknown' && state !== 'waiting') return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const check = async () => {
      clearTimeout(timer)
      if (document.visibilityState === 'hidden') return
      const next = await askForState()
      if (next === 'signed-in') return handleSignedIn()
      setKnown(next)
      if (next.state === 'waiting') checkLater()
    }
    const checkLater = () => {
      clearTimeout(timer)
      timer = setTimeout(() => void check(), pollInterval)
    }
    const onVisible = () => void check()
    if (state === 'unknown') void check()
    else checkLater()
    document.addEventListener('visibilitychange', onVisible)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisible)
    }
  }, [state])
  return { state, codeUsable }
}

const askForState = async (): Promise<Known | 'signed-in'> => {
  const answer = await client.checkVerification()
  // If the service does not answer, the form stays.
  if (answer.refused) return { state: 'waiting', codeUsable: true }
  const { state, codeUsable } = answer.value
  if (state === 'waiting' || state === 'confirmed') return { state, codeUsable }
  // The browser forgets its registration when it confirms it, perhaps in a tab whose message did not arrive.
  const me = await client.me()
  return me.refused ? { state: 'none', codeUsable } : 'signed-in'
}

if (!reloadInAskedLanguage()) mount(VerifyEmail)
