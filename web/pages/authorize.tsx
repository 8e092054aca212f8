import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { createApplicationPageCalls } from '#client/application-page-calls.js'
import { type Answer, isTemporary, type Refusal } from '#client/client.js'
import type { Authorization } from '#contract/authorization.js'
import { authorizePath, rememberApplication } from '../browser/applications.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { queryValue, withReturnTo } from '../browser/navigation.js'
import { readSettings } from '../browser/settings.js'
import { keepTypedLogin, loginTypedBefore } from '../browser/typed-values.js'
import { Button } from '../components/button.js'
import { Card } from '../components/card.js'
import { Heading } from '../components/heading.js'
import { HelpLink } from '../components/help-link.js'
import { LoadingCard } from '../components/loading-card.js'
import { Notice } from '../components/notice.js'
import { PageNotLoaded } from '../components/page-not-loaded.js'
import { leaving } from '../hooks/busy.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable-callback.js'
import { StepUpForm } from '../step-up/step-up-form.js'
import { fill } from '../words/format.js'
import { useRefusalSentence } from '../words/refusals.js'

const authorization = createApplicationPageCalls(client)

/** The parameters of the application: sent as a form, or in the URL. */
const sentParameters = () => readSettings().parameters ?? location.search.slice(1)

/** A request that is stored stands alone in the address. `request` beside other parameters is one of the protocol. */
const storedRequest = () => (queryValue('client_id') === undefined ? queryValue('request') : undefined)

/** Asking who is signed in renews the session. While that cannot be known, only an application that waits in silence gets an answer. */
const askNext = async (): Promise<Answer<Authorization>> => {
  const caller = await client.me()
  const request = storedRequest()
  if (request !== undefined) return caller.refused && isTemporary(caller) ? caller : authorization.ask({ request })
  const parameters = sentParameters()
  const isSilent = new URLSearchParams(parameters).get('prompt') === 'none'
  return caller.refused && isTemporary(caller) && !isSilent ? caller : authorization.ask({ parameters })
}

const addressOf = (request: string) => {
  const locales = new URLSearchParams(sentParameters()).get('ui_locales')
  const language = locales === null ? '' : `&ui_locales=${encodeURIComponent(locales.slice(0, 64))}`
  return `${authorizePath}?request=${encodeURIComponent(request)}${language}`
}

/** Goes on without a question. True if the page is left. */
const goOn = ({ next, request, application, location: address }: Authorization) => {
  const hint = new URLSearchParams(sentParameters()).get('login_hint')
  if (request !== undefined && storedRequest() === undefined) history.replaceState(null, '', addressOf(request))
  if (next === 'done' && address !== undefined) {
    location.replace(address)
    return true
  }
  if (request !== undefined && application) rememberApplication(request, application.name)
  if (next !== 'sign_in') return false
  if (hint !== null && !loginTypedBefore()) keepTypedLogin(hint.slice(0, 254))
  signIn('sign_in')
  return true
}

const here = () => location.pathname + location.search

const signIn = (notice: 'sign_in' | 'other_account') =>
  location.replace(withReturnTo(`/login?notice=${notice}`, here()))

/** `isAnswer`: what failed is the answer that the user has pressed. */
type State = { asked: Authorization } | { refused: Refusal; isAnswer: boolean } | 'waiting'

const Authorize = () => {
  const [state, setState] = useState<State>('waiting')
  const questionCount = useRef(0)
  const show = (answer: Answer<Authorization>, isAnswer = false) => {
    if (answer.refused) setState({ refused: answer, isAnswer })
    else if (goOn(answer.value)) setState('waiting')
    else {
      questionCount.current += 1
      setState({ asked: answer.value })
    }
  }
  const load = useStableCallback(async () => show(await askNext()))
  useEffect(() => {
    void load()
  }, [])

  if (state === 'waiting') return <LoadingCard />
  if ('asked' in state)
    return <Question {...state.asked} replaces={questionCount.current > 1} show={show} load={load} />
  return <Refused {...state} onTryAgain={load} />
}

type RefusedProps = { refused: Refusal; isAnswer: boolean; onTryAgain: () => Promise<void> }

const Refused = ({ refused, isAnswer, onTryAgain }: RefusedProps) => {
  const { answerHeading: heading, answerLead: lead } = useWords('authorize')
  if (refused.refused === 'not_authenticated') signIn('sign_in')
  if (refused.status === 400) return <Unanswerable refused={refused} />
  const sent = isAnswer ? { heading, lead } : undefined
  return <PageNotLoaded refused={refused} returnTo={here()} sent={sent} onTryAgain={onTryAgain} />
}

/** The application has sent something that must not be answered. An operator finds the reason by the reference. */
const Unanswerable = ({ refused }: { refused: Refusal }) => {
  const words = useWords('authorize')
  const { toAccount } = useWords('step-up')
  const sentenceOf = useRefusalSentence()
  return (
    <Card footer={<a href="/api/auth/account-page">{toAccount}</a>}>
      <Heading text={words.errorHeading} />
      <Notice kind="error">{sentenceOf(refused)}</Notice>
      <p class="card-note">{words.errorLead}</p>
    </Card>
  )
}

type Asked = Authorization & {
  /** Another question was here, and the button that had the focus. */
  replaces: boolean
  show: (answer: Answer<Authorization>, isAnswer?: boolean) => void
  load: () => Promise<void>
}
type Values = { application: string; username: string }

const valuesOf = ({ application, user }: Authorization): Values => ({
  application: application?.name ?? '',
  username: user?.username ?? '',
})

const Question = (asked: Asked) => {
  const Step = steps[asked.next]
  return Step ? <Step {...asked} /> : <StartAgain {...asked} />
}

/** Sends what the user has pressed. It counts for the user whose name is on the page. */
const useAnswerButton =
  ({ request = '', user, show }: Asked) =>
  async (answer: 'continue' | 'deny') => {
    show(await authorization.answer({ request, user: user?.id ?? '', answer }), true)
    return leaving
  }

type PageProps = {
  asked: Asked
  heading: string
  lead: string
  back?: string
  /** The button that goes on. Without one, another account is the way to go on. */
  action?: ComponentChildren
  children?: ComponentChildren
}

/** Every question has two ways out: another account, and back to the application. */
const QuestionCard = ({ asked, heading, lead, back, action, children }: PageProps) => {
  const words = useWords('authorize')
  const send = useAnswerButton(asked)
  const isOnlyWay = !action && !children
  return (
    <Card>
      <Heading text={fill(heading, valuesOf(asked))} focused={asked.replaces} />
      <p class="lead">
        {fill(lead, valuesOf(asked))} {asked.next === 'no_access' && <HelpLink />}
      </p>
      {children}
      <div class="other-way">
        {action}
        <Button {...(isOnlyWay && { look: 'primary' })} onPress={() => signIn('other_account')}>
          {words.otherAccount}
        </Button>
        <Button look="quiet" onPress={() => send('deny')}>
          {fill(back ?? words.cancel, valuesOf(asked))}
        </Button>
      </div>
    </Card>
  )
}

const ContinueButton = ({ asked, text }: { asked: Asked; text: string }) => {
  const send = useAnswerButton(asked)
  return (
    <Button look="primary" onPress={() => send('continue')}>
      {text}
    </Button>
  )
}

const Choose = (asked: Asked) => {
  const words = useWords('authorize')
  const action = <ContinueButton asked={asked} text={fill(words.continueAs, valuesOf(asked))} />
  return <QuestionCard asked={asked} heading={words.chooseHeading} lead={words.chooseLead} action={action} />
}

const Consent = (asked: Asked) => {
  const words = useWords('authorize')
  const action = <ContinueButton asked={asked} text={words.agree} />
  return (
    <QuestionCard asked={asked} heading={words.consentHeading} lead={words.consentLead} action={action}>
      <ul class="points">
        {asked.scopes?.map((scope) => (
          <li key={scope}>{words.scopes[scope]}</li>
        ))}
      </ul>
      <p class="card-note">{words.consentEnds}</p>
    </QuestionCard>
  )
}

const NoAccess = (asked: Asked) => {
  const words = useWords('authorize')
  return <QuestionCard asked={asked} heading={words.noAccessHeading} lead={words.noAccess} back={words.back} />
}

const Prove = (asked: Asked) => {
  const words = useWords('authorize')
  const { methods = [], user, load } = asked
  return (
    <QuestionCard asked={asked} heading={words.proveHeading} lead={words.proveLead}>
      <StepUpForm
        methods={methods}
        username={user?.username ?? ''}
        onProven={() => void load()}
        onSignedOut={() => signIn('sign_in')}
        withoutPasskey={<AddFactor look="" />}
      />
    </QuestionCard>
  )
}

/** The account page leads back here when the user has added a factor, and the request goes on. */
const AddFactor = ({ look }: { look: 'primary' | '' }) => (
  <a class={`button ${look}`} href={`${withReturnTo('/api/auth/account-page', here())}#two-step`}>
    {useWords('authorize').toAccount}
  </a>
)

const Enrol = (asked: Asked) => {
  const words = useWords('authorize')
  const action = <AddFactor look="primary" />
  return <QuestionCard asked={asked} heading={words.enrolHeading} lead={words.enrolLead} action={action} />
}

const StartAgain = ({ application, replaces }: Asked) => {
  const words = useWords('authorize')
  const { startAt } = useWords('common')
  return (
    <Card>
      <Heading text={words.startHeading} focused={replaces} />
      <p class="lead">{application ? words.startLead : `${words.startLead} ${words.startUnknown}`}</p>
      {application && (
        <a class="button primary" href={application.home}>
          {fill(startAt, { application: application.name })}
        </a>
      )}
    </Card>
  )
}

const steps: Partial<Record<Authorization['next'], (asked: Asked) => preact.JSX.Element>> = {
  choose: Choose,
  consent: Consent,
  no_access: NoAccess,
  prove: Prove,
  enrol: Enrol,
}

mount(Authorize)
