import { useEffect, useState } from 'preact/hooks'
import { client } from '../client.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { LoadingCard } from '../components/loading-card.js'
import { Notice } from '../components/notice.js'
import { useLinkToken } from '../link-token.js'
import { mount } from '../mount.js'
import { forgetToken, withReturnTo } from '../navigation.js'
import { useProblems } from '../refusals.js'
import { useWords } from '../settings.js'
import { tabStorage } from '../storage.js'

/** The token of the link, for this tab: a sign-in leads away from this page and back. */
const tokenKey = 'latchkey.confirm-email'

type Ending = 'done' | 'dead' | 'taken'

const ConfirmEmail = () => {
  const token = useLinkToken() ?? tabStorage.read(tokenKey)
  return token === undefined ? <NoLink /> : <ByLink key={token} token={token} />
}

const NoLink = () => {
  const words = useWords('confirm-email')
  const common = useWords('common')
  return (
    <Card footer={<a href="/login">{common.backToLogin}</a>}>
      <Heading text={words.heading} />
      <Notice kind="info">{words.noLink}</Notice>
    </Card>
  )
}

/** Nothing changes before the button is pressed: mail scanners open links too. */
const ByLink = ({ token }: { token: string }) => {
  const [asked, setAsked] = useState<'nothing' | 'password' | 'sign-in'>('nothing')
  const [ending, setEnding] = useState<Ending>()
  const isKnown = useRenewedSession()
  const problemsOf = useProblems({ wrong_current_password: 'password' })

  const submit = async ({ password }: Values): Promise<Problems | undefined> => {
    const answer = await client.confirmEmail({ token, password })
    const end = endingOf(answer.refused)
    if (end) {
      forgetToken()
      tabStorage.write(tokenKey, undefined)
      setEnding(end)
    } else if (answer.refused === 'password_required') setAsked('password')
    else if (answer.refused === 'not_authenticated') {
      tabStorage.write(tokenKey, token)
      setAsked('sign-in')
    } else if (answer.refused) return problemsOf(answer)
    return undefined
  }

  if (ending) return <Ended ending={ending} />
  if (!isKnown) return <LoadingCard />
  return asked === 'sign-in' ? <SignInFirst /> : <ConfirmForm asksPassword={asked === 'password'} onSubmit={submit} />
}

const endingOf = (refused: string | undefined): Ending | undefined => {
  if (refused === undefined) return 'done'
  if (refused === 'email_taken') return 'taken'
  return refused === 'invalid_link' || refused === 'bad_request' ? 'dead' : undefined
}

/** The tokens of a session may have expired. They are renewed first, so that no password is asked for in vain. */
const useRenewedSession = () => {
  const [isKnown, setKnown] = useState(false)
  useEffect(() => {
    void client.me().then(() => setKnown(true))
  }, [])
  return isKnown
}

type FormProps = { asksPassword: boolean; onSubmit: (values: Values) => Promise<Problems | undefined> }

const ConfirmForm = ({ asksPassword, onSubmit }: FormProps) => {
  const words = useWords('confirm-email')
  const common = useWords('common')
  return (
    <Card>
      <Heading text={words.heading} />
      <p class="lead" aria-live="polite">
        {asksPassword ? words.passwordLead : words.lead}
      </p>
      <Form key={String(asksPassword)} submitLabel={words.confirm} onSubmit={onSubmit}>
        {asksPassword && (
          <Field name="password" label={common.password} type="password" autoComplete="current-password" focused />
        )}
      </Form>
    </Card>
  )
}

const SignInFirst = () => {
  const words = useWords('confirm-email')
  return (
    <Card>
      <Heading text={words.heading} focused />
      <p class="lead">{words.signInFirst}</p>
      <a class="button primary" href={withReturnTo('/login?notice=sign_in', '/confirm-email')}>
        {words.signIn}
      </a>
    </Card>
  )
}

const Ended = ({ ending }: { ending: Ending }) => {
  const words = useWords('confirm-email')
  const { email_taken: taken } = useWords('refusals')
  const headings = { done: words.doneHeading, dead: words.deadHeading, taken: words.takenHeading }
  const texts = { done: words.done, dead: words.deadLink, taken }
  return (
    <Card>
      <Heading text={headings[ending]} focused />
      <Notice kind={ending === 'done' ? 'success' : 'error'}>{texts[ending]}</Notice>
      <a class="button primary" href="/login">
        {words.continue}
      </a>
    </Card>
  )
}

mount(ConfirmEmail)
