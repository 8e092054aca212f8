import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { createApplicationPageCalls } from '#client/application-page-calls.js'
import { type Answer, isTemporary, type Refusal } from '#client/client.js'
import type { Authorization, OpenidScope } from '#contract/openid.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { queryValue, withReturnTo } from '../browser/navigation.js'
import { readSettings } from '../browser/settings.js'
import { keepTypedLogin, loginTypedBefore } from '../browser/storage.js'
import { Button, staysBusy } from '../components/button.js'
import { Card, LoadingCard, PageNotLoaded } from '../components/card.js'
import { authorizePath, rememberApplication } from '../components/from-application.js'
import { Heading } from '../components/heading.js'
import { AlertIcon } from '../components/icons.js'
import { HelpLink, Notice } from '../components/notice.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { StepUpForm } from '../sign-in/step-up.js'
import { fill } from '../words/format.js'
import { useRefusalSentence } from '../words/refusals.js'

const authorization = createApplicationPageCalls(client)

/** The parameters that the application has sent, as a form or in the URL. */
const sentParameters = () => readSettings().parameters ?? location.search.slice(1)

/** The id of a stored request, which stands alone in the address. Beside a `client_id`, `request` is a parameter of the protocol. */
const storedRequestId = () => (queryValue('client_id') === undefined ? queryValue('request') : undefined)

/**
 * Asks who is signed in, which renews the session, and then for the next step. While the service cannot say who is signed in, only an
 * application that asked with `prompt=none` gets an answer.
 */
const askNext = async (): Promise<Answer<Authorization>> => {
  const caller = await client.me()
  const request = storedRequestId()
  if (request !== undefined) return caller.refused && isTemporary(caller) ? caller : authorization.ask({ request })
  const parameters = sentParameters()
  const isSilent = new URLSearchParams(parameters).get('prompt') === 'none'
  return caller.refused && isTemporary(caller) && !isSilent ? caller : authorization.ask({ parameters })
}

const storedRequestAddress = (request: string) => {
  const locales = new URLSearchParams(sentParameters()).get('ui_locales')
  const language = locales === null ? '' : `&ui_locales=${encodeURIComponent(locales.slice(0, 64))}`
  return `${authorizePath}?request=${encodeURIComponent(request)}${language}`
}

/** Continues where no question is needed. True if the page is left. */
const goOn = ({ next, request, application, location: address }: Authorization) => {
  const hint = new URLSearchParams(sentParameters()).get('login_hint')
  if (request !== undefined && storedRequestId() === undefined)
    history.replaceState(null, '', storedRequestAddress(request))
  if (next === 'done' && address !== undefined) {
    location.replace(address)
    return false
  }
  if (request !== undefined && application) rememberApplication(request, application.name)
  if (next !== 'sign_in') return false
  if (hint !== null && !loginTypedBefore()) keepTypedLogin(hint.slice(0, 254))
  signIn('sign_in')
  return true
}

/** A browser on a slow line needs so long to show the next page, in milliseconds. */
const timeToLeave = 5_000

const here = () => location.pathname + location.search

const signIn = (notice: 'sign_in' | 'other_account') =>
  location.replace(withReturnTo(`/login?notice=${notice}`, here()))

/** `isAnswer`: the request that failed is the one with the user's answer. */
type State = { question: Authorization } | { refusal: Refusal; isAnswer: boolean } | 'waiting'

/** A page that is left for a program stays where it is, and so may one whose address a program has claimed. */
const Left = ({ application, location: address = '' }: Authorization) => {
  const words = useWords('authorize')
  const isPage = /^https?:/.test(address)
  const [isOver, setOver] = useState(!isPage)
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), timeToLeave)
    return () => clearTimeout(timer)
  }, [])
  if (!isOver) return <LoadingCard />
  return (
    <Card>
      <Heading
        text={words.closeHeading}
        lead={fill(words.closeLead, { application: application?.name ?? '' })}
        focused
      />
    </Card>
  )
}

const Authorize = () => {
  const [state, setState] = useState<State>('waiting')
  const questionCount = useRef(0)
  const show = (answer: Answer<Authorization>, isAnswer = false) => {
    if (answer.refused) setState({ refusal: answer, isAnswer })
    else if (goOn(answer.value)) setState('waiting')
    else {
      questionCount.current += 1
      setState({ question: answer.value })
    }
  }
  const load = useStableCallback(async () => show(await askNext()))
  useEffect(() => {
    void load()
  }, [])

  if (state === 'waiting') return <LoadingCard />
  if ('question' in state)
    return (
      // Each question gets new buttons, because a button that was pressed stays busy.
      <Question
        key={questionCount.current}
        {...state.question}
        takesFocus={questionCount.current > 1}
        show={show}
        load={load}
      />
    )
  return <Refused {...state} onTryAgain={load} />
}

type RefusedProps = { refusal: Refusal; isAnswer: boolean; onTryAgain: () => Promise<void> }

const Refused = ({ refusal, isAnswer, onTryAgain }: RefusedProps) => {
  const { answerHeading: heading, answerLead: lead } = useWords('authorize')
  if (refusal.refused === 'not_authenticated') signIn('sign_in')
  if (refusal.status === 400) return <Unanswerable refusal={refusal} />
  const failureTexts = isAnswer ? { heading, lead } : undefined
  return <PageNotLoaded refusal={refusal} returnTo={here()} failureTexts={failureTexts} onTryAgain={onTryAgain} />
}

/** The application has sent a request that must not be answered. An operator finds the reason by the reference on the page. */
const Unanswerable = ({ refusal }: { refusal: Refusal }) => {
  const words = useWords('authorize')
  const { toAccount } = useWords('step-up')
  const sentenceOf = useRefusalSentence()
  return (
    <Card footer={<a href="/api/auth/account-page">{toAccount}</a>}>
      <Heading text={words.errorHeading} />
      <Notice kind="error">{sentenceOf(refusal)}</Notice>
      <p class="card-note">{words.errorLead}</p>
    </Card>
  )
}

type QuestionProps = Authorization & {
  /** Another question was shown before. Its button had the focus and is gone, so the heading takes the focus. */
  takesFocus: boolean
  show: (answer: Answer<Authorization>, isAnswer?: boolean) => void
  load: () => Promise<void>
}
type Values = { application: string; username: string }

const valuesOf = ({ application, user }: Authorization): Values => ({
  application: application?.name ?? '',
  username: user?.username ?? '',
})

const Question = (question: QuestionProps) => {
  if (question.next === 'done' && question.location !== undefined) return <Left {...question} />
  const Step = steps[question.next]
  return Step ? <Step {...question} /> : <StartAgain {...question} />
}

/** Returns the function that sends the answer of the user. The answer counts only for the user whose name is on the page. */
const answerSender =
  ({ request = '', user, show }: QuestionProps) =>
  async (answer: 'continue' | 'deny') => {
    show(await authorization.answer({ request, user: user?.id ?? '', answer }), true)
    return staysBusy
  }

/** Beside the heading of a question about trust. The name says the same, so it is not read out. */
const ApplicationIcon = ({ icon }: QuestionProps) =>
  icon == null ? null : <img class="application-icon" src={icon} alt="" width="48" height="48" />

type PageProps = {
  question: QuestionProps
  heading: string
  lead: string
  back?: string
  /** The button that continues. Without it, the user can only continue with another account. */
  action?: ComponentChildren
  children?: ComponentChildren
}

/** A card with a question. Below its own button are two more: for another account, and back to the application. */
const QuestionCard = ({ question, heading, lead, back, action, children }: PageProps) => {
  const words = useWords('authorize')
  const send = answerSender(question)
  const isOtherAccountOnlyWay = !action && !children
  return (
    <Card>
      <ApplicationIcon {...question} />
      <Heading text={fill(heading, valuesOf(question))} focused={question.takesFocus} />
      <p class="lead">
        {fill(lead, valuesOf(question))} {question.next === 'no_access' && <HelpLink />}
      </p>
      {children}
      <div class="other-way">
        {action}
        <Button {...(isOtherAccountOnlyWay && { look: 'primary' })} onPress={() => signIn('other_account')}>
          {words.otherAccount}
        </Button>
        <Button look="quiet" onPress={() => send('deny')}>
          {fill(back ?? words.cancel, valuesOf(question))}
        </Button>
      </div>
    </Card>
  )
}

const ContinueButton = ({ question, text }: { question: QuestionProps; text: string }) => {
  const send = answerSender(question)
  return (
    <Button look="primary" onPress={() => send('continue')}>
      {text}
    </Button>
  )
}

const Choose = (question: QuestionProps) => {
  const words = useWords('authorize')
  const action = <ContinueButton question={question} text={fill(words.continueAs, valuesOf(question))} />
  return <QuestionCard question={question} heading={words.chooseHeading} lead={words.chooseLead} action={action} />
}

/** About a program that the heading names, in one list: where it comes from counts more than its name. */
const ProgramFacts = ({ application, ownSession, resource }: QuestionProps) => {
  const words = useWords('authorize')
  const place = { host: ownSession?.destination.host ?? '' }
  const destinations = {
    computer: words.onThisComputer,
    program: fill(words.onThisDevice, place),
    site: place.host,
  }
  const facts: [string, string | undefined][] = [
    [words.comesFrom, ownSession ? ownSession.host : application && new URL(application.home).host],
    [words.usesResource, resource && `${resource.name} (${resource.address})`],
    [words.answersTo, ownSession && destinations[ownSession.destination.kind]],
  ]
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

const StaysSignedIn = ({ destination, days }: NonNullable<Authorization['ownSession']>) => {
  const words = useWords('authorize')
  const text = destination.kind === 'site' ? words.staysSignedInThere : words.staysSignedIn
  return <p class="card-note">{fill(text, { days: String(days) })}</p>
}

/** How much of what a program says about itself is certain. Of one on this computer not even its host: any other can take its id. */
const useProgramWarning = ({ application, ownSession }: QuestionProps) => {
  const words = useWords('authorize')
  if (ownSession?.destination.kind === 'computer')
    return fill(words.anyProgram, { application: application?.name ?? '' })
  return ownSession?.host === undefined ? undefined : fill(words.claimedName, { host: ownSession.host })
}

/** What an application gets to know, with the values that it would get. */
const SharedList = ({
  scopes,
  shared = {},
}: {
  scopes: readonly OpenidScope[] | undefined
  shared: Authorization['shared']
}) => {
  const words = useWords('authorize')
  return (
    <ul class="points">
      {scopes?.map((scope) => (
        <li key={scope}>
          {words.scopes[scope]}
          {shared[scope] !== undefined && <span class="shared"> ({shared[scope]})</span>}
        </li>
      ))}
    </ul>
  )
}

/** What the program may do, in the words of the operator, and what it learns of the user. */
const ProgramConsent = (question: QuestionProps) => {
  const words = useWords('authorize')
  const { user, resource, ownSession, scopes = [] } = question
  const warning = useProgramWarning(question)
  const names = { ...valuesOf(question), resource: resource?.name ?? '' }
  const allScopes = scopes.some((scope) => scope === 'openid') ? scopes : (['openid', ...scopes] as const)
  const known: Readonly<Record<string, string>> = words.scopes
  const send = answerSender(question)
  return (
    <Card>
      <ApplicationIcon {...question} />
      <Heading text={fill(words.programHeading, names)} focused={question.takesFocus} />
      <ProgramFacts {...question} />
      {warning !== undefined && (
        <div class="notice">
          <AlertIcon />
          <div>{warning}</div>
        </div>
      )}
      <p class="lead">{fill(words.programLead, { ...names, username: user?.username ?? '' })}</p>
      <ul class="points">
        {resource?.scopes.map(({ name, description }) => (
          <li key={name}>{description ?? known[name] ?? name}</li>
        ))}
      </ul>
      <p>{words.programLearns}</p>
      <SharedList scopes={allScopes} shared={question.shared} />
      {ownSession && <StaysSignedIn {...ownSession} />}
      <div class="other-way">
        <ContinueButton question={question} text={words.allow} />
        <Button onPress={() => send('deny')}>{words.doNotAllow}</Button>
        <Button look="quiet" onPress={() => signIn('other_account')}>
          {words.otherAccount}
        </Button>
      </div>
    </Card>
  )
}

const Consent = (question: QuestionProps) =>
  question.resource ? <ProgramConsent {...question} /> : <Share {...question} />

const Share = (question: QuestionProps) => {
  const words = useWords('authorize')
  const { ownSession } = question
  const action = <ContinueButton question={question} text={words.agree} />
  return (
    <QuestionCard question={question} heading={words.consentHeading} lead={words.consentLead} action={action}>
      <SharedList scopes={question.scopes} shared={question.shared} />
      <ProgramFacts {...question} />
      {ownSession ? <StaysSignedIn {...ownSession} /> : <p class="card-note">{words.consentEnds}</p>}
    </QuestionCard>
  )
}

const NoAccess = (question: QuestionProps) => {
  const words = useWords('authorize')
  return <QuestionCard question={question} heading={words.noAccessHeading} lead={words.noAccess} back={words.back} />
}

const Prove = (question: QuestionProps) => {
  const words = useWords('authorize')
  const { methods = [], user, load } = question
  return (
    <QuestionCard question={question} heading={words.proveHeading} lead={words.proveLead}>
      <StepUpForm
        methods={methods}
        username={user?.username ?? ''}
        onProven={() => void load()}
        onSignedOut={() => signIn('sign_in')}
        insteadOfSignIn={<AddFactor look="" />}
      />
    </QuestionCard>
  )
}

/** A link to the account page, which leads back here when the user has added a factor. Then the request continues. */
const AddFactor = ({ look }: { look: 'primary' | '' }) => (
  <a class={`button ${look}`} href={`${withReturnTo('/api/auth/account-page', here())}#two-step`}>
    {useWords('authorize').toAccount}
  </a>
)

const Enrol = (question: QuestionProps) => {
  const words = useWords('authorize')
  const action = <AddFactor look="primary" />
  return <QuestionCard question={question} heading={words.enrolHeading} lead={words.enrolLead} action={action} />
}

const StartAgain = ({ application, takesFocus }: QuestionProps) => {
  const words = useWords('authorize')
  const { startAt } = useWords('common')
  return (
    <Card>
      <Heading text={words.startHeading} focused={takesFocus} />
      <p class="lead">{application ? words.startLead : `${words.startLead} ${words.startUnknown}`}</p>
      {application && (
        <a class="button primary" href={application.home}>
          {fill(startAt, { application: application.name })}
        </a>
      )}
    </Card>
  )
}

const steps: Partial<Record<Authorization['next'], (question: QuestionProps) => preact.JSX.Element>> = {
  choose: Choose,
  consent: Consent,
  no_access: NoAccess,
  prove: Prove,
  enrol: Enrol,
}

mount(Authorize)
