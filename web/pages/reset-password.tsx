import { useEffect, useState } from 'preact/hooks'
import { api } from '../api.js'
import { Card } from '../components/card.js'
import { Form, type Values } from '../components/form.js'
import { NewPasswordField } from '../components/new-password-field.js'
import { Notice } from '../components/notice.js'
import { OneMoment } from '../components/one-moment.js'
import { UsernameForManagers } from '../components/username-for-managers.js'
import { useMailedToken } from '../mailed-token.js'
import { mount } from '../mount.js'
import { forgetToken, recallPlace, rememberPlace, withWantedPlace } from '../navigation.js'
import { translateMessage } from '../passwords.js'
import { sentenceFor } from '../refusals.js'
import type { Settings } from '../settings.js'

const ResetPassword = ({ settings }: { settings: Settings<'reset-password'> }) => {
  const { 'reset-password': words, common, password: passwordWords } = settings.words
  const token = useMailedToken()
  const { state, username, setExpired } = useResetLink(token)

  const submit = async ({ password = '' }: Values) => {
    const answer = await api.confirmReset(token ?? '', password)
    if (answer.ok) {
      const place = recallPlace()
      rememberPlace(undefined)
      forgetToken()
      location.replace(withWantedPlace('/login?notice=password_reset', place))
      return undefined
    }
    if (answer.refusal.status === 422) {
      return { fields: { password: answer.refusal.errors.map((message) => translateMessage(message, passwordWords)) } }
    }
    if (answer.refusal.status === 400) {
      setExpired()
      return undefined
    }
    return { notice: sentenceFor(answer.refusal, common), retryAfter: answer.refusal.retryAfter }
  }

  if (state === 'unknown') return <OneMoment />
  return (
    <Card footer={<a href="/login">{common.backToLogin}</a>}>
      <h1>{words.heading}</h1>
      {state !== 'good' ? (
        <>
          <Notice kind={state === 'expired' ? 'error' : 'info'}>
            {state === 'expired' ? words.expired : words.noLink}
          </Notice>
          <a class="button primary" href="/forgot-password">
            {words.askAgain}
          </a>
        </>
      ) : (
        <>
          <p class="lead">{words.lead}</p>
          <Form submitLabel={words.submit} onSubmit={submit}>
            {username !== undefined && <UsernameForManagers username={username} />}
            <NewPasswordField name="password" label={passwordWords.newPassword} words={passwordWords} focused />
          </Form>
        </>
      )}
    </Card>
  )
}

type LinkState = 'none' | 'unknown' | 'good' | 'expired'

/** Looks at the link before a password is chosen for nothing. Where the service does not answer, the form is shown. */
const useResetLink = (token: string | undefined) => {
  const [state, setState] = useState<LinkState>(token === undefined ? 'none' : 'unknown')
  const [username, setUsername] = useState<string>()
  const setExpired = () => {
    forgetToken()
    setState('expired')
  }
  useEffect(() => {
    let current = true
    const look = async (link: string) => {
      setState('unknown')
      const answer = await api.checkReset(link)
      if (!current) return
      setUsername(answer.ok ? answer.value.username : undefined)
      if (!answer.ok && answer.refusal.status === 400) setExpired()
      else setState('good')
    }
    if (token !== undefined) void look(token)
    return () => {
      current = false
    }
  }, [token])
  return { state, username, setExpired }
}

mount(ResetPassword)
