import { useEffect } from 'preact/hooks'
import type { Refusal, User } from '#client/client.js'
import type { InvitationState } from '#contract/mailed-links.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { forgetToken, redirectAfterSignIn, returnToInAddress, withReturnTo } from '../browser/navigation.js'
import { tabStorage } from '../browser/storage.js'
import { Button, staysBusy } from '../components/button.js'
import { Card, LoadingCard, PageNotLoaded } from '../components/card.js'
import { Heading, useStepText } from '../components/heading.js'
import { HelpLink, Notice, useMessage } from '../components/notice.js'
import { ProviderButtons } from '../components/providers.js'
import { RegisterForm } from '../components/register-form.js'
import { useLinkToken, useMailedLink } from '../hooks/mailed-link.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useVisitor } from '../sign-in/visitor.js'
import { fill } from '../words/format.js'
import { asksForHelp, useRefusalSentence } from '../words/refusals.js'

/** This tab stores the token of the link, because a sign-in leads away from this page and back. */
const tokenKey = 'latchkey.invite'
const ownPath = '/invite'

/** Opening the link changes nothing, because mail scanners open links, too. */
const Invite = () => {
  const token = useLinkToken() ?? tabStorage.read(tokenKey)
  const visitor = useVisitor(() => token === undefined && redirectAfterSignIn(returnToInAddress()))
  if (visitor === 'unknown') return <LoadingCard />
  const user = visitor === 'signed-out' ? undefined : visitor
  // What the link is for depends on who is signed in.
  if (token !== undefined) return <ByLink key={`${token} ${user?.id}`} token={token} user={user} />
  return user ? <LoadingCard /> : <NoInvitation />
}

const ByLink = ({ token, user }: { token: string; user: User | undefined }) => {
  const { found, refusal, ending, endWith, reload } = useMailedLink(
    () => client.checkInvitation({ token }),
    () => tabStorage.write(tokenKey, undefined),
  )
  if (refusal) return <PageNotLoaded refusal={refusal} onTryAgain={reload} />
  if (user && (ending || found?.next === 'nothing')) return <SignedIn user={user} email={undefined} />
  if (ending) return <NoInvitation isDead wasShown={found !== undefined} />
  if (!found) return <LoadingCard />
  const props = { ...found, token, returnTo: returnToInAddress() ?? found.returnTo ?? undefined }
  if (user && found.next === 'join') return <Join {...props} user={user} onEnd={endWith} />
  if (user) return <SignedIn user={user} email={found.email} />
  return found.next === 'sign_in' || found.next === 'join' ? (
    <SignInFirst {...props} />
  ) : (
    <Accept {...props} onRefused={() => endWith('dead')} />
  )
}

type FoundProps = Omit<InvitationState, 'returnTo'> & { token: string; returnTo: string | undefined }

const Accept = ({ onRefused, ...props }: FoundProps & { onRefused: () => void }) => {
  const { token, email, groups, invitedBy, provesAddress, printed, returnTo } = props
  const words = useWords('invite')
  const { providers } = useSettings()
  const offersProviders = providers.length > 0
  const invitation = { token, email, returnTo, hint: words.fixedAddress }
  // An account that exists has only groups to join.
  useTokenForReturn(groups.length > 0 ? token : undefined)
  return (
    <Card footer={<SignInLink returnTo={groups.length > 0 ? ownPath : undefined} />}>
      <Heading text={words.heading} step={useStepText(1, provesAddress || printed ? 2 : 3)} />
      <p class="lead">
        <Inviter name={invitedBy} /> {offersProviders ? words.lead : words.leadWithoutProviders}
      </p>
      <RegisterForm invitation={invitation} onRefused={onRefused} />
      <ProviderButtons returnTo={returnTo} />
      {offersProviders && <p class="card-note">{fill(words.sameAddress, { email })}</p>}
    </Card>
  )
}

const Inviter = ({ name }: { name: string | null }) => {
  const { invited, invitedBy } = useWords('invite')
  return <>{name === null ? invited : fill(invitedBy, { inviter: name })}</>
}

/** Stores the token for the time when the user comes back to this page. */
const useTokenForReturn = (token: string | undefined) =>
  useEffect(() => {
    if (token !== undefined) tabStorage.write(tokenKey, token)
  }, [token])

type JoinProps = FoundProps & { user: User; onEnd: (ending: 'done' | 'dead') => void }

const Join = ({ token, groups, invitedBy, returnTo, user: { username }, onEnd }: JoinProps) => {
  const words = useWords('invite')
  const sentenceOf = useRefusalSentence()
  const { message: problem, setMessage: setProblem } = useMessage<Refusal>()
  const join = async () => {
    const answer = await client.acceptInvitation({ token })
    if (answer.refused === 'invalid_invitation') return onEnd('dead')
    if (answer.refused) return setProblem(answer)
    forgetToken()
    tabStorage.write(tokenKey, undefined)
    // The next page needs tokens with the new groups.
    await client.me()
    redirectAfterSignIn(returnTo)
    return staysBusy
  }
  return (
    <Card>
      <Heading text={words.title} />
      {problem && (
        <Notice kind="error" after={asksForHelp(problem.refused) && <HelpLink />}>
          {problem.refused === 'too_many_groups' ? words.tooManyGroups : sentenceOf(problem)}
        </Notice>
      )}
      <p class="lead">
        <Inviter name={invitedBy} /> {fill(words.joinQuestion, { groups: groups.join(', '), username })}
      </p>
      <Button look="primary" onPress={join}>
        {words.join}
      </Button>
      <a class="button quiet" href="/api/auth/account-page">
        {words.toAccount}
      </a>
    </Card>
  )
}

/** The address of the mail has an account, whose owner has to sign in and comes back. */
const SignInFirst = ({ token, email, groups, invitedBy }: FoundProps) => {
  const words = useWords('invite')
  const { signIn } = useWords('register')
  useTokenForReturn(token)
  return (
    <Card>
      <Heading text={words.title} />
      <p class="lead">
        <Inviter name={invitedBy} /> {fill(words.signInFirst, { groups: groups.join(', '), email })}
      </p>
      <a class="button primary" href={withReturnTo('/login?notice=sign_in', ownPath)}>
        {signIn}
      </a>
    </Card>
  )
}

/**
 * The invitation is for another address. Without `email`, the invitation does not work any more, but a user who is signed in does not need
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

const SignInLink = ({ returnTo = returnToInAddress() }: { returnTo?: string | undefined }) => {
  const words = useWords('register')
  return (
    <>
      {words.haveAccount} <a href={withReturnTo('/login', returnTo)}>{words.signIn}</a>
    </>
  )
}

const NoInvitation = ({ isDead = false, wasShown = false }: { isDead?: boolean; wasShown?: boolean }) => {
  const words = useWords('invite')
  const { invalid_invitation: noLongerWorks } = useWords('refusals')
  const { signIn } = useWords('register')
  const { mailIsOff } = useSettings()
  return (
    <Card>
      <Heading text={words.title} focused={wasShown} />
      <Notice kind={isDead ? 'error' : 'info'} after={isDead && <HelpLink />}>
        {isDead ? noLongerWorks : mailIsOff ? words.printedLink : words.noLink}
      </Notice>
      <a class="button primary" href={withReturnTo('/login', returnToInAddress())}>
        {signIn}
      </a>
    </Card>
  )
}

mount(Invite)
