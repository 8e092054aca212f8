import type { NamedApplication } from '#contract/schemas.js'
import { applicationToReturnTo } from '../browser/applications.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import {
  forgetToken,
  reloadInAskedLanguage,
  storedReturnTo,
  storeReturnTo,
  withReturnTo,
} from '../browser/navigation.js'
import { Card } from '../components/card.js'
import { ContinuesTo } from '../components/continues-to.js'
import { Form, type Values } from '../components/form.js'
import { GoBack } from '../components/go-back.js'
import { Heading } from '../components/heading.js'
import { HiddenUsername } from '../components/hidden-username.js'
import { LoadingCard } from '../components/loading-card.js'
import { NewPasswordField } from '../components/new-password-field.js'
import { Notice } from '../components/notice.js'
import { useLinkToken } from '../hooks/link-token.js'
import { isDeadLink, useMailedLink } from '../hooks/mailed-link.js'
import { useWords } from '../hooks/settings.js'
import { useNewPasswordProblems } from '../words/passwords.js'

const ResetPassword = () => {
  const token = useLinkToken()
  return token === undefined ? <NewLink /> : <ByLink key={token} token={token} />
}

/** Without a link, or with one that does not work. `wasShown`: it replaces the form. */
const NewLink = ({ isDead = false, wasShown = false }: { isDead?: boolean; wasShown?: boolean }) => {
  const words = useWords('reset-password')
  const common = useWords('common')
  const { invalid_link: expired } = useWords('refusals')
  return (
    <Card footer={<a href={withReturnTo('/login', storedReturnTo())}>{common.backToLogin}</a>}>
      <Heading text={isDead ? words.deadLink : words.heading} focused={wasShown} />
      <Notice kind={isDead ? 'error' : 'info'}>{isDead ? `${expired} ${words.newerMail}` : words.noLink}</Notice>
      <a class="button primary" href={withReturnTo('/forgot-password', storedReturnTo())}>
        {words.askAgain}
      </a>
    </Card>
  )
}

/** In another browser than the one that the application has sent here. */
const ChangedElsewhere = ({ application }: { application: NamedApplication }) => {
  const words = useWords('reset-password')
  const { backToLogin } = useWords('common')
  return (
    <Card footer={<a href="/login">{backToLogin}</a>}>
      <Heading text={words.changedHeading} focused />
      <Notice kind="success">{words.changed}</Notice>
      <GoBack application={application} />
    </Card>
  )
}

/** Checks the link before the user chooses a password in vain. Without an answer the form is shown. */
const ByLink = ({ token }: { token: string }) => {
  const words = useWords('reset-password')
  const common = useWords('common')
  const passwordWords = useWords('password')
  const problemsOf = useNewPasswordProblems('password')
  const { found, unasked, ending, endWith } = useMailedLink(() => client.checkReset({ token }))
  const isKnown = found !== undefined || unasked !== undefined
  const elsewhere = applicationToReturnTo(storedReturnTo()) === undefined ? found?.application : undefined

  const submit = async ({ password = '' }: Values) => {
    const answer = await client.confirmReset({ token, password })
    if (answer.refused && !isDeadLink(answer.refused)) return problemsOf(answer)
    if (answer.refused) {
      endWith('dead')
      return undefined
    }
    if (elsewhere) {
      endWith('done')
      return undefined
    }
    const returnTo = storedReturnTo()
    storeReturnTo(undefined)
    forgetToken()
    location.replace(withReturnTo('/login?notice=password_reset', returnTo))
    return undefined
  }

  if (ending === 'done' && elsewhere) return <ChangedElsewhere application={elsewhere} />
  if (ending) return <NewLink isDead wasShown={isKnown} />
  if (!isKnown) return <LoadingCard />
  return (
    <Card footer={<a href={withReturnTo('/login', storedReturnTo())}>{common.backToLogin}</a>}>
      <Heading text={words.heading} />
      <p class="lead">{words.lead}</p>
      <ContinuesTo returnTo={storedReturnTo()} elsewhere={elsewhere} />
      <Form submitLabel={words.submit} onSubmit={submit}>
        {found && <HiddenUsername username={found.username} />}
        <NewPasswordField name="password" label={passwordWords.newPassword} focused />
      </Form>
    </Card>
  )
}

if (!reloadInAskedLanguage()) mount(ResetPassword)
