import { useEffect, useState } from 'preact/hooks'
import { api, type LinkState } from '../api.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { MailIcon } from '../components/icons.js'
import { Notice } from '../components/notice.js'
import { OneMoment } from '../components/one-moment.js'
import { SendAgain } from '../components/send-again.js'
import { useMailedToken } from '../mailed-token.js'
import { mount } from '../mount.js'
import {
  forgetToken,
  moveOn,
  recallMailbox,
  recallPlace,
  rememberMailbox,
  rememberPlace,
  withWantedPlace,
} from '../navigation.js'
import { sentenceFor } from '../refusals.js'
import type { Refusal } from '../requests.js'
import type { Settings } from '../settings.js'
import { announce } from '../tabs.js'
import { useWaitingRegistration } from '../waiting-registration.js'
import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'

type Props = { settings: Settings<'verify-email'> }
type End = keyof typeof ends

/** Where there is nothing left to confirm: how it is told, and where to go from here. */
const ends = {
  confirmed: { kind: 'success', to: '/login', action: 'continue' },
  alreadyRegistered: { kind: 'info', to: '/login', action: 'continue' },
  replaced: { kind: 'info', to: '/verify-email', action: 'enterCode' },
  noRegistration: { kind: 'info', to: '/register', action: 'registerAgain' },
  expired: { kind: 'error', to: '/register', action: 'registerAgain' },
  usernameTaken: { kind: 'error', to: '/register', action: 'registerAgain' },
} as const

const endOfRefusal: Record<string, End> = {
  'Already confirmed': 'confirmed',
  'Already registered': 'alreadyRegistered',
  'Link replaced': 'replaced',
  'Invalid or expired link': 'expired',
  'Username taken': 'usernameTaken',
}
const endOf = ({ error }: Refusal) => (Object.hasOwn(endOfRefusal, error) ? endOfRefusal[error] : undefined)

const VerifyEmail = ({ settings }: Props) => {
  const token = useMailedToken()
  return token === undefined ? <ByCode settings={settings} /> : <ByLink key={token} settings={settings} token={token} />
}

const endOfState: Record<LinkState['state'], End | undefined> = {
  waiting: undefined,
  confirmed: 'confirmed',
  replaced: 'replaced',
  unknown: 'expired',
}

/** Looks at the link first. Nothing changes before the press: programs that look at mail open links too. */
const ByLink = ({ settings, token }: Props & { token: string }) => {
  const [link, setLink] = useState<LinkState>()
  const [end, setEnd] = useState<End>()
  const endWith = (found: End) => {
    forgetToken()
    setEnd(found)
  }

  useEffect(() => {
    const look = async () => {
      const answer = await api.checkLink(token)
      // Where the service does not answer, the form is shown: the press will tell.
      setLink(answer.ok ? answer.value : { state: 'waiting', passwordRequired: false, newerMail: false })
      const found = answer.ok ? endOfState[answer.value.state] : undefined
      if (found !== undefined) endWith(found)
    }
    void look()
  }, [])

  if (end !== undefined) return <TheEnd end={end} settings={settings} />
  if (!link) return <OneMoment />
  return <ConfirmForm settings={settings} token={token} link={link} onEnd={endWith} />
}

type ConfirmProps = Props & { token: string; link: LinkState; onEnd: (end: End) => void }

const ConfirmForm = ({ settings, token, link, onEnd }: ConfirmProps) => {
  const { 'verify-email': words, common } = settings.words
  const [asksPassword, setAsksPassword] = useState(link.passwordRequired)

  const submit = async ({ password }: Values) => {
    const answer = await api.verifyByLink(token, password)
    if (answer.ok) return finish(recallPlace())
    const { refusal } = answer
    const end = endOf(refusal)
    if (refusal.error === 'Password required') setAsksPassword(true)
    else if (end !== undefined) onEnd(end)
    else if (refusal.error === 'Invalid credentials') return { fields: { password: [words.wrongPassword] } }
    else return troubleOf(refusal, settings)
    return undefined
  }

  return (
    <Card>
      <h1>{words.heading}</h1>
      {link.newerMail && <Notice kind="info">{words.newerMail}</Notice>}
      <p class="lead" aria-live="polite">
        {asksPassword ? words.otherBrowser : words.pressToConfirm}
      </p>
      <Form key={String(asksPassword)} submitLabel={words.confirm} onSubmit={submit}>
        {asksPassword && (
          <Field name="password" label={common.password} type="password" autoComplete="current-password" focused />
        )}
      </Form>
    </Card>
  )
}

const ByCode = ({ settings }: Props) => {
  const { 'verify-email': words } = settings.words
  const email = recallMailbox()
  // Another tab that confirms forgets the place, so this one keeps its own copy.
  const [place] = useState(recallPlace)
  const [end, setEnd] = useState<End>()
  const [usedUp, setUsedUp] = useState(false)
  const waiting = useWaitingRegistration(() => finish(place))

  const submit = async ({ code = '' }: Values) => {
    const typed = code.replace(/[\s-]/g, '').toUpperCase()
    if (typed.length !== 8) return { fields: { code: [words.codeShape] } }
    const answer = await api.verifyByCode(typed)
    if (answer.ok) return finish(place)
    if (answer.refusal.code === 'tries_used_up') {
      setUsedUp(true)
      return undefined
    }
    if (answer.refusal.error === 'Invalid code') return { fields: { code: [words.wrongCode] } }
    const found = endOf(answer.refusal)
    if (found === undefined) return troubleOf(answer.refusal, settings)
    setEnd(found)
    return undefined
  }

  const shown = end ?? (waiting === 'confirmed' ? 'confirmed' : waiting === 'none' ? 'noRegistration' : undefined)
  if (shown !== undefined) return <TheEnd end={shown} settings={settings} />
  // Right after the registration there is one, and the form need not wait for the answer.
  if (waiting === 'unknown' && email === undefined) return <OneMoment />
  return (
    <Card>
      <span class="heading-icon">
        <MailIcon />
      </span>
      <h1>{words.checkMail}</h1>
      <p class="lead">{email === undefined ? words.sent : fill(words.sentTo, { email })}</p>
      {usedUp ? (
        <Notice kind="error" focused>
          {words.codeUsedUp}
        </Notice>
      ) : (
        <CodeForm words={words} onSubmit={submit} />
      )}
      <p class="card-note">{words.noMail}</p>
      <SendAgain onRefused={(refusal) => setEnd(endOf(refusal))} />
      <p class="card-note">
        {words.wrongAddress} <a href="/register">{words.registerAgain}</a>
      </p>
    </Card>
  )
}

type CodeFormProps = { words: Words['verify-email']; onSubmit: (values: Values) => Promise<Problems | undefined> }

const CodeForm = ({ words, onSubmit }: CodeFormProps) => (
  <Form submitLabel={words.submitCode} onSubmit={onSubmit}>
    <Field
      name="code"
      label={words.code}
      autoComplete="one-time-code"
      hint={words.codeHint}
      maxLength={12}
      code
      focused
    />
  </Form>
)

/** A code can be typed only into a browser that waits for a registration. */
const useCanTypeCode = (wanted: boolean) => {
  const [can, setCan] = useState(false)
  useEffect(() => {
    const ask = async () => {
      const answer = await api.checkRegistration()
      setCan(answer.ok && answer.value.state === 'waiting')
    }
    if (wanted) void ask()
  }, [wanted])
  return can
}

const TheEnd = ({ end, settings }: Props & { end: End }) => {
  const { 'verify-email': words, common } = settings.words
  const { kind, to, action } = ends[end]
  const canTypeCode = useCanTypeCode(action === 'enterCode')
  // The login page takes on whoever is signed in already.
  const href = to === '/login' ? withWantedPlace(to, recallPlace()) : to
  return (
    <Card footer={to === '/login' ? undefined : <a href="/login">{common.backToLogin}</a>}>
      <h1>{words.heading}</h1>
      <Notice kind={kind}>{words[end]}</Notice>
      {(action !== 'enterCode' || canTypeCode) && (
        <a class="button primary" href={href}>
          {words[action]}
        </a>
      )}
    </Card>
  )
}

const finish = (place: string | undefined) => {
  forgetToken()
  rememberPlace(undefined)
  rememberMailbox(undefined)
  announce('signed-in')
  moveOn(place)
  return undefined
}

const troubleOf = (refusal: Refusal, { words }: Props['settings']): Problems => ({
  notice: sentenceFor(refusal, words.common),
  retryAfter: refusal.retryAfter,
})

mount(VerifyEmail)
