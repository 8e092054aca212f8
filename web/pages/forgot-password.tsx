import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../api.js'
import { Card } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { MailIcon } from '../components/icons.js'
import { LoadingCard } from '../components/loading-card.js'
import { mount } from '../mount.js'
import { isSetPasswordInAddress, returnToInAddress, storeReturnTo, withReturnTo } from '../navigation.js'
import { useProblems } from '../refusals.js'
import { useWords } from '../settings.js'
import { fill } from '../words/format.js'

const ForgotPassword = () => {
  const words = useWords('forgot-password')
  const common = useWords('common')
  return isSetPasswordInAddress() ? (
    <SetPassword />
  ) : (
    <AskForLink
      words={words}
      back={<a href={withReturnTo('/login', returnToInAddress())}>{common.backToLogin}</a>}
      sentenceFor={(email) => fill(words.sent, { email })}
    />
  )
}

/** The same for a signed-in user whose account came from a provider: their address is known, and nothing was forgotten. */
const SetPassword = () => {
  const words = useWords('forgot-password')
  const email = useOwnEmail()
  useEffect(() => {
    document.title = document.title.replace(words.title, words.set.heading)
  }, [words])
  if (email === undefined) return <LoadingCard />
  return (
    <AskForLink
      words={words.set}
      email={email}
      back={<a href={returnToInAddress() ?? '/dashboard'}>{words.set.back}</a>}
      sentenceFor={(typed) => fill(typed === email ? words.set.sent : words.sent, { email: typed })}
    />
  )
}

type Props = {
  words: { heading: string; lead: string }
  email?: string
  back: ComponentChildren
  sentenceFor: (email: string) => string
}

const AskForLink = ({ words: { heading, lead }, email: known = '', back, sentenceFor }: Props) => {
  const words = useWords('forgot-password')
  const common = useWords('common')
  const problemsOf = useProblems({ bad_request: 'email', email_shape: 'email' })
  const [sentTo, setSentTo] = useState<string>()

  const submit = async ({ email = '' }: Values) => {
    const address = email.trim()
    const answer = await api.askForReset(address)
    if (!answer.ok) return problemsOf(answer.refusal)
    storeReturnTo(returnToInAddress())
    setSentTo(address)
    return undefined
  }

  return (
    <Card footer={back}>
      {sentTo === undefined ? (
        <>
          <h1>{heading}</h1>
          <p class="lead">{lead}</p>
          <Form submitLabel={words.submit} onSubmit={submit}>
            <Field name="email" label={common.email} type="email" autoComplete="email" defaultValue={known} focused />
          </Form>
        </>
      ) : (
        <>
          <span class="heading-icon">
            <MailIcon />
          </span>
          <h1>{words.sentHeading}</h1>
          <p class="lead" role="status">
            {sentenceFor(sentTo)}
          </p>
        </>
      )}
    </Card>
  )
}

/** The address of the signed-in user, or nothing in it if the service does not say. Undefined until it has answered. */
const useOwnEmail = () => {
  const [email, setEmail] = useState<string>()
  useEffect(() => {
    const ask = async () => {
      const answer = await api.account()
      setEmail(answer.ok ? answer.value.user.email : '')
    }
    void ask()
  }, [])
  return email
}

mount(ForgotPassword)
