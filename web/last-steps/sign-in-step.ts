import type { Refusal } from '#client/client.js'
import type { SecondFactorWaiting } from '#contract/schemas.js'

/** The props of each step of a sign-in that is not finished. */
export type SignInStepProps = {
  waiting: SecondFactorWaiting
  returnTo: string | undefined
  /** Another step was shown before. Its button had the focus and is gone, so the heading takes the focus. */
  takesFocus: boolean
  /** Called with the answer of the service: a session, or the next step. */
  onAnswered: (answered: object) => void
  /** Returns whether the sign-in has expired. If so, the page says it. */
  endIfExpired: (refusal: Refusal) => boolean
}
