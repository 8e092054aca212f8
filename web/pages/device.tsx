import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { createApplicationPageCalls } from '#client/application-page-calls.js'
import type { Answer, Refusal } from '#client/client.js'
import type { DeviceState } from '#contract/openid.js'
import type { ProofMethod } from '#contract/second-factors.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { redirectToLogin, withReturnTo } from '../browser/navigation.js'
import { Button, staysBusy } from '../components/button.js'
import { Card, LoadingCard, PageNotLoaded } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { HelpLink } from '../components/notice.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { StepUpForm } from '../sign-in/step-up.js'
import { timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'

const calls = createApplicationPageCalls(client)

/** The code of a link. The form is filled with it, but the visitor must press the button: else links could use up the visitor's tries. */
const codeInAddress = () => {
  const text = location.hash.slice(1)
  try {
    return decodeURIComponent(text).slice(0, 64)
  } catch {
    // The link was cut or mistyped, so its `%` signs cannot be decoded.
    return text.slice(0, 64)
  }
}

const here = () => location.pathname + location.hash

/** The login page leads back to this page, which then fills the form with the code. */
const signInAgain = (code: string) => {
  history.replaceState(null, '', `${location.pathname}#${code}`)
  redirectToLogin('connect_device')
}

/** `proofMethods`: set while the user must prove their identity; then the approval is sent again. */
type DeviceScreen = { device: DeviceState; proofMethods?: readonly ProofMethod[] | undefined }
type State = 'waiting' | 'enter' | DeviceScreen | { refusal: Refusal }

const Device = () => {
  const [state, setState] = useState<State>('waiting')
  const screenCount = useRef(0)
  const showScreen = (next: State) => {
    screenCount.current += 1
    setState(next)
  }
  const showDevice = (device: DeviceState) => {
    if (device.next !== 'sign_in') return showScreen({ device })
    setState('waiting')
    return signInAgain(device.code)
  }
  const show = (answer: Answer<DeviceState>) => {
    if (!answer.refused) return showDevice(answer.value)
    if (answer.refused === 'not_authenticated') return redirectToLogin('connect_device')
    return showScreen({ refusal: answer })
  }
  const load = useStableCallback(async () => {
    const caller = await client.me()
    return caller.refused === 'not_authenticated' ? redirectToLogin('connect_device') : showScreen('enter')
  })
  useEffect(() => {
    void load()
  }, [])

  const takesFocus = screenCount.current > 1
  if (state === 'waiting') return <LoadingCard />
  if (state === 'enter') return <EnterCode takesFocus={takesFocus} onFound={showDevice} />
  if ('refusal' in state) return <PageNotLoaded refusal={state.refusal} returnTo={here()} onTryAgain={load} />
  const props = {
    ...state,
    takesFocus,
    show,
    onProofMethods: (proofMethods: readonly ProofMethod[] | undefined) =>
      showScreen({ device: state.device, proofMethods }),
    onOtherCode: () => {
      history.replaceState(null, '', location.pathname)
      showScreen('enter')
    },
  }
  // Each screen gets new buttons, because a button that was pressed stays busy.
  const key = screenCount.current
  return state.proofMethods ? (
    <Prove key={key} {...props} proofMethods={state.proofMethods} />
  ) : (
    <Question key={key} {...props} />
  )
}

const EnterCode = ({ takesFocus, onFound }: { takesFocus: boolean; onFound: (device: DeviceState) => void }) => {
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
      <Heading text={words.enterHeading} focused={takesFocus} />
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

type ScreenProps = DeviceScreen & {
  /** Another screen was shown before. Its button had the focus and is gone, so the heading takes the focus. */
  takesFocus: boolean
  show: (answer: Answer<DeviceState>) => void
  onProofMethods: (methods: readonly ProofMethod[] | undefined) => void
  onOtherCode: () => void
}

const valuesOf = ({ device: { application, user } }: ScreenProps) => ({
  application: application.name,
  username: user.username,
})

const answerSender =
  ({ device: { code, user }, show, onProofMethods }: ScreenProps) =>
  async (answer: 'approve' | 'deny') => {
    const result = await calls.answerDevice({ code, user: user.id, answer })
    if (result.refused === 'fresh_sign_in_required') onProofMethods(result.methods ?? [])
    else if (!result.refused && result.value.next === 'prove') onProofMethods(result.value.methods ?? [])
    else show(result)
    return staysBusy
  }

const Question = (props: ScreenProps) => {
  const { next } = props.device
  if (next === 'approved' || next === 'denied') return <Answered {...props} />
  if (next === 'no_access' || next === 'enrol') return <Impossible {...props} />
  return <Approval {...props} />
}

const Approval = (props: ScreenProps) => {
  const words = useWords('device')
  const { scopes } = useWords('authorize')
  const { device, takesFocus } = props
  const send = answerSender(props)
  return (
    <Card footer={<ToAccount />}>
      <Heading text={fill(words.heading, valuesOf(props))} focused={takesFocus} />
      <p class="lead">{words.compare}</p>
      <p class="device-code">{device.code}</p>
      {/* A plain paragraph and not a Notice: a Notice appears late and would move the buttons. */}
      <p class="device-warning">{words.warning}</p>
      <Facts {...device} />
      <p>{fill(words.sharesLead, valuesOf(props))}</p>
      <ul class="points">
        {device.scopes.map((scope) => (
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

/** The raw user agent of the device is not shown: an attacker could write any text into it. */
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

/** The approval is sent again as soon as the user has proven their identity. */
const Prove = (props: ScreenProps & { proofMethods: readonly ProofMethod[] }) => {
  const words = useWords('device')
  const { proveHeading } = useWords('authorize')
  const { cancel } = useWords('step-up')
  const { device, proofMethods, onProofMethods } = props
  const send = answerSender(props)
  return (
    <Card>
      <Heading text={proveHeading} lead={words.proveLead} />
      <StepUpForm
        methods={proofMethods}
        username={device.user.username}
        onProven={() => void send('approve')}
        onSignedOut={() => redirectToLogin('sign_in')}
      />
      <div class="other-way">
        <Button look="quiet" onPress={() => onProofMethods(undefined)}>
          {cancel}
        </Button>
      </div>
    </Card>
  )
}

const Impossible = (props: ScreenProps) => {
  const words = useWords('device')
  const authorize = useWords('authorize')
  const { next } = props.device
  const hasNoAccess = next === 'no_access'
  return (
    <Card footer={<ToAccount />}>
      <Heading text={hasNoAccess ? authorize.noAccessHeading : authorize.enrolHeading} focused={props.takesFocus} />
      <p class="lead">
        {fill(hasNoAccess ? authorize.noAccess : words.enrolLead, valuesOf(props))} {hasNoAccess && <HelpLink />}
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

const Answered = (props: ScreenProps) => {
  const words = useWords('device')
  const { device, show } = props
  const isApproved = device.next === 'approved'
  const [isTooLate, setTooLate] = useState(false)
  const takeBack = async () => {
    const result = await calls.answerDevice({ code: device.code, user: device.user.id, answer: 'deny' })
    if (result.refused === 'unknown_device_code') setTooLate(true)
    else show(result)
  }
  return (
    <Card footer={<ToAccount />}>
      <Heading
        // A new heading takes the focus that the button had.
        key={String(isTooLate)}
        text={isApproved ? words.approvedHeading : words.deniedHeading}
        lead={isTooLate ? words.tooLate : fill(isApproved ? words.approved : words.denied, valuesOf(props))}
        focused
      />
      {isApproved && <p class="card-note">{words.ends}</p>}
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
