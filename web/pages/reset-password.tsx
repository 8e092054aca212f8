import { useEffect, useState } from 'preact/hooks'
import type { NamedApplication, SecondFactorNeeded, SignedIn } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import {
  forgetToken,
  redirectAfterSignIn,
  reloadInAskedLanguage,
  storedReturnTo,
  storeReturnTo,
  withReturnTo,
} from '../browser/navigation.js'
import { forgetTyped } from '../browser/storage.js'
import { Button, staysBusy } from '../components/button.js'
import { Card, LoadingCard, MessageCard, WayOut } from '../components/card.js'
import { HiddenUsername } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { ContinuesTo, GoBack, nameOfApplicationIn } from '../components/from-application.js'
import { Heading } from '../components/heading.js'
import { NewPasswordField, useNewPasswordProblems } from '../components/new-password.js'
import { Notice } from '../components/notice.js'
import { isDeadLink, useLinkToken, useMailedLink } from '../hooks/mailed-link.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'

const ResetPassword = () => {
  const token = useLinkToken()
  return token === undefined ? <AskForNewLink /> : <ByLink key={token} token={token} />
}

/** Shown without a link, or with one that does not work. `wasShown`: the form was shown before. */
const AskForNewLink = ({ isDead = false, wasShown = false }: { isDead?: boolean; wasShown?: boolean }) => {
  const words = useWords('reset-password')
  const { invalid_link: expired } = useWords('refusals')
  if (useSettings().mailIsOff) {
    return (
      <MessageCard
        heading={isDead ? words.deadLink : words.heading}
        kind={isDead ? 'error' : 'info'}
        text={isDead ? `${expired} ${words.askAdministrator}` : words.printedLink}
        focused={wasShown}
        hasHelpLink
      />
    )
  }
  return (
    <Card footer={<WayOut returnTo={storedReturnTo()} />}>
      <Heading text={isDead ? words.deadLink : words.heading} focused={wasShown} />
      <Notice kind={isDead ? 'error' : 'info'}>{isDead ? `${expired} ${words.newerMail}` : words.noLink}</Notice>
      <a class="button primary" href={withReturnTo('/forgot-password', storedReturnTo())}>
        {words.askAgain}
      </a>
    </Card>
  )
}

type Changed = {
  answered: SignedIn | SecondFactorNeeded | undefined
  applicationElsewhere: NamedApplication | undefined
}

/** `applicationElsewhere`: the application waits in another browser. */
const PasswordChanged = ({ answered, applicationElsewhere }: Changed) => {
  const words = useWords('reset-password')
  const { backToLogin } = useWords('common')
  return (
    <Card footer={applicationElsewhere && <a href="/login">{backToLogin}</a>}>
      <Heading text={words.changedHeading} focused />
      <Notice kind="success">{words.changed}</Notice>
      {!applicationElsewhere && <ContinuesTo returnTo={storedReturnTo()} />}
      {applicationElsewhere ? (
        <GoBack application={applicationElsewhere} />
      ) : (
        <Button look="primary" onPress={() => leave(answered)}>
          {words.goOn}
        </Button>
      )}
    </Card>
  )
}

/** Goes to the page that the visitor wanted, to the next step of the sign-in, or to the login page if the service began no sign-in. */
const leave = (answered: Changed['answered']) => {
  const returnTo = storedReturnTo()
  storeReturnTo(undefined)
  if (answered === undefined) location.replace(withReturnTo('/login?notice=password_reset', returnTo))
  else if ('next' in answered) location.replace(withReturnTo('/second-factor', returnTo))
  else redirectAfterSignIn(returnTo)
  return staysBusy
}

/** Tells a visitor who is signed in as another user that the reset signs this browser in as the user of the link. */
const ReplacesSession = ({ username }: { username: string }) => {
  const { replacesSession } = useWords('reset-password')
  const [otherUsername, setOtherUsername] = useState<string>()
  useEffect(() => {
    void client.me().then((caller) => caller.refused || setOtherUsername(caller.value.user.username))
  }, [])
  if (otherUsername === undefined || otherUsername === username) return null
  return <Notice kind="info">{fill(replacesSession, { other: otherUsername, username })}</Notice>
}

/** Checks the link before the user chooses a password in vain. If the service does not answer, the form is shown. */
const ByLink = ({ token }: { token: string }) => {
  const words = useWords('reset-password')
  const common = useWords('common')
  const passwordWords = useWords('password')
  const problemsOf = useNewPasswordProblems('password')
  const { found, refusal, ending, endWith } = useMailedLink(() => client.checkReset({ token }))
  const [changed, setChanged] = useState<Changed>()
  const isChecked = found !== undefined || refusal !== undefined
  const applicationElsewhere = nameOfApplicationIn(storedReturnTo()) === undefined ? found?.application : undefined

  const submit = async ({ password = '' }: Values) => {
    // If the application waits in another browser, a session in this one is of no use.
    const answer = await client.confirmReset({ token, password, signIn: applicationElsewhere === undefined })
    if (answer.refused && !isDeadLink(answer.refused)) return problemsOf(answer)
    if (answer.refused) {
      endWith('dead')
      return undefined
    }
    if (!applicationElsewhere) {
      forgetToken()
      forgetTyped()
    }
    setChanged({ answered: answer.value, applicationElsewhere })
    return undefined
  }

  if (changed) return <PasswordChanged {...changed} />
  if (ending) return <AskForNewLink isDead wasShown={isChecked} />
  if (!isChecked) return <LoadingCard />
  return (
    <Card footer={<a href={withReturnTo('/login', storedReturnTo())}>{common.backToLogin}</a>}>
      <Heading text={found ? fill(words.headingFor, { username: found.username }) : words.heading} />
      <p class="lead">{words.lead}</p>
      <ContinuesTo returnTo={storedReturnTo()} applicationElsewhere={applicationElsewhere} />
      {found && !applicationElsewhere && <ReplacesSession username={found.username} />}
      <Form submitLabel={words.submit} onSubmit={submit}>
        {found && <HiddenUsername username={found.username} />}
        <NewPasswordField name="password" label={passwordWords.newPassword} focused />
      </Form>
    </Card>
  )
}

if (!reloadInAskedLanguage()) mount(ResetPassword)
