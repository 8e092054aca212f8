import type { AmrMethod, amrMethods, SignInLabel } from '../contract/factors.js'
import { builtInProviderIds, type ProviderId } from '../contract/providers.js'

import type { LimiterName } from '../http/limiters.js'
import type { FreshSince } from '../sessions/session-facts.js'

/** The means by which an account can sign in, as this service is configured. */
type Means = { hasPassword: boolean; hasProvider: boolean; hasPasskey: boolean }

/** The methods that count as the first proof only, or as both. */
type MethodCountedAs<As extends 'first' | 'both'> = {
  [Name in AmrMethod]: (typeof amrMethods)[Name] extends As ? Name : never
}[AmrMethod]

/** `method` is what `amr` says of a session that begins in this way. */
type MethodColumns = { method: MethodCountedAs<'first'> } | { method: MethodCountedAs<'both'>; beforeEnrolment: null }

/**
 * `freshSince`: since when the session is fresh. A provider may send the browser back without having asked the user. `beforeEnrolment`:
 * what is asked for before the first second factor is added. `its own mail`: the way has just proven the mailbox, together with a password.
 * `trustedDevice`: whether a browser that the user trusts needs no second step. A person who can read the mails must not get around a
 * password or an app, and one mailbox must not be both proofs. So a way by mail is never fresh, no trusted device finishes it, and before
 * an enrolment it asks for the password, if the account has one.
 */
type TrustColumns =
  | { method: 'mail'; freshSince: 'never'; beforeEnrolment: 'password'; trustedDevice: 'asks too' }
  | {
      method: Exclude<AmrMethod, 'mail'>
      freshSince: 'now' | 'what the provider says'
      beforeEnrolment: 'mailed code' | 'its own mail' | null
      trustedDevice: 'skips the second step' | null
    }

type Way = MethodColumns &
  TrustColumns & {
    /** The limiter that counts the requests of a network, before anything is compared; `setup` counts wrong ones only. */
    limiter: Extract<LimiterName, 'login' | 'general' | 'confirm' | 'setup'>
    /** The event that users see in the list of their account. */
    event: 'signed_in' | 'registered'
    /** Whether the owner gets a mail if the second step never comes, because another person may know the first proof. */
    tellsOfUnfinished: boolean
    /** Whether an account can sign in like this again and again. A user cannot remove the last such way. */
    isOpenTo: (account: Means) => boolean
  }

/**
 * Every way to sign in. Its name is the label in the metrics and the reason in events, where a provider has its own id. The list of
 * sessions names the method instead.
 */
export const waysToSignIn = {
  password: {
    method: 'pwd',
    freshSince: 'now',
    beforeEnrolment: 'mailed code',
    trustedDevice: 'skips the second step',
    limiter: 'login',
    event: 'signed_in',
    tellsOfUnfinished: true,
    isOpenTo: ({ hasPassword }) => hasPassword,
  },
  // The link or the code of the mail, with the password that was chosen in the form.
  registration: {
    method: 'pwd',
    freshSince: 'now',
    beforeEnrolment: 'its own mail',
    trustedDevice: 'skips the second step',
    limiter: 'general',
    event: 'registered',
    tellsOfUnfinished: true,
    isOpenTo: () => false,
  },
  // The link of the first start, with the password that was chosen in the form. Nothing has proven the address of this account.
  setup: {
    method: 'pwd',
    freshSince: 'now',
    beforeEnrolment: 'mailed code',
    trustedDevice: 'skips the second step',
    limiter: 'setup',
    event: 'registered',
    tellsOfUnfinished: true,
    isOpenTo: () => false,
  },
  // This way is like a sign-in with the password that was chosen a moment ago.
  reset: {
    method: 'pwd',
    freshSince: 'now',
    beforeEnrolment: 'its own mail',
    trustedDevice: 'skips the second step',
    limiter: 'confirm',
    event: 'signed_in',
    tellsOfUnfinished: true,
    isOpenTo: () => false,
  },
  provider: {
    method: 'provider',
    freshSince: 'what the provider says',
    beforeEnrolment: 'mailed code',
    trustedDevice: 'skips the second step',
    limiter: 'general',
    event: 'signed_in',
    tellsOfUnfinished: false,
    isOpenTo: ({ hasProvider }) => hasProvider,
  },
  // An operator can switch MAIL_SIGN_IN off at any time, so this does not count as a remaining way to sign in.
  mail: {
    method: 'mail',
    freshSince: 'never',
    beforeEnrolment: 'password',
    trustedDevice: 'asks too',
    limiter: 'confirm',
    event: 'signed_in',
    tellsOfUnfinished: false,
    isOpenTo: () => false,
  },
  passkey: {
    method: 'passkey',
    freshSince: 'now',
    beforeEnrolment: null,
    trustedDevice: null,
    limiter: 'general',
    event: 'signed_in',
    tellsOfUnfinished: false,
    isOpenTo: ({ hasPasskey }) => hasPasskey,
  },
} as const satisfies Record<string, Way>

type WayToSignIn = keyof typeof waysToSignIn
type WayBy<Method> = {
  [Name in WayToSignIn]: (typeof waysToSignIn)[Name]['method'] extends Method ? Name : never
}[WayToSignIn]

/**
 * The way as which a sign-in by a method waits for its second step. It has the same method, because its row says how fresh the session will
 * be and what opens an enrolment. A method that is two factors by itself waits for nothing.
 */
const waitsAs = {
  pwd: 'password',
  provider: 'provider',
  mail: 'mail',
  passkey: null,
} as const satisfies { [Method in MethodCountedAs<'first'>]: WayBy<Method> } & Record<MethodCountedAs<'both'>, null>
type WaitingWay = NonNullable<(typeof waitsAs)[keyof typeof waitsAs]>

/** The ways that can need a second step. */
type FirstWay = {
  [Name in WayToSignIn]: (typeof waitsAs)[(typeof waysToSignIn)[Name]['method']] extends null ? never : Name
}[WayToSignIn]

type OneOfWays<Name extends WayToSignIn> =
  | { way: 'provider'; provider: ProviderId }
  | { way: Exclude<Name, 'provider'>; provider?: undefined }

/** The way of a sign-in, with the provider if the way is `provider`. */
export type SignedInBy = OneOfWays<WayToSignIn>
export type FirstBy = OneOfWays<FirstWay>
export type WaitingBy = OneOfWays<WaitingWay>

const names = Object.keys(waysToSignIn) as WayToSignIn[]

/** Since when the session of a first proof is fresh. `provenAt`: what the provider says, if it says so. */
export const freshSinceOf = (way: WayToSignIn, provenAt: Date | undefined): FreshSince => {
  const { freshSince } = waysToSignIn[way]
  return freshSince === 'what the provider says' ? (provenAt?.getTime() ?? 'never') : freshSince
}

/** The proof that opens the enrolment of a sign-in that waits as this way. */
export const proofBeforeEnrolment = ({ way }: SignedInBy) => waysToSignIn[way].beforeEnrolment

export const skipsOnTrustedDevice = ({ way }: FirstBy) => waysToSignIn[way].trustedDevice === 'skips the second step'

/** Whether the way has proven the mailbox itself, so that its enrolment is open from the beginning. */
export const provesMail = ({ way }: SignedInBy) => waysToSignIn[way].beforeEnrolment === 'its own mail'

export const canSignIn = (account: Means) => names.some((name) => waysToSignIn[name].isOpenTo(account))

export const labelOf = (by: SignedInBy): SignInLabel => (by.way === 'provider' ? by.provider : by.way)
export const signInLabels = (providers: readonly ProviderId[] = builtInProviderIds): SignInLabel[] => [
  ...names.flatMap((name): readonly SignInLabel[] => (name === 'provider' ? providers : [name])),
  // The session of a device begins from another session, so it is no way to sign in (`beginDeviceSession`).
  'device',
]

/** The event of a session that began. */
export const eventOf = (by: SignedInBy) => {
  const kind = waysToSignIn[by.way].event
  if (by.way === 'provider') return { kind, provider: by.provider, sessionBeganBy: by.provider }
  const hasReason = kind === 'signed_in' || by.way === 'setup'
  return { kind, ...(hasReason && { reason: by.way }), sessionBeganBy: by.way }
}

/** The way as which a sign-in waits for its second step. */
export const waitingWayOf = (by: FirstBy): WaitingBy =>
  by.way === 'provider' ? by : { way: waitsAs[waysToSignIn[by.way].method] }

/** Reads a stored way. Undefined for a way that this release does not know. Such a sign-in is over. */
export const readWay = (way: string, provider: ProviderId | undefined): SignedInBy | undefined => {
  if (way === 'provider') return provider && { way, provider }
  const knownWay = names.find((each) => each === way)
  return knownWay && knownWay !== 'provider' ? { way: knownWay } : undefined
}

/**
 * The way as which a sign-in with all its proofs waits. A registration and the setup wait as a password, because their event was written
 * when the account was created.
 */
export const completeWayOf = (by: SignedInBy): SignedInBy =>
  by.way === 'registration' || by.way === 'setup' ? { way: 'password' } : by
