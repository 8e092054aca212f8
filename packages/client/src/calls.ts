import type { PasskeyCredential } from '#contract/passkeys.js'
import { linkedProviderPath } from '#contract/provider-paths.js'
import type { ProviderId } from '#contract/providers.js'
import type {
  Accepted,
  AccountEvent,
  Caller,
  EmailLink,
  Factors,
  LinkState,
  RecoveryCodes,
  SecondFactorNeeded,
  SecondFactorWaiting,
  Session,
  SignedIn,
  StepUpMethods,
  Strength,
  TotpBegun,
  UndoState,
  WaitingEmail,
} from '#contract/schemas.js'
import { createAccountCalls } from './account-calls.js'
import type { Answer } from './answers.js'
import { createEnrolmentCalls } from './enrolment-calls.js'
import { createPasskeyCalls } from './passkey-calls.js'
import type { Presence } from './presence.js'
import type { Renewal } from './renewal.js'
import type { Method, Requests } from './requests.js'

/** What is known of a user. A password that contains it is easy to guess. */
export type PersonalData = { username?: string | undefined; email?: string | undefined; name?: string | undefined }
export type Registration = {
  username: string
  email: string
  password: string
  name?: string | undefined
  /** The token of an invitation for this address. */
  invite?: string | undefined
}
/** The token of a mailed link, with the password if another browser registered; or the mailed code. */
export type EmailProof = { token: string; password?: string | undefined } | { code: string }

/**
 * The token of the mail to a new address. Without a session of its user (ask `me` first, which renews it) the password is
 * needed.
 */
export type EmailConfirmation = { token: string; password?: string | undefined }
/** The token of a link to /undo. It begins with `email-`, for `undoEmail`, or with `factor-`, for `undoFactor`. */
export type UndoLink = { token: string }
/** With `password` it is the new one. Without, no password works, and a link to choose one is mailed. */
export type TakeBack = UndoLink & { password?: string | undefined }

/** Both addresses of the account page. */
export type AccountPage = '/dashboard' | '/api/auth/account-page'

/** One of the ways in the `methods` of `fresh_sign_in_required`. */
export type Proof = { password: string } | { code: string } | { mailedCode: string } | { credential: PasskeyCredential }

type Dependencies = Requests & Renewal & Presence

type Read = <Value>(path: string) => Promise<Answer<Value>>
type Change = <Value = undefined>(method: Method, path: string, body?: object) => Promise<Answer<Value>>

/** A new email address, and the links in mails about a change of the account. */
const createEmailCalls = ({
  send,
  withoutRenewal,
  read,
  change,
}: Pick<Dependencies, 'send' | 'withoutRenewal'> & { read: Read; change: Change }) => {
  const use = (path: string, link: object) => send<undefined>('POST', path, link)
  return {
    /** The new address that waits for its confirmation. */
    waitingEmail: () => read<{ waiting: WaitingEmail | null }>('email'),
    cancelEmailChange: () => change('DELETE', 'email'),
    checkEmailLink: (link: { token: string }) => withoutRenewal(() => send<EmailLink>('POST', 'email/check', link)),
    checkUndo: (link: UndoLink) => send<UndoState>('POST', 'undo/check', link),
    changeEmail: (account: { email: string }) => change<Accepted>('POST', 'email', account),
    confirmEmail: (link: EmailConfirmation) => withoutRenewal(() => use('email/confirm', link)),
    undoEmail: (link: TakeBack) => use('email/undo', link),
    undoFactor: (link: TakeBack) => use('factors/undo', link),
  }
}

/** Ways to send a call: by anyone, by a signed-in user, to change something, to sign in and to sign out. */
const createSending = ({ send, sendWithCsrfToken, asSignedIn, withoutRenewal, learn }: Dependencies) => {
  const post = <Value>(path: string, body?: object) => send<Value>('POST', path, body)
  const read = <Value>(path: string) => asSignedIn(() => send<Value>('GET', path))
  const change = <Value = undefined>(method: Method, path: string, body?: object) =>
    asSignedIn(() => sendWithCsrfToken<Value>(method, path, body))
  const replaceTokens = <Value = undefined>(method: Method, path: string, body: object) =>
    asSignedIn(() => withoutRenewal(() => sendWithCsrfToken<Value>(method, path, body)))

  const signIn = async <Value extends SignedIn | SecondFactorNeeded = SignedIn>(
    path: string,
    body: object,
    sendIt = post,
  ) => {
    const answer = await withoutRenewal(() => sendIt<Value>(path, body))
    if (!answer.refused && 'user' in answer.value) learn(answer.value.user, 'this_tab')
    return answer
  }

  const signOut = async (answering: Promise<Answer<undefined>>) => {
    const answer = await answering
    if (!answer.refused) learn(null, 'this_tab')
    return answer
  }

  return { post, read, change, replaceTokens, signIn, signOut }
}

type Sending = ReturnType<typeof createSending>

/** Signing in with a password, and who is signed in. */
const createSignInCalls = ({
  read,
  signIn,
  learn,
}: Pick<Dependencies, 'learn'> & Pick<Sending, 'read' | 'signIn'>) => ({
  /** With `next` instead of a user: go on with `secondFactor` or `mailEnrolmentCode`, or on the page /second-factor. */
  login: (credentials: { username: string; password: string }) =>
    signIn<SignedIn | SecondFactorNeeded>('login', credentials),
  /** Who is signed in. It asks no database, so ask it as often as you like. */
  me: async () => {
    const answer = await read<Caller>('me')
    if (!answer.refused) learn(answer.value.user)
    return answer
  },
})

/** The sessions of the account, and signing out of them. */
const createSessionCalls = ({
  sendWithCsrfToken,
  read,
  change,
  signOut,
}: Pick<Dependencies, 'sendWithCsrfToken'> & Pick<Sending, 'read' | 'change' | 'signOut'>) => ({
  sessions: () => read<{ sessions: Session[] }>('sessions'),
  endSession: (id: string) => change('DELETE', `sessions/${encodeURIComponent(id)}`),
  // No new tokens for signing out: if the session has ended already, there is nothing left to do.
  logout: () => signOut(sendWithCsrfToken('POST', 'logout', {})),
  logoutAll: () => signOut(change('POST', 'logout-all', {})),
})

/** From a registration to the first sign-in. */
const createRegistrationCalls = ({ post, signIn }: Pick<Sending, 'post' | 'signIn'>) => ({
  register: (registration: Registration) => post<Accepted>('register', registration),
  /** The address that an invitation is for. */
  checkInvitation: (link: { token: string }) => post<{ email: string }>('invite/check', link),
  verifyEmail: (proof: EmailProof) => signIn<SignedIn | SecondFactorNeeded>('verify-email', proof),
  /** The state of a mailed link, or of the registration that this browser began. */
  checkVerification: (link: { token?: string } = {}) => post<LinkState>('verify-email/check', link),
  resendVerification: () => post<Accepted>('verify-email/resend'),
})

/** Choosing a password, with a mailed link or with the old one. */
const createPasswordCalls = ({ post, replaceTokens }: Pick<Sending, 'post' | 'replaceTokens'>) => ({
  resetPassword: (account: { email: string }) => post<Accepted>('reset-password', account),
  checkReset: (link: { token: string }) => post<{ username: string }>('reset-password/check', link),
  confirmReset: (reset: { token: string; password: string }) => post<undefined>('reset-password/confirm', reset),
  changePassword: (passwords: { currentPassword: string; newPassword: string }) =>
    replaceTokens('POST', 'change-password', passwords),
  passwordStrength: (about: PersonalData & { password: string }) => post<Strength>('password-strength', about),
})

/** The second step of a sign-in, and the authenticator app that it needs. */
const createFactorCalls = ({
  send,
  read,
  change,
  signIn,
}: Pick<Dependencies, 'send'> & Pick<Sending, 'read' | 'change' | 'signIn'>) => ({
  /** What the sign-in of this browser still needs. */
  checkSecondFactor: () => send<SecondFactorWaiting>('GET', 'second-factor'),
  secondFactor: (proof: { code: string; trustDevice?: boolean | undefined }) => signIn('second-factor', proof),
  factors: () => read<Factors>('factors'),
  beginTotp: () => change<TotpBegun>('POST', 'totp'),
  confirmTotp: (proof: { code: string }) => change<RecoveryCodes>('POST', 'totp/confirm', proof),
  removeTotp: () => change('DELETE', 'totp'),
  renewRecoveryCodes: () => change<RecoveryCodes>('POST', 'recovery-codes'),
  removeTrustedDevice: (id: string) => change('DELETE', `trusted-devices/${encodeURIComponent(id)}`),
})

/** A fresh sign-in, for what needs one. */
const createStepUpCalls = ({ read, change, replaceTokens }: Pick<Sending, 'read' | 'change' | 'replaceTokens'>) => ({
  stepUpMethods: () => read<StepUpMethods>('step-up'),
  /** Proves it again. Afterwards what was refused with `fresh_sign_in_required` can be repeated. */
  stepUp: (proof: Proof) => replaceTokens<SignedIn>('POST', 'step-up', proof),
  /** Mails the code for an account that can prove it in no other way. */
  mailStepUpCode: () => change<Accepted>('POST', 'step-up/mail', {}),
})

/** Providers of the account. */
const createProviderCalls = ({ change }: Pick<Sending, 'change'>) => ({
  /** Go to the `location` of the answer. The provider sends the user back to the account page, which finishes the link. */
  linkProvider: (id: ProviderId, page: { returnTo?: AccountPage } = {}) =>
    change<{ location: string }>('POST', `${pathOf(id)}/link`, page),
  finishLink: (id: ProviderId) => change('POST', `${pathOf(id)}/link/finish`, {}),
  unlinkProvider: (id: ProviderId) => change('DELETE', pathOf(id)),
})

/** Every call of the API that a page can make. No other file knows the addresses. */
export const createCalls = (deps: Dependencies) => {
  const { send, sendWithCsrfToken, withoutRenewal, learn } = deps
  const { post, read, change, replaceTokens, signIn, signOut } = createSending(deps)
  return {
    ...createPasskeyCalls({ post, change, signIn }),
    ...createEnrolmentCalls({ post, sendWithCsrfToken, signIn }),
    ...createSignInCalls({ read, signIn, learn }),
    ...createRegistrationCalls({ post, signIn }),
    ...createPasswordCalls({ post, replaceTokens }),
    ...createEmailCalls({ send, withoutRenewal, read, change }),
    ...createFactorCalls({ send, read, change, signIn }),
    ...createStepUpCalls({ read, change, replaceTokens }),
    ...createProviderCalls({ change }),
    ...createAccountCalls({ read, change, replaceTokens, learn, signOut }),
    events: () => read<{ events: AccountEvent[] }>('events'),
    ...createSessionCalls({ sendWithCsrfToken, read, change, signOut }),
  }
}

export type Calls = ReturnType<typeof createCalls>

const pathOf = (id: ProviderId) => linkedProviderPath(id).slice('/api/auth/'.length)
