import { days, hours } from '../lib/durations.js'
import { emailKey } from '../users/names.js'
import type { MailKind } from './letters.js'
import { resetLifetime } from './one-time-tokens.js'

/**
 * Mails that any visitor can cause are limited for each address, and so are mails about sign-ins. A notice after a change is never limited.
 * Resets are counted over the lifetime of a link: when the last link has expired, the next mail can be sent.
 */
const ceilings: Record<MailKind, { mails: number; within: number } | undefined> = {
  'verify-email': { mails: 5, within: 1 * hours },
  'already-registered': { mails: 5, within: 1 * hours },
  'reset-password': { mails: 5, within: resetLifetime },
  // These codes are limited for each user by a limiter, which tells the user so.
  'step-up-code': undefined,
  'enrolment-code': undefined,
  // The limiter `mail_sign_ins` limits these mails before it is known whether the address has an account.
  'mail-sign-in': undefined,
  'mail-sign-up': undefined,
  // The mail has no code, so a second one would say nothing new.
  'no-mail-sign-in': { mails: 1, within: 1 * days },
  'new-device': { mails: 5, within: 1 * hours },
  'new-program': { mails: 5, within: 1 * hours },
  'device-trusted': { mails: 5, within: 1 * hours },
  'session-stolen': { mails: 5, within: 1 * hours },
  'device-proofs-refused': { mails: 5, within: 1 * hours },
  // An attacker who knows the password can begin a sign-in again and again.
  'sign-in-unfinished': { mails: 1, within: 1 * days },
  // A person with a service key, or with the session of an administrator, must not be able to flood the mailboxes of others.
  invitation: { mails: 5, within: 1 * days },
  'group-invitation': { mails: 5, within: 1 * days },
  'confirm-email': { mails: 5, within: 1 * hours },
  'email-taken': { mails: 5, within: 1 * hours },
  'address-reserved': { mails: 5, within: 1 * hours },
  // Notices of changes have no limit here. The limiter `account_changes` limits the changes, and other users must not be able to use up the
  // notices.
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
  'token-made': undefined,
  'factors-reset': undefined,
  'account-disabled': undefined,
  'account-enabled': undefined,
  'account-locked-down': undefined,
  'admin-session-began': { mails: 5, within: 1 * hours },
  'password-expired': undefined,
  'language-changed': undefined,
  'username-changed': undefined,
  'account-deleted': undefined,
  // An administrator must not be able to hide a change behind others.
  'configuration-changed': undefined,
  'administrator-changed': undefined,
}

/**
 * A request causes a mail of one of the kinds in a line. Which kind depends on whether the address has an account. The kinds of a line share
 * a limit, so that a reached limit does not show which kind it was.
 */
const alternatives: readonly (readonly MailKind[])[] = [
  ['verify-email', 'already-registered', 'address-reserved'],
  ['confirm-email', 'email-taken'],
  ['invitation', 'group-invitation'],
]
/** Mails that give the same warning, and are counted together: the owner already knows that someone may know the password. */
const kindsWithSameWarning: Partial<Record<MailKind, readonly MailKind[]>> = {
  'sign-in-unfinished': ['wrong-codes', 'enrolment-code'],
}
/** The count begins again after one of these mails, because the password that the owner was warned about no longer works. */
const kindsThatRestartCount: Partial<Record<MailKind, readonly MailKind[]>> = {
  'sign-in-unfinished': ['password-reset', 'password-changed', 'password-expired', 'account-restored'],
}
const kindsCountedWith = (kind: MailKind) =>
  alternatives.find((kinds) => kinds.includes(kind)) ?? [kind, ...(kindsWithSameWarning[kind] ?? [])]

/**
 * One mailbox has one limit, however its address is spelled. `ada+news@example.com` is delivered to `ada@example.com`, and Gmail ignores
 * dots and has two domains.
 */
export const recipientKey = (email: string) => {
  const withoutTag = emailKey(email).replace(/^([^+@]+)\+[^@]*@/, '$1@')
  const [, google] = /^(.+)@(?:gmail|googlemail)\.com$/.exec(withoutTag) ?? []
  return google === undefined ? withoutTag : `${google.replaceAll('.', '')}@gmail.com`
}

/** `restartedBy`: mails before the newest of these kinds do not count. */
export type Ceiling = {
  mails: number
  within: number
  kinds: readonly MailKind[]
  restartedBy: readonly MailKind[]
}

/** How many mails of a kind, and of those counted with it, one address gets. Undefined if there is no limit. */
export const ceilingOf = (kind: MailKind): Ceiling | undefined => {
  const ceiling = ceilings[kind]
  return ceiling && { ...ceiling, kinds: kindsCountedWith(kind), restartedBy: kindsThatRestartCount[kind] ?? [] }
}
