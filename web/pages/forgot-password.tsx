import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { isSetPasswordInAddress, returnToInAddress, storeReturnTo } from '../browser/navigation.js'
import { keepTypedLogin, loginTypedBefore } from '../browser/storage.js'
import { Card, LoadingCard, WayOut } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { applicationIdIn, ContinuesTo } from '../components/from-application.js'
import { Heading } from '../components/heading.js'
import { MailIcon } from '../components/icons.js'
import { HelpLink } from '../components/notice.js'
import { SendAgain } from '../components/send-again.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useWithOtherWays } from '../sign-in/other-ways.js'
import { fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'

export const ForgotPassword = () => {
  const words = useWords('forgot-password')
  if (useSettings().mailIsOff) {
    return (
      <Card footer={<WayOut returnTo={returnToInAddress()} />}>
        <Heading text={words.heading} />
        <p class="lead">
          {words.mailIsOff} <HelpLink />
        </p>
      </Card>
    )
  }
  return isSetPasswordInAddress() ? (
    <SetPassword />
  ) : (
    <AskForLink
      words={words}
      back={<WayOut returnTo={returnToInAddress()} />}
      sentenceFor={(email) => fill(words.sent, { email })}
    />
  )
}

/** The page for a signed-in user who has no password yet, because the account came from a provider. Their address is known. */
const SetPassword = () => {
  const words = useWords('forgot-password')
  const email = useOwnEmail()
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

const sendLink = (email: string) => client.resetPassword({ email, application: applicationIdIn(returnToInAddress()) })

type Props = {
  words: { heading: string; lead: string }
  email?: string
  back: ComponentChildren
  sentenceFor: (email: string) => string
}

const AskForLink = ({ words: { heading, lead }, email: knownEmail = '', back, sentenceFor }: Props) => {
  const words = useWords('forgot-password')
  const { identifier } = useWords('common')
  const problemsOf = useProblems({ bad_request: 'email', email_shape: 'email' })
  const withOtherWays = useWithOtherWays()
  const [sentTo, setSentTo] = useState<string>()

  const submit = async ({ email = '' }: Values) => {
    const address = email.trim()
    const answer = await sendLink(address)
    if (answer.refused === 'too_many_attempts') return withOtherWays(problemsOf(answer), { offersMail: false })
    if (answer.refused) return problemsOf(answer)
    storeReturnTo(returnToInAddress())
    setSentTo(address)
    return undefined
  }

  if (sentTo !== undefined) {
    return (
      <Card footer={back}>
        <Sent email={sentTo} sentence={sentenceFor(sentTo)} onOtherAddress={() => setSentTo(undefined)} />
      </Card>
    )
  }
  return (
    <Card footer={back}>
      <Heading text={heading} />
      <p class="lead">{lead}</p>
      <ContinuesTo returnTo={returnToInAddress()} />
      <Form submitLabel={words.submit} onSubmit={submit}>
        <Field
          name="email"
          label={identifier}
          autoComplete="username"
          defaultValue={knownEmail || loginTypedBefore()}
          onInput={keepTypedLogin}
          focused
        />
      </Form>
    </Card>
  )
}

type SentProps = { email: string; sentence: string; onOtherAddress: () => void }

const Sent = ({ email, sentence, onOtherAddress }: SentProps) => {
  const words = useWords('forgot-password')
  return (
    <>
      <span class="heading-icon">
        <MailIcon />
      </span>
      <Heading text={words.sentHeading} lead={sentence} focused />
      <ContinuesTo returnTo={returnToInAddress()} />
      <p class="card-note">{words.noMail}</p>
      <SendAgain send={() => sendLink(email)} sentMessage={words.sentAgain} />
      <p class="card-note">
        {words.wrongAddress}{' '}
        <button type="button" class="link" onClick={onOtherAddress}>
          {words.otherAddress}
        </button>
      </p>
    </>
  )
}

/** The address of the signed-in user, or an empty text if the service does not tell it. Undefined until the service has answered. */
const useOwnEmail = () => {
  const [email, setEmail] = useState<string>()
  useEffect(() => {
    const ask = async () => {
      const answer = await client.account()
      setEmail(answer.refused ? '' : answer.value.user.email)
    }
    void ask()
  }, [])
  return email
}

mount(ForgotPassword)
