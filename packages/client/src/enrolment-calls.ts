import type { PasskeyCreationOptions, PasskeyCredential } from '#contract/passkeys.js'
import type { Accepted, Passkey, RecoveryCodes, SecondFactorNeeded, SignedIn, TotpBegun } from '#contract/schemas.js'
import type { Sending } from './sending.js'

/**
 * Calls after `next: "enrolment"`. Open the enrolment with a mailed code or with the password, as `checkSecondFactor` says. Then add a
 * factor, which finishes the sign-in.
 */
export const createEnrolmentCalls = (sending: Sending) => {
  /** Sends a request for the sign-in that waits for a factor, even if the browser has a session. */
  const atEnrolment: Sending['post'] = (path, body) => sending.sendWithCsrfToken('POST', path, body, '?for=challenge')

  return {
    mailEnrolmentCode: () => sending.post<Accepted>('second-factor/mail'),
    openEnrolment: (proof: { mailedCode: string }) => sending.post<SecondFactorNeeded>('second-factor', proof),
    /** Opens the enrolment after a sign-in by mail. */
    openEnrolmentByPassword: (proof: { password: string }) =>
      sending.post<SecondFactorNeeded>('second-factor/password', proof),
    beginTotpToSignIn: () => atEnrolment<TotpBegun>('totp'),
    confirmTotpToSignIn: (proof: { code: string }) =>
      sending.signIn<(SignedIn | SecondFactorNeeded) & RecoveryCodes>('totp/confirm', proof, atEnrolment),
    passkeyOptionsToSignIn: () => atEnrolment<PasskeyCreationOptions>('passkeys/options'),
    addPasskeyToSignIn: (made: { credential: PasskeyCredential; name?: string | undefined }) =>
      sending.signIn<(SignedIn | SecondFactorNeeded) & Passkey>('passkeys', made, atEnrolment),
  }
}
