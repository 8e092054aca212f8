import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { createApplicationPageCalls } from '#client/application-page-calls.js'
import type { Answer, Refusal } from '#client/client.js'
import type { DeviceState } from '#contract/device-request.js'
import type { ProofMethod } from '#contract/proofs.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { redirectToLogin, withReturnTo } from '../browser/navigation.js'
import { Button } from '../components/button.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { HelpLink } from '../components/help-link.js'
import { LoadingCard } from '../components/loading-card.js'
import { Notice } from '../components/notice.js'
import { PageNotLoaded } from '../components/page-not-loaded.js'
import { staysBusy } from '../hooks/busy.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable-callback.js'
import { StepUpForm } from '../step-up/step-up-form.js'
import { timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'

const calls = createApplicationPageCalls(client)

/** The code of a link. It is filled in, and nothing is asked about it before a press: links could use up the tries of the visitor. */
const codeInAddress = () => {
  const text = location.hash.slice(1)
  try {
    return decodeURIComponent(text).slice(0, 64)
  } catch {
    // An address that was cut or mistyped.
    return text.slice(0, 64)
  }
}

const here = () => location.pathname + location.hash

/** `proof`: what the user proves before the approval that was pressed is sent again. */
type Shown = { asked: DeviceState; proof?: readonly ProofMethod[] | undefined }
type State = 'waiting' | 'enter' | Shown | { refused: Refusal }

const Device = () => {
  const [state, setState] = useState<State>('waiting')
  const screens = useRef(0)
  const change = (next: State) => {
    screens.current += 1
    setState(next)
  }
  const show = (answer: Answer<DeviceState>) => {
    if (!answer.refused) return change({ asked: answer.value })
    if (answer.refused === 'not_authenticated') return redirectToLogin('connect_device')
    return change({ refused: answer })
  }
  const load = useStableCallback(async () => {
    const caller = await client.me()
    return caller.refused === 'not_authenticated' ? redirectToLogin('connect_device') : change('enter')
  })
  useEffect(() => {
    void load()
  }, [])

  const replaces = screens.current > 1
  if (state === 'waiting') return <LoadingCard />
  if (state === 'enter') return <EnterCode replaces={replaces} onFound={(asked) => change({ asked })} />
  if ('refused' in state) return <PageNotLoaded refused={state.refused} returnTo={here()} onTryAgain={load} />
  const props = {
    ...state,
    replaces,
    show,
    onProof: (proof: readonly ProofMethod[] | undefined) => change({ asked: state.asked, proof }),
    onOtherCode: () => {
      history.replaceState(null, '', location.pathname)
      change('enter')
    },
  }
  return state.proof ? <Prove {...props} proof={state.proof} /> : <Question {...props} />
}

const EnterCode = ({ replaces, onFound }: { replaces: boolean; onFound: (asked: DeviceState) => void }) => {
  const words = useWords('device')
  const problemsOf = useProblems({ unknown_device_code: 'code' })
  const submit = async ({ code = '' }: Values) => {
    const answer = await calls.askDevice(code)
    if (answer.refused === 'not_authenticated') redirectToLogin('connect_device')
    if (answer.refused) return problemsOf(answer)
    onFound(answer.value)
    return undefined
  }
  const code = codeInAddress()
  return (
    <Card footer={<ToAccount />}>
      <Heading text={words.enterHeading} focused={replaces} />
      <p class="lead">{code === '' ? words.enterLead : words.linkLead}</p>
      <Form submitLabel={words.submit} onSubmit={submit}>
        <Field
          name="code"
          label={words.code}
          hint={words.codeHint}
          autoComplete="off"
          maxLength={64}
          defaultValue={code}
          code
          focused
        />
      </Form>
    </Card>
  )
}

const ToAccount = () => <a href="/api/auth/account-page">{useWords('step-up').toAccount}</a>

type Asked = Shown & {
  /** Something else was here, with the button that had the focus. */
  replaces: boolean
  show: (answer: Answer<DeviceState>) => void
  onProof: (methods: readonly ProofMethod[] | undefined) => void
  onOtherCode: () => void
}

const valuesOf = ({ asked: { application, user } }: Asked) => ({
  application: application.name,
  username: user.username,
})

const useAnswer =
  ({ asked: { code, user }, show, onProof }: Asked) =>
  async (answer: 'approve' | 'deny') => {
    const sent = await calls.answerDevice({ code, user: user.id, answer })
    if (sent.refused === 'fresh_sign_in_required') onProof(sent.methods ?? [])
    else if (!sent.refused && sent.value.next === 'prove') onProof(sent.value.methods ?? [])
    else show(sent)
    return staysBusy
  }

const Question = (props: Asked) => {
  const { next } = props.asked
  if (next === 'approved' || next === 'denied') return <Answered key={next} {...props} />
  if (next === 'no_access' || next === 'enrol' || next === 'sign_in') return <Impossible {...props} />
  return <Approval {...props} />
}

const Approval = (props: Asked) => {
  const words = useWords('device')
  const { scopes } = useWords('authorize')
  const { asked, replaces } = props
  const send = useAnswer(props)
  return (
    <Card footer={<ToAccount />}>
      <Heading text={fill(words.heading, valuesOf(props))} focused={replaces} />
      <p class="lead">{words.compare}</p>
      <p class="device-code">{asked.code}</p>
      {/* No message that appears a moment later: it must be there before the buttons are, and must not move them. */}
      <p class="device-warning">{words.warning}</p>
      <Facts {...asked} />
      <p>{fill(words.sharesLead, valuesOf(props))}</p>
      <ul class="points">
        {asked.scopes.map((scope) => (
          <li key={scope}>{scopes[scope]}</li>
        ))}
      </ul>
      <p class="card-note">{words.ends}</p>
      <div class="other-way">
        <Button look="primary" onPress={() => send('approve')}>
          {words.approve}
        </Button>
        <Button onPress={() => send('deny')}>{words.deny}</Button>
        <OtherAccount />
      </div>
    </Card>
  )
}

/** Its own words about itself are not shown: whoever asks can write there what they like. */
const Facts = ({ application, user, from }: DeviceState) => {
  const words = useWords('device')
  const { locale } = useSettings()
  const knownParts = [from.browser, from.system].filter((part) => part !== null)
  const origin = [from.ip, ...knownParts, ...(from.sameNetwork ? [] : [words.otherNetwork])].join(', ')
  const facts: [string, ComponentChildren][] = [
    [words.application, application.name],
    [words.account, user.username],
    [words.from, origin],
    [words.asked, timeAgo(from.askedAt, locale)],
  ]
  return (
    <dl class="facts device-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

const OtherAccount = ({ look = 'quiet' }: { look?: 'quiet' | 'primary' }) => (
  <Button look={look} onPress={() => redirectToLogin('other_account')}>
    {useWords('device').otherAccount}
  </Button>
)

/** The approval that was pressed is sent again as soon as the user has proven it. */
const Prove = (props: Asked & { proof: readonly ProofMethod[] }) => {
  const words = useWords('device')
  const { proveHeading } = useWords('authorize')
  const { cancel } = useWords('step-up')
  const { asked, proof, onProof } = props
  const send = useAnswer(props)
  return (
    <Card>
      <Heading text={proveHeading} lead={words.proveLead} />
      <StepUpForm
        methods={proof}
        username={asked.user.username}
        onProven={() => void send('approve')}
        onSignedOut={() => redirectToLogin('sign_in')}
      />
      <div class="other-way">
        <Button look="quiet" onPress={() => onProof(undefined)}>
          {cancel}
        </Button>
      </div>
    </Card>
  )
}

const Impossible = (props: Asked) => {
  const words = useWords('device')
  const authorize = useWords('authorize')
  const { next } = props.asked
  const isOther = next === 'no_access'
  return (
    <Card footer={<ToAccount />}>
      <Heading text={isOther ? authorize.noAccessHeading : authorize.enrolHeading} focused={props.replaces} />
      <p class="lead">
        {fill(isOther ? authorize.noAccess : words.enrolLead, valuesOf(props))} {isOther && <HelpLink />}
      </p>
      <div class="other-way">
        {next === 'enrol' && (
          <a class="button primary" href={`${withReturnTo('/api/auth/account-page', here())}#two-step`}>
            {authorize.toAccount}
          </a>
        )}
        <OtherAccount look={next === 'enrol' ? 'quiet' : 'primary'} />
      </div>
    </Card>
  )
}

const Answered = (props: Asked) => {
  const words = useWords('device')
  const { asked, show } = props
  const isApproved = asked.next === 'approved'
  const [isTooLate, setTooLate] = useState(false)
  const takeBack = async () => {
    const sent = await calls.answerDevice({ code: asked.code, user: asked.user.id, answer: 'deny' })
    if (sent.refused === 'unknown_device_code') setTooLate(true)
    else show(sent)
  }
  return (
    <Card footer={<ToAccount />}>
      <Heading
        text={isApproved ? words.approvedHeading : words.deniedHeading}
        lead={fill(isApproved ? words.approved : words.denied, valuesOf(props))}
        focused
      />
      {isApproved && <p class="card-note">{words.ends}</p>}
      {isTooLate && <Notice kind="error">{words.tooLate}</Notice>}
      <div class="other-way">
        {isApproved && !isTooLate && <Button onPress={takeBack}>{words.takeBack}</Button>}
        <Button look="quiet" onPress={props.onOtherCode}>
          {words.otherCode}
        </Button>
      </div>
    </Card>
  )
}

mount(Device)
