import { useEffect, useState } from 'preact/hooks'
import { isTemporary, type Refusal } from '#client/client.js'
import { type ProofMethod, reachingTwoFactors, secondFactorsAmong } from '#contract/proofs.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { queryValue, redirectAfterSignIn, returnToAfterStepUp, withReturnTo } from '../browser/navigation.js'
import { Card } from '../components/card.js'
import { Heading } from '../components/heading.js'
import { LoadingCard } from '../components/loading-card.js'
import { Notice } from '../components/notice.js'
import { PageNotLoaded } from '../components/page-not-loaded.js'
import { SignOutButton } from '../dashboard/sign-out-button.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable-callback.js'
import { StepUpForm } from '../step-up/step-up-form.js'
import { useSentences } from '../words/refusals.js'

/** What leads to what the application asks for. Nothing, if it asks for two factors and the account has no second one. */
type Prover = { methods: readonly ProofMethod[]; username: string }

/** A new sign-in is a proof too: it leads back to where the user wanted to go. */
const signIn = () => location.replace(withReturnTo('/login?notice=sign_in', returnToAfterStepUp()))

/** An application has sent the user here to prove again who they are. It says in the address what it asks for. */
const StepUp = () => {
  const words = useWords('step-up')
  const { prover, refused, load } = useProver()
  if (refused) return <PageNotLoaded heading={words.heading} refused={refused} onTryAgain={load} />
  if (!prover) return <LoadingCard />
  const { methods } = prover
  if (methods.length === 0) {
    return (
      <Card footer={<a href="/api/auth/account-page">{words.toAccount}</a>}>
        <Heading text={words.noSecondFactorHeading} />
        <p class="lead">{words.noSecondFactor}</p>
        <SignOut />
      </Card>
    )
  }
  return (
    <Card footer={<a href="/api/auth/account-page">{words.toAccount}</a>}>
      <Heading text={words.heading} />
      <p class="lead">{words.lead}</p>
      <StepUpForm {...prover} onProven={() => redirectAfterSignIn(returnToAfterStepUp())} onSignedOut={signIn} />
      <SignOut />
    </Card>
  )
}

/** For a user who cannot prove it, or whose session is open in a browser of another person. */
const SignOut = () => {
  const words = useWords('common')
  const sentenceFor = useSentences()
  const [refused, setRefused] = useState<Refusal>()
  // A session that has ended needs no sign-out.
  const onRefused = (refusal: Refusal) => (refusal.refused === 'not_authenticated' ? signIn() : setRefused(refusal))
  return (
    <>
      {refused && <Notice kind="error">{`${words.notSignedOut} ${sentenceFor(refused)}`}</Notice>}
      <SignOutButton look="quiet" onRefused={onRefused} />
    </>
  )
}

const useProver = () => {
  const [prover, setProver] = useState<Prover>()
  const [refused, setRefused] = useState<Refusal>()
  const refuse = (refusal: Refusal) => (isTemporary(refusal) ? setRefused(refusal) : signIn())
  const load = useStableCallback(async () => {
    const caller = await client.me()
    if (caller.refused) return refuse(caller)
    const { username } = caller.value.user
    const answer = await client.stepUpMethods()
    if (answer.refused) return refuse(answer)
    setRefused(undefined)
    const { methods } = answer.value
    if (queryValue('factors') !== '2') return setProver({ methods, username })
    const secondFactors = secondFactorsAmong(methods)
    if (secondFactors.length === 0) return setProver({ methods: [], username })
    const listed = await client.sessions()
    if (listed.refused) return refuse(listed)
    const proven = listed.value.sessions.find(({ current }) => current)?.methods ?? []
    const reaching = reachingTwoFactors(secondFactors, proven)
    // In a session that began with a passkey that was removed since, a code is one factor only.
    return reaching.length > 0 ? setProver({ methods: reaching, username }) : signIn()
  })
  useEffect(() => {
    void load()
  }, [])
  return { prover, refused, load }
}

mount(StepUp)
