import { useState } from 'preact/hooks'
import { api } from '../api.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { MailIcon } from '../components/icons.js'
import { Notice } from '../components/notice.js'
import { useMailedToken } from '../mailed-token.js'
import { mount } from '../mount.js'
import { moveOn, recallMailbox, recallPlace, rememberMailbox, rememberPlace } from '../places.js'
import { sentenceFor } from '../refusals.js'
import type { Outcome } from '../requests.js'
import type { Settings } from '../settings.js'
import { announce } from '../tabs.js'
import { fill } from '../words/fill.js'

type Dead = 'expired' | 'usernameTaken' | 'alreadyRegistered'
type Props = { settings: Settings<'verify-email'> }

const VerifyEmail = ({ settings }: Props) => {
  const token = useMailedToken()
  return token === undefined ? <ByCode settings={settings} /> : <ByLink key={token} settings={settings} token={token} />
}

/** Where a link leads nowhere any more: to a new registration, or to the login page. */
const deadEnds: Record<string, Dead> = {
  'Invalid or expired link': 'expired',
  'Username taken': 'usernameTaken',
  'Already registered': 'alreadyRegistered',
}

/** Nothing happens before the press: programs that look at mail open links too. */
const ByLink = ({ settings, token }: Props & { token: string }) => {
  const { 'verify-email': words } = settings.words
  const [step, setStep] = useState<'press' | 'password' | Dead>('press')

  const submit = async ({ password }: Values) => {
    const answer = await api.verifyByLink(token, password)
    if (answer.ok) return finish()
    const { error } = answer.refusal
    if (error === 'Password required') setStep('password')
    else if (Object.hasOwn(deadEnds, error)) setStep(deadEnds[error] ?? 'expired')
    else if (error === 'Invalid credentials') return { fields: { password: [words.wrongPassword] } }
    else return troubleOf(answer, settings)
    return undefined
  }

  if (step !== 'press' && step !== 'password') {
    return (
      <Card>
        <h1>{words.heading}</h1>
        <Notice kind="error">{words[step]}</Notice>
        <a class="button primary" href="/register">
          {words.registerAgain}
        </a>
        <BackToLogin settings={settings} />
      </Card>
    )
  }
  return (
    <Card>
      <h1>{words.heading}</h1>
      <p class="lead" aria-live="polite">
        {step === 'press' ? words.pressToConfirm : words.otherBrowser}
      </p>
      <Form key={step} submitLabel={words.confirm} onSubmit={submit}>
        {step === 'password' && (
          <Field
            name="password"
            label={settings.words.common.password}
            type="password"
            autoComplete="current-password"
            focused
          />
        )}
      </Form>
    </Card>
  )
}

const ByCode = ({ settings }: Props) => {
  const { 'verify-email': words } = settings.words
  const email = recallMailbox()

  const submit = async ({ code = '' }: Values) => {
    const typed = code.replace(/[\s-]/g, '').toUpperCase()
    if (typed.length !== 8) return { fields: { code: [words.codeShape] } }
    const answer = await api.verifyByCode(typed)
    if (answer.ok) return finish()
    if (answer.refusal.status === 400) return { fields: { code: [words.wrongCode] } }
    const deadEnd = deadEnds[answer.refusal.error]
    if (deadEnd !== undefined) return { notice: words[deadEnd] }
    return troubleOf(answer, settings)
  }

  return (
    <Card>
      <span class="emblem">
        <MailIcon />
      </span>
      <h1>{words.checkMail}</h1>
      <p class="lead">{email === undefined ? words.sent : fill(words.sentTo, { email })}</p>
      <Form submitLabel={words.submitCode} onSubmit={submit}>
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
      <p class="aside">
        {words.noMail} <a href="/register">{words.registerAgain}</a>
      </p>
    </Card>
  )
}

const BackToLogin = ({ settings }: Props) => (
  <p class="aside">
    <a href="/login">{settings.words.common.backToLogin}</a>
  </p>
)

const finish = () => {
  const place = recallPlace()
  rememberPlace(undefined)
  rememberMailbox(undefined)
  announce('signed-in')
  moveOn(place)
  return undefined
}

const troubleOf = (answer: Outcome<unknown> & { ok: false }, { words }: Props['settings']): Problems => ({
  notice: sentenceFor(answer.refusal, words.common),
  retryAfter: answer.refusal.retryAfter,
})

mount(VerifyEmail)
