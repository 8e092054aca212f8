import { type Answer, isTemporary, type Refusal } from '#client/client.js'
import { type ProofMethod, reachingTwoFactors, secondFactorsAmong } from '#contract/second-factors.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import {
  isShownByProxy,
  queryValue,
  redirectAfterSignIn,
  returnToAfterStepUp,
  withReturnTo,
} from '../browser/navigation.js'
import { tabStorage } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { Card, LoadingCard, PageNotLoaded } from '../components/card.js'
import { Heading } from '../components/heading.js'
import { HelpLink } from '../components/notice.js'
import { SignOutButton } from '../components/sign-out.js'
import { useLoaded } from '../hooks/loaded.js'
import { useProtectedApplication } from '../hooks/protected-application.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { StepUpForm } from '../sign-in/step-up.js'
import { fill } from '../words/format.js'

/**
 * `methods`: those that fulfil what the application asks for. `lacksFactor`: it asks for two factors and the account has no second factor.
 * Without methods otherwise, only a new sign-in with its provider proves who the user is.
 */
type Prover = { methods: readonly ProofMethod[]; username: string; lacksFactor?: boolean }

/** A new sign-in is a proof, too. It leads back to the page that the user wanted. */
const signIn = () => location.replace(withReturnTo('/login?notice=sign_in', returnToAfterStepUp()))

/** An application has sent the user here to prove again who they are. The query says what it asks for. */
const StepUp = () => (conditionInQuery('group') === undefined && !wasProvenHere() ? <ProveAgain /> : <NoAccess />)

/** A condition that the application has put into the query. A proxy shows this page at an address whose query is not for us. */
const conditionInQuery = (name: string) => (isShownByProxy() ? undefined : queryValue(name))

/**
 * A proxy that shows this page does not say why it refuses the user. If the user has just proven their identity in vain, a missing proof
 * is not the reason.
 */
const provenKey = 'latchkey.proven-in-place'
const proofLifetime = 30_000
const wasProvenHere = () => {
  const [provenAt, path] = (tabStorage.read(provenKey) ?? '').split(' ')
  return isShownByProxy() && path === location.pathname && Date.now() - Number(provenAt) < proofLifetime
}
const goBackAfterProof = () => {
  tabStorage.write(provenKey, isShownByProxy() ? `${Date.now()} ${location.pathname}` : undefined)
  redirectAfterSignIn(returnToAfterStepUp())
}

const ProveAgain = () => {
  const { value: prover, refusal, reload } = useLoaded(askProver, signInUnlessTemporary)
  if (refusal) return <PageNotLoaded refusal={refusal} onTryAgain={reload} />
  if (!prover) return <LoadingCard />
  return prover.lacksFactor ? <NoSecondFactor username={prover.username} /> : <Prove prover={prover} />
}

/** The account is in no group that may see the page. Another proof would not help. */
const NoAccess = () => {
  const words = useWords('step-up')
  const { tryAgain } = useWords('common')
  const { afterSignIn } = useSettings()
  const application = useProtectedApplication(returnToAfterStepUp())
  const { value: caller, refusal, reload } = useLoaded(() => client.me(), signInUnlessTemporary)
  if (refusal) return <PageNotLoaded refusal={refusal} onTryAgain={reload} />
  if (!caller) return <LoadingCard />
  const returnTo = returnToAfterStepUp()
  // A new tab begins with an empty page, which `history.length` counts.
  const goBack = () => (history.length > 2 ? history.back() : location.replace(afterSignIn))
  const otherAccount = withReturnTo('/login?notice=other_account', returnTo)
  // The login page replaces this one in the history, so that "back" does not lead here again.
  const toOtherAccount = (event: Event) => {
    event.preventDefault()
    location.replace(otherAccount)
  }
  return (
    <Card>
      <Heading text={words.noAccessHeading} />
      <p class="lead">
        <strong>{fill(words.signedInAs, { username: caller.user.username })}</strong>{' '}
        {application ? fill(words.noAccessTo, { application: application.name }) : words.noAccess} <HelpLink />
      </p>
      <div class="other-way">
        <a class="button primary" href={otherAccount} onClick={toOtherAccount}>
          {words.otherAccount}
        </a>
        {returnTo !== undefined && (
          <a class="button plain" href={returnTo}>
            {tryAgain}
          </a>
        )}
        <Button onPress={goBack}>{words.back}</Button>
      </div>
      <OtherWays />
    </Card>
  )
}

const NoSecondFactor = ({ username }: { username: string }) => {
  const words = useWords('step-up')
  return (
    <Card>
      <Heading text={words.noSecondFactorHeading} />
      <p class="lead">{words.noSecondFactor}</p>
      <p class="card-note">{fill(words.signedInAs, { username })}</p>
      <OtherWays look="primary" />
    </Card>
  )
}

const Prove = ({ prover }: { prover: Prover }) => {
  const words = useWords('step-up')
  return (
    <Card>
      <Heading text={words.heading} />
      <p class="lead">
        {words.lead} {fill(words.signedInAs, { username: prover.username })}
      </p>
      <StepUpForm
        methods={prover.methods}
        username={prover.username}
        onProven={goBackAfterProof}
        onSignedOut={signIn}
      />
      <p class="divider">{useWords('common').or}</p>
      <OtherWays />
    </Card>
  )
}

/** For a user who cannot prove their identity, or who has found the open session of another person. */
const OtherWays = ({ look = 'plain' }: { look?: 'primary' | 'plain' }) => {
  const { toAccount } = useWords('step-up')
  return (
    <div class="other-way">
      <a class={`button ${look}`} href="/api/auth/account-page">
        {toAccount}
      </a>
      <SignOutButton />
    </div>
  )
}

const signInUnlessTemporary = (refusal: Refusal) => {
  if (isTemporary(refusal)) return false
  signIn()
  return true
}

const askProver = async (): Promise<Answer<Prover>> => {
  const caller = await client.me()
  if (caller.refused) return caller
  const { username } = caller.value.user
  const answer = await client.stepUpMethods()
  if (answer.refused) return answer
  const { methods } = answer.value
  if (conditionInQuery('factors') !== '2') return { value: { methods, username } }
  const secondFactors = secondFactorsAmong(methods)
  if (secondFactors.length === 0) return { value: { methods: [], username, lacksFactor: true } }
  const sessions = await client.sessions()
  if (sessions.refused) return sessions
  const proven = sessions.value.sessions.find(({ current }) => current)?.methods ?? []
  const sufficientMethods = reachingTwoFactors(secondFactors, proven)
  // Removing a passkey takes it from the proofs of the session. A session that began with it then has no first factor, and a code is not
  // enough.
  if (sufficientMethods.length > 0) return { value: { methods: sufficientMethods, username } }
  signIn()
  return new Promise(() => undefined)
}

mount(StepUp)
