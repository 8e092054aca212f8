import type { User } from '#client/client.js'
import type { InvitationState } from '#contract/mailed-links.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { redirectAfterSignIn, returnToInAddress, withReturnTo } from '../browser/navigation.js'
import { Button } from '../components/button.js'
import { Card } from '../components/card.js'
import { Heading } from '../components/heading.js'
import { HelpLink } from '../components/help-link.js'
import { LoadingCard } from '../components/loading-card.js'
import { Notice } from '../components/notice.js'
import { PageNotLoaded } from '../components/page-not-loaded.js'
import { ProviderButtons } from '../components/provider-buttons.js'
import { RegisterForm } from '../components/register-form.js'
import { useLinkToken } from '../hooks/link-token.js'
import { useMailedLink } from '../hooks/mailed-link.js'
import { useMessage } from '../hooks/message.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStepText } from '../hooks/steps.js'
import { useVisitor } from '../hooks/visitor.js'
import { fill } from '../words/format.js'
import { useRefusalSentence } from '../words/refusals.js'

/** Opening the link changes nothing, because mail scanners open links, too. */
const Invite = () => {
  const token = useLinkToken()
  const visitor = useVisitor(() => token === undefined && redirectAfterSignIn(returnToInAddress()))
  if (visitor === 'unknown') return <LoadingCard />
  const user = visitor === 'signed-out' ? undefined : visitor
  if (token !== undefined) return <ByLink key={token} token={token} user={user} />
  return user ? <LoadingCard /> : <NoInvitation />
}

const ByLink = ({ token, user }: { token: string; user: User | undefined }) => {
  const { found, loadRefusal, ending, endWith, load } = useMailedLink(() => client.checkInvitation({ token }))
  if (loadRefusal) return <PageNotLoaded refusal={loadRefusal} onTryAgain={load} />
  if (user && (ending || found)) return <SignedIn user={user} email={ending ? undefined : found?.email} />
  if (ending) return <NoInvitation isDead wasShown={found !== undefined} />
  if (!found) return <LoadingCard />
  return <Accept token={token} {...found} onRefused={() => endWith('dead')} />
}

type AcceptProps = InvitationState & { token: string; onRefused: () => void }

const Accept = ({ token, email, provesAddress, onRefused }: AcceptProps) => {
  const words = useWords('invite')
  const { providers } = useSettings()
  const offersProviders = providers.length > 0
  return (
    <Card footer={<SignInLink />}>
      <Heading text={words.heading} step={useStepText(1, provesAddress ? 2 : 3)} />
      <p class="lead">{offersProviders ? words.lead : words.leadWithoutProviders}</p>
      <RegisterForm invitation={{ token, email, hint: words.fixedAddress }} onRefused={onRefused} />
      <ProviderButtons returnTo={returnToInAddress()} />
      {offersProviders && <p class="card-note">{fill(words.sameAddress, { email })}</p>}
    </Card>
  )
}

/**
 * An invitation is for a new account. Without `email`, the invitation does not work any more, but a user who is signed in does not need
 * it.
 */
const SignedIn = ({ user: { username }, email }: { user: User; email: string | undefined }) => {
  const words = useWords('invite')
  const sentenceOf = useRefusalSentence()
  const { message: problem, setMessage: setProblem } = useMessage<string>()
  const signOut = async () => {
    const answer = await client.logout()
    if (answer.refused) setProblem(sentenceOf(answer))
    // The token of the invitation is kept in the history entry of this tab.
    else location.reload()
  }
  return (
    <Card>
      <Heading text={words.title} />
      {problem !== undefined && <Notice kind="error">{problem}</Notice>}
      <Notice kind="info">{email === undefined ? words.notNeeded : fill(words.signedIn, { username, email })}</Notice>
      <a class="button primary" href="/api/auth/account-page">
        {words.toAccount}
      </a>
      {email !== undefined && (
        <Button look="quiet" onPress={signOut}>
          {words.signOut}
        </Button>
      )}
    </Card>
  )
}

const SignInLink = () => {
  const words = useWords('register')
  return (
    <>
      {words.haveAccount} <a href={withReturnTo('/login', returnToInAddress())}>{words.signIn}</a>
    </>
  )
}

const NoInvitation = ({ isDead = false, wasShown = false }: { isDead?: boolean; wasShown?: boolean }) => {
  const words = useWords('invite')
  const { invalid_invitation: noLongerWorks } = useWords('refusals')
  return (
    <Card footer={<SignInLink />}>
      <Heading text={words.title} focused={wasShown} />
      <Notice kind={isDead ? 'error' : 'info'} after={isDead && <HelpLink />}>
        {isDead ? noLongerWorks : words.noLink}
      </Notice>
    </Card>
  )
}

mount(Invite)
