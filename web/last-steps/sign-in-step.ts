import type { Refusal } from '#client/client.js'
import type { SecondFactorWaiting } from '#contract/schemas.js'

/** The props of each step of a sign-in that waits. */
export type SignInStepProps = {
  waiting: SecondFactorWaiting
  returnTo: string | undefined
  /** With the session, or with what is asked for next. */
  onAnswered: (answered: object) => void
  /** Whether the sign-in is over, which the page then says. */
  endIfExpired: (refusal: Refusal) => boolean
}
