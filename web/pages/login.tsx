import { useEffect, useState } from 'preact/hooks'
import { api } from '../api.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { Notice } from '../components/notice.js'
import { OneMoment } from '../components/one-moment.js'
import { ProviderButtons } from '../components/provider-buttons.js'
import { SendAgain } from '../components/send-again.js'
import { mount } from '../mount.js'
import {
  moveOn,
  recallPlace,
  rememberMailbox,
  rememberPlace,
  wantedPlace,
  withWantedPlace,
  wordInAddress,
} from '../navigation.js'
import { providerErrorFor, sentenceFor } from '../refusals.js'
import { type Settings, useCommonWords } from '../settings.js'
import { announce, onNews } from '../tabs.js'

const Login = ({ settings }: { settings: Settings<'login'> }) => {
  const { login: words, common } = settings.words
  const place = wantedPlace() ?? placeBeforeProvider()
  const visitor = useVisitor(place)

  const submit = async ({ username = '', password = '' }: Values) => {
    const answer = await api.login(username.trim(), password)
    if (answer.ok) {
      announce('signed-in')
      moveOn(place)
      return undefined
    }
    const sentence = sentenceFor(answer.refusal, common)
    if (answer.refusal.error === 'Invalid credentials') return { fields: { password: [sentence] } }
    if (answer.refusal.error === 'Email not confirmed') {
      rememberPlace(place)
      rememberMailbox(username.includes('@') ? username.trim() : undefined)
      return { notice: sentence, offer: <ConfirmOffer /> }
    }
    return { notice: sentence, retryAfter: answer.refusal.retryAfter }
  }

  if (visitor !== 'signed-out') return <OneMoment />
  return (
    <Card
      footer={
        settings.registration === 'open' ? (
          <>
            {words.noAccount} <a href={withWantedPlace('/register', place)}>{words.register}</a>
          </>
        ) : undefined
      }
    >
      <h1>{words.heading}</h1>
      <AddressNotice settings={settings} />
      <Form submitLabel={words.submit} onSubmit={submit}>
        <Field name="username" label={words.identifier} autoComplete="username" focused />
        <Field name="password" label={common.password} type="password" autoComplete="current-password" />
        <p class="forgot-link">
          <a href={withWantedPlace('/forgot-password', place)}>{words.forgot}</a>
        </p>
      </Form>
      <ProviderButtons place={place} />
    </Card>
  )
}

/** The address of a failed sign-in with a provider names no place, so the one from before is used. */
const placeBeforeProvider = () => (wordInAddress('error') === undefined ? undefined : recallPlace())

/** The password was right, so this browser may finish the registration: with the code, or with a new mail. */
const ConfirmOffer = () => {
  const goOn = () => location.assign('/verify-email')
  return (
    <>
      <SendAgain onSent={goOn} />
      <a href="/verify-email">{useCommonWords().enterCode}</a>
    </>
  )
}

/** Why the visitor is here, as far as the address has a word for it that we know. */
const AddressNotice = ({ settings }: { settings: Settings<'login'> }) => {
  const { login: words, common } = settings.words
  const error = wordInAddress('error')
  const notice = wordInAddress('notice')
  if (error !== undefined) {
    return <Notice kind="error">{providerErrorFor(error, wordInAddress('reason'), settings.providers, common)}</Notice>
  }
  if (notice === undefined || !Object.hasOwn(words.notices, notice)) return null
  const known = notice as keyof typeof words.notices
  const good = known === 'password_reset' || known === 'signed_out' || known === 'signed_out_everywhere'
  return <Notice kind={good ? 'success' : 'info'}>{words.notices[known]}</Notice>
}

/** How long a slow answer may keep the form from the visitor. */
const longestWait = 3_000

/**
 * A visitor who is signed in already, here or in another tab, is taken on. The form is not shown before that is known:
 * a session may be renewed just now. A visitor who was sent here with a notice is known to be signed out.
 */
const useVisitor = (place: string | undefined) => {
  const wasSentHere = wordInAddress('notice') !== undefined
  const [visitor, setVisitor] = useState<'unknown' | 'signed-out' | 'signed-in'>(wasSentHere ? 'signed-out' : 'unknown')
  useEffect(() => {
    const goOn = () => {
      setVisitor('signed-in')
      moveOn(place)
    }
    const showForm = () => setVisitor((known) => (known === 'unknown' ? 'signed-out' : known))
    const timer = setTimeout(showForm, longestWait)
    if (!wasSentHere) void api.me().then(({ ok }) => (ok ? goOn() : showForm()))
    const stopListening = onNews('signed-in', goOn)
    return () => {
      clearTimeout(timer)
      stopListening()
    }
  }, [])
  return visitor
}

mount(Login)
