import { useEffect, useState } from 'preact/hooks'
import type { Refusal } from '../../packages/client/src/client.js'
import { client } from '../client.js'
import { Card } from '../components/card.js'
import { Form, type Values } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { HiddenUsername } from '../components/hidden-username.js'
import { LoadingCard } from '../components/loading-card.js'
import { NewPasswordField } from '../components/new-password-field.js'
import { Notice } from '../components/notice.js'
import { useLinkToken } from '../link-token.js'
import { mount } from '../mount.js'
import { forgetToken, storedReturnTo, storeReturnTo, withReturnTo } from '../navigation.js'
import { useNewPasswordProblems } from '../passwords.js'
import { useWords } from '../settings.js'

const ResetPassword = () => {
  const words = useWords('reset-password')
  const common = useWords('common')
  const passwordWords = useWords('password')
  const { invalid_link: expired } = useWords('refusals')
  const noLongerWorks = `${expired} ${words.newerMail}`
  const problemsOf = useNewPasswordProblems('password')
  const token = useLinkToken()
  const { state, username, setExpired } = useResetLink(token)
  const [formIsGone, setFormIsGone] = useState(false)

  const submit = async ({ password = '' }: Values) => {
    const answer = await client.confirmReset({ token: token ?? '', password })
    if (!answer.refused) {
      const returnTo = storedReturnTo()
      storeReturnTo(undefined)
      forgetToken()
      location.replace(withReturnTo('/login?notice=password_reset', returnTo))
      return undefined
    }
    if (!isAboutLink(answer)) return problemsOf(answer)
    setExpired()
    setFormIsGone(true)
    return undefined
  }

  if (state === 'unknown') return <LoadingCard />
  return (
    <Card footer={<a href="/login">{common.backToLogin}</a>}>
      <Heading text={state === 'expired' ? words.deadLink : words.heading} focused={formIsGone} />
      {state !== 'valid' ? (
        <>
          <Notice kind={state === 'expired' ? 'error' : 'info'}>
            {state === 'expired' ? noLongerWorks : words.noLink}
          </Notice>
          <a class="button primary" href="/forgot-password">
            {words.askAgain}
          </a>
        </>
      ) : (
        <>
          <p class="lead">{words.lead}</p>
          <Form submitLabel={words.submit} onSubmit={submit}>
            {username !== undefined && <HiddenUsername username={username} />}
            <NewPasswordField name="password" label={passwordWords.newPassword} focused />
          </Form>
        </>
      )}
    </Card>
  )
}

/** A link that was cut off or changed on its way does not even have the form of one. */
const isAboutLink = ({ refused }: Refusal) => refused === 'invalid_link' || refused === 'bad_request'

type LinkState = 'none' | 'unknown' | 'valid' | 'expired'

/** Checks the link before the user chooses a password in vain. Without an answer the form is shown. */
const useResetLink = (token: string | undefined) => {
  const [state, setState] = useState<LinkState>(token === undefined ? 'none' : 'unknown')
  const [username, setUsername] = useState<string>()
  const setExpired = () => {
    forgetToken()
    setState('expired')
  }
  useEffect(() => {
    let isCurrent = true
    const check = async (link: string) => {
      setState('unknown')
      const answer = await client.checkReset({ token: link })
      if (!isCurrent) return
      const isExpired = answer.refused !== undefined && isAboutLink(answer)
      if (isExpired) forgetToken()
      setUsername(answer.refused ? undefined : answer.value.username)
      setState(isExpired ? 'expired' : 'valid')
    }
    if (token !== undefined) void check(token)
    return () => {
      isCurrent = false
    }
  }, [token])
  return { state, username, setExpired }
}

mount(ResetPassword)
