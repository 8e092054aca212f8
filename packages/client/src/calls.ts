import type { AccountExport, LinkedAccount } from '#contract/account-export.js'
import type {
  EmailLink,
  InvitationState,
  JoinedGroups,
  LinkState,
  MailLoginLink,
  MailLoginNext,
  MailRegistration,
  ResetLink,
  UndoState,
  WaitingEmail,
} from '#contract/mailed-links.js'
import type { PasskeyCreationOptions, PasskeyCredential, PasskeyRequestOptions } from '#contract/passkeys.js'
import type { MadePersonalToken, NewPersonalToken, PersonalTokens } from '#contract/personal-tokens.js'
import type { ProfileFieldDefinition } from '#contract/profile-fields.js'
import { providerPath } from '#contract/provider-paths.js'
import type { ProviderId } from '#contract/providers.js'
import type {
  Accepted,
  Account,
  AccountEvent,
  AccountPatch,
  Caller,
  Factors,
  Passkey,
  RecoveryCodes,
  SecondFactorNeeded,
  SecondFactorWaiting,
  Session,
  SignedIn,
  StepUpMethods,
  Strength,
  TotpBegun,
  UsableApplication,
  UsedApplication,
} from '#contract/schemas.js'
import type { Sending } from './sending.js'

/** Personal data of a user. A password that contains it is easy to guess. */
export type PersonalData = { username?: string | undefined; email?: string | undefined; name?: string | undefined }
export type Registration = {
  /** May be left out if the service makes the username from the address (USERNAMES). */
  username?: string | undefined
  email: string
  password: string
  name?: string | undefined
  /** Values of the fields that the service asks new users for, by key (PROFILE_FIELDS_FILE). */
  fields?: Record<string, string | boolean | null> | undefined
  /** The version of the terms that the user agrees to. */
  terms?: string | undefined
  /** The token of an invitation for this address. */
  invite?: string | undefined
  /** Whether to sign in at once, if the link of `invite` was mailed to this address. Otherwise a mail follows, as always. */
  signIn?: boolean
  /** The id (`client_id`) of the application that has sent the user here. The page behind the mailed link names it, in any browser. */
  application?: string | undefined
}
/** The token of a mailed link, with the password if the registration began in another browser; or the mailed code. */
export type EmailProof = { token: string; password?: string | undefined } | { code: string }

/**
 * The token of the mail to a new address. The password is needed if the user is not signed in in this browser. Call `me` first: it
 * renews a session whose tokens have expired.
 */
export type EmailConfirmation = { token: string; password?: string | undefined }
/** The token of a link to /undo. It begins with `email-`, for `undoEmail`, or with `factor-`, for `undoFactor`. */
export type UndoLink = { token: string }
/** `password` is the new password. Without it, the old password stops working, and a link to choose a new one is mailed. */
export type TakeBack = UndoLink & { password?: string | undefined }

/** The proof or answer that finishes a sign-in that waits, or leads to its next step. `terms` is the version that the user has seen. */
export type SecondStep =
  | { code: string; trustDevice?: boolean | undefined }
  | { fields: Record<string, string | boolean | null> }
  | { terms: string }

/** A proof by one of the `methods` that `fresh_sign_in_required` names. `code`: of an app, or a recovery code. */
export type Proof = { password: string } | { code: string } | { mailedCode: string } | { credential: PasskeyCredential }

/** Signing in and its second step, authenticator apps, the signed-in user, sessions, applications, and signing out. */
const createSignInCalls = (sending: Sending) => ({
  /** If the answer has `next` and no `user`, continue with `secondFactor` or `mailEnrolmentCode`, or on the page /second-factor. */
  login: (credentials: { username: string; password: string }) =>
    sending.signIn<SignedIn | SecondFactorNeeded>('login', credentials),
  /** Asks what the sign-in of this browser still needs. */
  checkSecondFactor: () => sending.send<SecondFactorWaiting>('GET', 'second-factor'),
  /**
   * Sends a code, or the answer to `next: "profile"` or `next: "terms"`. The answer of the service has `next` again if another step
   * follows.
   */
  secondFactor: (proof: SecondStep) => sending.signIn<SignedIn | SecondFactorNeeded>('second-factor', proof),
  factors: () => sending.read<Factors>('factors'),
  beginTotp: () => sending.change<TotpBegun>('POST', 'totp'),
  confirmTotp: (proof: { code: string }) => sending.change<RecoveryCodes>('POST', 'totp/confirm', proof),
  /** Begins to replace the app of the account. The old app works until a code of the new one confirms it. */
  beginNewTotp: () => sending.change<TotpBegun>('POST', 'totp/new'),
  confirmNewTotp: (proof: { code: string }) => sending.change('POST', 'totp/new/confirm', proof),
  removeTotp: () => sending.change('DELETE', 'totp'),
  renewRecoveryCodes: () => sending.change<RecoveryCodes>('POST', 'recovery-codes'),
  removeTrustedDevice: (id: string) => sending.change('DELETE', `trusted-devices/${encodeURIComponent(id)}`),
  stepUpMethods: () => sending.read<StepUpMethods>('step-up'),
  /** Proves again who the user is. Afterwards a call that was refused with `fresh_sign_in_required` can be repeated. */
  stepUp: (proof: Proof) => sending.replaceTokens<SignedIn>('POST', 'step-up', proof),
  /** Mails a code to a user who has no other method of proof. */
  mailStepUpCode: () => sending.change<Accepted>('POST', 'step-up/mail', {}),
  /** The signed-in user. It needs no database while the access token is valid, so ask as often as you like. */
  me: async () => {
    const learn = sending.asking()
    const answer = await sending.read<Caller>('me')
    if (!answer.refused) learn(answer.value.user)
    return answer
  },
  events: () => sending.read<{ events: AccountEvent[] }>('events'),
  sessions: () => sending.read<{ sessions: Session[] }>('sessions'),
  endSession: (id: string) => sending.change('DELETE', `sessions/${encodeURIComponent(id)}`),
  /** The applications that this user has used, and those that the user may open. */
  applications: () => sending.read<{ applications: UsedApplication[]; usable: UsableApplication[] }>('applications'),
  personalTokens: () => sending.read<PersonalTokens>('tokens'),
  /** Ends the access of an application in all sessions. The application can ask for access again. */
  makeToken: (token: NewPersonalToken) => sending.change<MadePersonalToken>('POST', 'tokens', token),
  endToken: (id: string) => sending.change('DELETE', `tokens/${encodeURIComponent(id)}`),
  endApplication: (id: string) => sending.change('DELETE', `applications/${encodeURIComponent(id)}`),
  // A sign-out does not renew tokens: if the session has already ended, there is nothing left to do.
  logout: () => sending.signOut(sending.sendWithCsrfToken('POST', 'logout', {})),
  logoutAll: () => sending.signOut(sending.change('POST', 'logout-all', {})),
})

/** What a mail finishes: a registration, a sign-in, a new address or password, and a change that is taken back. */
const createMailedCalls = (sending: Sending) => ({
  register: (registration: Registration) =>
    sending.signIn<Accepted | SignedIn | SecondFactorNeeded>('register', registration),
  /** Says whom an invitation is for, who invites, and what the user does `next`. Call `me` first: it renews a session whose tokens have expired. */
  checkInvitation: (link: { token: string }) => sending.post<InvitationState>('invite/check', link),
  /** The signed-in user joins the groups of an invitation. The next call renews the tokens, which then have the groups. */
  acceptInvitation: (link: { token: string }) => sending.change<JoinedGroups>('POST', 'invite/accept', link),
  verifyEmail: (proof: EmailProof) => sending.signIn<SignedIn | SecondFactorNeeded>('verify-email', proof),
  /** The state of a mailed link, or of the registration that this browser began. */
  checkVerification: (link: { token?: string } = {}) => sending.post<LinkState>('verify-email/check', link),
  resendVerification: () => sending.post<Accepted>('verify-email/resend'),
  /** Mails a link for a new password. `application` is the same as in a registration. */
  resetPassword: (account: { email: string; application?: string | undefined }) =>
    sending.post<Accepted>('reset-password', account),
  checkReset: (link: { token: string }) => sending.post<ResetLink>('reset-password/check', link),
  /** With `signIn` the answer is that of a sign-in. Without it, or if the account has changed meanwhile, the value is undefined. */
  confirmReset: (reset: { token: string; password: string; signIn?: boolean }) =>
    sending.signIn<SignedIn | SecondFactorNeeded | undefined>('reset-password/confirm', reset),
  changePassword: (passwords: { currentPassword: string; newPassword: string }) =>
    sending.replaceTokens('POST', 'change-password', passwords),
  passwordStrength: (about: PersonalData & { password: string }) => sending.post<Strength>('password-strength', about),

  // Signing in by mail, if the service offers it (MAIL_SIGN_IN).
  /** Mails a code and a link. Both work only in this browser. */
  mailLogin: (account: { email: string }) => sending.post<Accepted>('mail-login', account),
  /** Asks whether the link signs in in this browser. */
  checkMailLogin: (link: { token: string }) => sending.post<MailLoginLink>('mail-login/check', link),
  /** Signs in with the code, or with the token of the link. After `next: "registration"`, continue with `registerByMail`. */
  confirmMailLogin: (proof: { code: string } | { token: string }) =>
    sending.signIn<SignedIn | MailLoginNext>('mail-login/confirm', proof),
  /** Repeats the answer with `next: "registration"`, after a reload. */
  checkMailRegistration: () => sending.send<MailRegistration>('GET', 'mail-login/registration'),
  /** Creates the account of the address that the mail has proven. */
  registerByMail: (account: Pick<Registration, 'username' | 'name' | 'fields' | 'terms'>) =>
    sending.signIn<SignedIn | SecondFactorNeeded>('mail-login/registration', account),

  /** The new address that waits for its confirmation. */
  waitingEmail: () => sending.read<{ waiting: WaitingEmail | null }>('email'),
  cancelEmailChange: () => sending.change('DELETE', 'email'),
  checkEmailLink: (link: { token: string }) => sending.post<EmailLink>('email/check', link),
  checkUndo: (link: UndoLink) => sending.post<UndoState>('undo/check', link),
  changeEmail: (account: { email: string }) => sending.change<Accepted>('POST', 'email', account),
  confirmEmail: (link: EmailConfirmation) => sending.signIn<undefined>('email/confirm', link),
  /** Confirms the new address by the mailed code, in the session that asked for the change. */
  proveEmail: (proof: { code: string }) => sending.replaceTokens('POST', 'email/code', proof),
  undoEmail: (link: TakeBack) => sending.post<undefined>('email/undo', link),
  /** Removes what was added to the account: a passkey, an app or a provider. */
  undoFactor: (link: TakeBack) => sending.post<undefined>('factors/undo', link),
})

/** All calls of the client. */
export const createCalls = (sending: Sending) => ({
  ...createPasskeyCalls(sending),
  ...createEnrolmentCalls(sending),
  ...createSignInCalls(sending),
  ...createMailedCalls(sending),
  ...createAccountCalls(sending),
})

export type Calls = ReturnType<typeof createCalls>

/** Both addresses of the account page. */
export type AccountPage = '/dashboard' | '/api/auth/account-page'

/** Calls of users about their account itself, and its providers. */
const createAccountCalls = (sending: Sending) => ({
  account: () =>
    sending.read<{ user: Account; fields: ProfileFieldDefinition[]; linkedAccounts: LinkedAccount[] }>('account'),
  /** A new username needs a fresh sign-in, and the new tokens have it at once. `language` is the language of mails about the account. */
  changeAccount: async (changes: AccountPatch) => {
    const answer = await sending.replaceTokens<SignedIn>('PATCH', 'account', changes)
    if (!answer.refused) sending.asking()(answer.value.user, 'this_tab')
    return answer
  },
  /** Everything that is stored about the user. */
  exportData: () => sending.read<AccountExport>('export'),
  /** Deletes the account for good. The user types the username to show that they mean it. */
  deleteAccount: (confirmation: { username: string }) =>
    sending.signOut(sending.change('POST', 'delete-account', confirmation)),
  /** Go to the `location` of the answer. The provider sends the user back to the account page, which finishes the link. */
  linkProvider: (id: ProviderId, page: { returnTo?: AccountPage } = {}) =>
    sending.change<{ location: string }>('POST', `${pathOfProvider(id)}/link`, page),
  finishLink: (id: ProviderId) => sending.change('POST', `${pathOfProvider(id)}/link/finish`, {}),
  unlinkProvider: (id: ProviderId) => sending.change('DELETE', pathOfProvider(id)),
})

const pathOfProvider = (id: ProviderId) => `providers/${providerPath(id)}`

/** The browser makes a credential from the options. The service takes its `toJSON()`. */
const createPasskeyCalls = (sending: Sending) => ({
  /** For `PublicKeyCredential.parseRequestOptionsFromJSON`. */
  passkeyLoginOptions: () => sending.post<PasskeyRequestOptions>('passkey-login/options'),
  passkeyLogin: (answer: { credential: PasskeyCredential }) =>
    sending.signIn<SignedIn | SecondFactorNeeded>('passkey-login', answer),
  stepUpPasskeyOptions: () => sending.change<PasskeyRequestOptions>('POST', 'step-up/passkey/options'),
  /** For `PublicKeyCredential.parseCreationOptionsFromJSON`. */
  passkeyOptions: () => sending.change<PasskeyCreationOptions>('POST', 'passkeys/options'),
  addPasskey: (made: { credential: PasskeyCredential; name?: string | undefined }) =>
    sending.change<Passkey>('POST', 'passkeys', made),
  renamePasskey: (id: string, to: { name: string }) => sending.change<Passkey>('PATCH', passkeyPath(id), to),
  removePasskey: (id: string) => sending.change('DELETE', passkeyPath(id)),
})

const passkeyPath = (id: string) => `passkeys/${encodeURIComponent(id)}`

/**
 * Calls after `next: "enrolment"`. Open the enrolment with a mailed code or with the password, as `checkSecondFactor` says. Then add a
 * factor, which finishes the sign-in.
 */
const createEnrolmentCalls = (sending: Sending) => {
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
