import { useEffect, useState } from 'preact/hooks'
import { createApplicationPageCalls } from '#client/application-page-calls.js'
import { type Answer, isTemporary, type Refusal } from '#client/client.js'
import type { EndSession } from '#contract/openid.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { readSettings } from '../browser/settings.js'
import { Button, staysBusy } from '../components/button.js'
import { Card, LoadingCard, PageNotLoaded } from '../components/card.js'
import { Heading } from '../components/heading.js'
import { Notice } from '../components/notice.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { fill } from '../words/format.js'

const calls = createApplicationPageCalls(client)

/** The parameters that the application has sent, as a form or in the URL. */
const sentParameters = () => readSettings().parameters ?? location.search.slice(1)

/** Asking who is signed in renews the session, so that the answer can name the user. */
const ask = async (): Promise<Answer<EndSession>> => {
  const caller = await client.me()
  return caller.refused && isTemporary(caller) ? caller : calls.endSession({ parameters: sentParameters() })
}

type State = { answer: EndSession } | { staysSignedIn: EndSession } | { refusal: Refusal } | 'waiting'

/** An application asks to sign its user out. The service decides whether the user is asked first. */
const EndSessionPage = () => {
  const [state, setState] = useState<State>('waiting')

  const show = (response: Answer<EndSession>) => {
    if (response.refused) return setState({ refusal: response })
    const { location: address } = response.value
    if (address === undefined) return setState({ answer: response.value })
    location.replace(address)
    return staysBusy
  }
  const load = useStableCallback(async () => {
    show(await ask())
  })
  useEffect(() => {
    void load()
  }, [])

  if (state === 'waiting') return <LoadingCard />
  if ('staysSignedIn' in state) return <Stayed {...state.staysSignedIn} />
  if ('refusal' in state) return <PageNotLoaded refusal={state.refusal} onTryAgain={load} />
  const { answer } = state
  if (answer.next === 'done') return <Ended {...answer} />
  const confirm = async () => show(await calls.endSession({ parameters: sentParameters(), confirmed: true }))
  return <Question answer={answer} onConfirm={confirm} onStay={() => setState({ staysSignedIn: answer })} />
}

type QuestionProps = { answer: EndSession; onConfirm: () => Promise<unknown>; onStay: () => void }

const Question = ({ answer, onConfirm, onStay }: QuestionProps) => {
  const words = useWords('end-session')
  const { productName } = useSettings()
  const { application, user, problem } = answer
  return (
    <Card>
      <Heading text={words.heading} />
      <p class="lead">
        {fill(application ? words.leadOf : words.lead, { name: application?.name ?? '', product: productName })}
      </p>
      {user && <p class="card-note">{fill(words.signedInAs, user)}</p>}
      {problem && <Notice kind="error">{words.problems[problem]}</Notice>}
      <div class="other-way">
        <Button look="primary" onPress={onConfirm}>
          {words.confirm}
        </Button>
        <Button onPress={onStay}>{words.stay}</Button>
      </div>
    </Card>
  )
}

type NextProps = { answer: EndSession; elsewhere: { href: string; text: string } }

/** Back to the application; without one, the button leads where the link below would. */
const Next = ({ answer: { application }, elsewhere }: NextProps) => {
  const words = useWords('end-session')
  return application ? (
    <a class="button primary" href={application.home}>
      {fill(words.backTo, { name: application.name })}
    </a>
  ) : (
    <a class="button primary" href={elsewhere.href}>
      {elsewhere.text}
    </a>
  )
}

const linkBelow = ({ application }: EndSession, { href, text }: NextProps['elsewhere']) =>
  application && <a href={href}>{text}</a>

const Ended = (answer: EndSession) => {
  const words = useWords('end-session')
  const { problem } = answer
  const elsewhere = { href: '/login', text: useWords('common').backToLogin }
  return (
    <Card footer={linkBelow(answer, elsewhere)}>
      <Heading text={words.doneHeading} focused />
      <Notice kind="success">{words.done}</Notice>
      {problem && <Notice kind="error">{words.problems[problem]}</Notice>}
      <Next answer={answer} elsewhere={elsewhere} />
    </Card>
  )
}

const Stayed = (answer: EndSession) => {
  const words = useWords('end-session')
  const elsewhere = { href: '/api/auth/account-page', text: useWords('step-up').toAccount }
  return (
    <Card footer={linkBelow(answer, elsewhere)}>
      <Heading text={words.stayedHeading} focused />
      <Notice kind="success">{words.stayed}</Notice>
      <Next answer={answer} elsewhere={elsewhere} />
    </Card>
  )
}

mount(EndSessionPage)
