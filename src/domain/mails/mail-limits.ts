import { days, hours } from '../../lib/durations.js'
import { resetLifetime } from '../one-time-tokens/one-time-tokens.js'
import { emailKey } from '../users/email.js'
import type { MailKind } from './letters.js'

/**
 * Mails that any visitor can cause are limited for each address, and so are those about sign-ins. A notice after a change is
 * never limited. Resets are counted over the time that a link is valid: when the last link has expired, the next mail can be
 * sent.
 */
const ceilings: Record<MailKind, { mails: number; within: number } | undefined> = {
  'verify-email': { mails: 5, within: 1 * hours },
  'already-registered': { mails: 5, within: 1 * hours },
  'reset-password': { mails: 5, within: resetLifetime },
  // Limited for each user, where the user is told so.
  'step-up-code': undefined,
  'enrolment-code': undefined,
  // Limited before it is known which of the three it is: see the limiter `mail_sign_ins`.
  'mail-sign-in': undefined,
  'mail-sign-up': undefined,
  // It has no code: after one there is nothing new to say.
  'no-mail-sign-in': { mails: 1, within: 1 * days },
  'new-device': { mails: 5, within: 1 * hours },
  'device-trusted': { mails: 5, within: 1 * hours },
  'session-stolen': { mails: 5, within: 1 * hours },
  // Someone who knows the password can begin a sign-in again and again.
  'sign-in-unfinished': { mails: 1, within: 1 * days },
  // Whoever has a key, or the session of an administrator, must not be able to flood a mailbox of others.
  invitation: { mails: 5, within: 1 * days },
  'confirm-email': { mails: 5, within: 1 * hours },
  'email-taken': { mails: 5, within: 1 * hours },
  'address-reserved': { mails: 5, within: 1 * hours },
  // As many as the limit of changes allows: other users must not be able to use up the notices.
  'email-change-asked': undefined,
  'email-changed': undefined,
  'account-restored': undefined,
  'email-withdrawn': undefined,
  'password-changed': undefined,
  'password-reset': undefined,
  'provider-linked': undefined,
  'provider-unlinked': undefined,
  'totp-added': undefined,
  'totp-replaced': undefined,
  'totp-removed': undefined,
  'recovery-codes-renewed': undefined,
  'recovery-code-used': undefined,
  'wrong-codes': undefined,
  'passkey-added': undefined,
  'passkey-removed': undefined,
  'factors-reset': undefined,
  'account-disabled': undefined,
  'account-enabled': undefined,
  'account-locked-down': undefined,
  'admin-session-began': { mails: 5, within: 1 * hours },
  'password-expired': undefined,
  'language-changed': undefined,
  'username-changed': undefined,
  'account-deleted': undefined,
}

/**
 * One request causes one mail of these kinds, and which one depends on whether the address has an account. They share a
 * limit, so that a limit does not tell which kind it was.
 */
const alternatives: readonly (readonly MailKind[])[] = [
  ['verify-email', 'already-registered', 'address-reserved'],
  ['confirm-email', 'email-taken'],
]
/** Mails that give the same warning: the owner knows already that someone may know the password. */
const kindsWithSameWarning: Partial<Record<MailKind, readonly MailKind[]>> = {
  'sign-in-unfinished': ['wrong-codes', 'enrolment-code'],
}
/** After one of these the count begins anew: the password that the owner was told about does not work any more. */
const kindsThatRestartCount: Partial<Record<MailKind, readonly MailKind[]>> = {
  'sign-in-unfinished': ['password-reset', 'password-changed', 'password-expired', 'account-restored'],
}
const kindsCountedWith = (kind: MailKind) =>
  alternatives.find((kinds) => kinds.includes(kind)) ?? [kind, ...(kindsWithSameWarning[kind] ?? [])]

/**
 * One mailbox has one limit, however its address is spelled: `ada+news@example.com` is delivered to `ada@example.com`, and Google's
 * mail ignores dots and has two domains.
 */
export const recipientKey = (email: string) => {
  const folded = emailKey(email).replace(/^([^+@]+)\+[^@]*@/, '$1@')
  const [, google] = /^(.+)@(?:gmail|googlemail)\.com$/.exec(folded) ?? []
  return google === undefined ? folded : `${google.replaceAll('.', '')}@gmail.com`
}

/** `countedSince`: mails before the newest of these kinds do not count. */
export type Ceiling = {
  mails: number
  within: number
  kinds: readonly MailKind[]
  countedSince: readonly MailKind[]
}

/** How many mails of these kinds together one address gets; undefined if there is no limit. */
export const ceilingOf = (kind: MailKind): Ceiling | undefined => {
  const ceiling = ceilings[kind]
  return ceiling && { ...ceiling, kinds: kindsCountedWith(kind), countedSince: kindsThatRestartCount[kind] ?? [] }
}
