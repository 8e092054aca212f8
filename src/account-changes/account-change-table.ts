import type { EventKind } from '../contract/events.js'
import type { AmrMethod } from '../contract/factors.js'
import type { WebhookType } from '../contract/webhooks.js'
import type { MailKind } from '../messages/letters.js'
import type { ChangedFactor } from './account-changes.js'
import type { UndoKind } from './undos.js'

/** Changes of an account that only operators, and programs with a key, make. */
const operatorChangeRows = {
  user_deleted: {
    by: ['operator'],
    mail: 'account-deleted',
    undo: null,
    webhook: 'user.deleted',
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: [],
    event: 'user_deleted',
  },
  // `voids` has no restore links because the new link in the mail replaces an earlier one.
  account_recovered: {
    by: ['operator'],
    mail: 'account-restored',
    undo: null,
    webhook: 'factor.changed each',
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: ['resets', 'email change', 'trusted devices', 'waiting sign-ins'],
    event: 'account_recovered',
  },
  email_set: {
    by: ['operator'],
    mail: 'email-changed',
    undo: 'email',
    webhook: 'user.updated',
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: ['resets', 'restore links', 'email change', 'trusted devices', 'waiting sign-ins'],
    event: 'email_set',
  },
  user_disabled: {
    by: ['operator'],
    mail: 'account-disabled',
    undo: null,
    webhook: 'user.updated',
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: ['resets', 'trusted devices', 'waiting sign-ins'],
    event: 'user_disabled',
  },
  user_enabled: {
    by: ['operator'],
    mail: 'account-enabled',
    undo: null,
    webhook: 'user.updated',
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'user_enabled',
  },
  // Shuts out everyone who is in the account or about to get in. Undo links of the owner still work, but do not enable the account.
  user_locked_down: {
    by: ['operator'],
    mail: 'account-locked-down',
    undo: null,
    webhook: 'user.updated',
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: [
      'resets',
      'restore links',
      'undo links to later addresses',
      'email change',
      'trusted devices',
      'waiting sign-ins',
    ],
    event: 'user_locked_down',
  },
  password_expired: {
    by: ['operator'],
    mail: 'password-expired',
    undo: null,
    webhook: 'factor.changed password',
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: ['trusted devices', 'waiting sign-ins'],
    event: 'password_expired',
  },
  factors_reset: {
    by: ['operator'],
    mail: 'factors-reset',
    undo: null,
    webhook: 'factor.changed each',
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: ['trusted devices', 'waiting sign-ins'],
    event: 'factors_reset',
  },
  sessions_ended: {
    by: ['operator'],
    mail: null,
    undo: null,
    webhook: null,
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: [],
    event: 'sessions_ended',
  },
  // As `group_joined`.
  group_left: {
    by: ['operator'],
    mail: null,
    undo: null,
    webhook: 'user.updated',
    otherSessions: 'stay with new groups',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'group_left',
  },
} as const satisfies Record<string, Consequences>

/** Rows of the table of account changes that only send the owner a notice. Nothing of the account changes. */
const accountNotices = {
  // A sign-in in a browser in which the account was not used before.
  new_device: {
    by: ['sign-in'],
    mail: 'new-device',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: null,
  },
  // The first request of an administrator in a session.
  admin_session_began: {
    by: ['caller'],
    mail: 'admin-session-began',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'admin_session_began',
  },
  device_trusted: {
    by: ['sign-in'],
    mail: 'device-trusted',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: null,
  },
  recovery_code_used: {
    by: ['sign-in'],
    mail: 'recovery-code-used',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'recovery_code_used',
  },
  wrong_codes: {
    by: ['sign-in'],
    mail: 'wrong-codes',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: null,
  },
  // The right password was entered, and the second step was not finished.
  sign_in_unfinished: {
    by: ['sign-in'],
    mail: 'sign-in-unfinished',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: null,
  },
} as const satisfies Record<string, Consequences>

/** Everything that can happen to an account. A kind with a column left out does not compile. */
export const accountChangeTable = {
  password_changed: {
    by: ['caller'],
    mail: 'password-changed',
    undo: 'password',
    webhook: 'factor.changed password',
    otherSessions: 'end',
    thisSession: 'new tokens',
    withdrawsProofs: [],
    voids: ['resets', 'restore links', 'trusted devices', 'waiting sign-ins'],
    event: 'password_changed',
  },
  username_changed: {
    by: ['caller'],
    mail: 'username-changed',
    undo: 'username',
    webhook: 'user.updated',
    otherSessions: 'stay',
    thisSession: 'new tokens',
    withdrawsProofs: [],
    voids: [],
    event: 'username_changed',
  },
  name_changed: {
    by: ['caller'],
    mail: null,
    undo: null,
    webhook: 'user.updated',
    otherSessions: 'stay',
    thisSession: 'new tokens',
    withdrawsProofs: [],
    voids: [],
    event: 'name_changed',
  },
  // While the change can be undone, its mail and further warnings are in the former language: a thief must not make them unreadable.
  language_changed: {
    by: ['caller'],
    mail: 'language-changed',
    undo: 'language',
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'new tokens',
    withdrawsProofs: [],
    voids: [],
    event: 'language_changed',
  },
  // The reason of the event names the fields, never their values.
  fields_changed: {
    by: ['caller', 'operator', 'sign-in'],
    mail: null,
    undo: null,
    webhook: 'user.updated',
    otherSessions: 'stay',
    thisSession: 'new tokens',
    withdrawsProofs: [],
    voids: [],
    event: 'fields_changed',
  },
  // The reason of the event is the version of the terms.
  terms_agreed: {
    by: ['sign-in'],
    mail: null,
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'terms_agreed',
  },
  totp_added: {
    by: ['caller', 'sign-in'],
    mail: 'totp-added',
    undo: 'totp',
    webhook: 'factor.changed totp',
    otherSessions: 'end',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: ['trusted devices', 'waiting sign-ins'],
    event: 'totp_added',
  },
  // This session stays because it has just proven the new app. The undo link brings the former app back, so the account keeps a factor, and
  // a thief's app stops working.
  totp_replaced: {
    by: ['caller'],
    mail: 'totp-replaced',
    undo: 'totp_replaced',
    webhook: 'factor.changed totp',
    otherSessions: 'end',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: ['trusted devices', 'waiting sign-ins'],
    event: 'totp_replaced',
  },
  // A proof by the app no longer counts in this session. Its earlier tokens still claim that proof, so they are replaced.
  totp_removed: {
    by: ['caller'],
    mail: 'totp-removed',
    undo: null,
    webhook: 'factor.changed totp',
    otherSessions: 'end',
    thisSession: 'new tokens',
    withdrawsProofs: ['otp', 'rec'],
    voids: ['trusted devices', 'waiting sign-ins'],
    event: 'totp_removed',
  },
  recovery_codes_renewed: {
    by: ['caller'],
    mail: 'recovery-codes-renewed',
    undo: null,
    webhook: 'factor.changed recovery_codes',
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: ['trusted devices', 'waiting sign-ins'],
    event: 'recovery_codes_renewed',
  },
  trusted_device_removed: {
    by: ['caller'],
    mail: null,
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'trusted_device_removed',
  },
  passkey_added: {
    by: ['caller', 'sign-in'],
    mail: 'passkey-added',
    undo: 'passkey',
    webhook: 'factor.changed passkey',
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: ['trusted devices', 'waiting sign-ins'],
    event: 'passkey_added',
  },
  passkey_renamed: {
    by: ['caller'],
    mail: null,
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'passkey_renamed',
  },
  // Other sessions may have begun with the removed passkey, so they end. Which passkey this session has proven is not stored, so no passkey
  // counts as proven in it.
  passkey_removed: {
    by: ['caller'],
    mail: 'passkey-removed',
    undo: null,
    webhook: 'factor.changed passkey',
    otherSessions: 'end',
    thisSession: 'new tokens',
    withdrawsProofs: ['passkey'],
    voids: ['trusted devices', 'waiting sign-ins'],
    event: 'passkey_removed',
  },
  provider_linked: {
    by: ['caller', 'sign-in'],
    mail: 'provider-linked',
    undo: 'provider',
    webhook: 'user.updated',
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'provider_linked',
  },
  // This session is no longer fresh if it began with the provider.
  provider_unlinked: {
    by: ['caller', 'operator'],
    mail: 'provider-unlinked',
    undo: null,
    webhook: 'user.updated',
    otherSessions: 'of the provider end',
    thisSession: 'no longer fresh',
    withdrawsProofs: [],
    voids: ['waiting sign-ins by provider'],
    event: 'provider_unlinked',
  },
  session_ended: {
    by: ['caller'],
    mail: null,
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'session_ended',
  },
  // Two browsers have tokens of this session, and no one knows which is the owner's, so the session ends.
  session_stolen: {
    by: ['old token'],
    mail: 'session-stolen',
    undo: null,
    webhook: 'session.theft_suspected',
    otherSessions: 'stay',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: [],
    event: 'refresh_theft',
  },
  // The new proof makes the session fresh. Its earlier tokens are refused, because a thief may have a copy of them.
  stepped_up: {
    by: ['caller'],
    mail: null,
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'new tokens',
    withdrawsProofs: [],
    voids: [],
    event: 'stepped_up',
  },
  signed_out_everywhere: {
    by: ['caller'],
    mail: null,
    undo: null,
    webhook: null,
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: [],
    event: 'signed_out_everywhere',
  },
  // Every session of the user gets tokens with the new groups at its next refresh, so the user is not signed out.
  // The caller joins with an invitation.
  group_joined: {
    by: ['caller', 'operator'],
    mail: null,
    undo: null,
    webhook: 'user.updated',
    otherSessions: 'stay with new groups',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'group_joined',
  },
  // This mail goes to the present address. `email-changes` mails the link to the new address.
  email_change_asked: {
    by: ['caller'],
    mail: 'email-change-asked',
    undo: 'email',
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'email_change_asked',
  },
  // The undo link in the mail about `email_change_asked` still works.
  email_change_cancelled: {
    by: ['caller'],
    mail: null,
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: 'email_change_cancelled',
  },
  email_changed: {
    by: ['link'],
    mail: 'email-changed',
    undo: 'email',
    webhook: 'user.updated',
    otherSessions: 'end',
    thisSession: 'new tokens',
    withdrawsProofs: [],
    voids: ['resets', 'restore links', 'email change', 'trusted devices', 'waiting sign-ins'],
    event: 'email_changed',
  },
  // The user has proven the address that the account already had.
  email_proven: {
    by: ['link'],
    mail: null,
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: ['email change'],
    event: 'email_proven',
  },
  // `voids` is empty because everything that refers to the user is deleted with the row.
  account_deleted: {
    by: ['caller', 'sign-in'],
    mail: 'account-deleted',
    undo: null,
    webhook: 'user.deleted',
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: [],
    event: 'account_deleted',
  },
  password_reset: {
    by: ['link'],
    mail: 'password-reset',
    undo: null,
    webhook: 'factor.changed password',
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: ['resets', 'restore links', 'trusted devices', 'waiting sign-ins'],
    event: 'password_reset',
  },
  // `voids` has no restore links because `restored-mail` replaces them, or deletes them if a password was chosen.
  email_change_undone: {
    by: ['link'],
    mail: 'account-restored',
    undo: null,
    webhook: 'factor.changed each',
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: ['resets', 'email change', 'trusted devices', 'waiting sign-ins'],
    event: 'email_change_undone',
  },
  // `voids` has no restore links because `restored-mail` replaces them, or deletes them if a password was chosen.
  factor_undone: {
    by: ['link'],
    mail: 'account-restored',
    undo: null,
    webhook: 'factor.changed each',
    otherSessions: 'end',
    thisSession: 'ends',
    withdrawsProofs: [],
    voids: ['resets', 'email change', 'trusted devices', 'waiting sign-ins'],
    event: 'factor_undone',
  },
  // The mail goes to the address that loses the account through an undo.
  email_withdrawn: {
    by: ['link'],
    mail: 'email-withdrawn',
    undo: null,
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'stays',
    withdrawsProofs: [],
    voids: [],
    event: null,
  },
  ...operatorChangeRows,
  ...accountNotices,
} as const satisfies Record<string, Consequences>

type Table = typeof accountChangeTable
export type ChangeKind = keyof Table

/** The kinds that this initiator can cause. */
export type KindBy<By extends Initiator> = {
  [Kind in ChangeKind]: By extends Table[Kind]['by'][number] ? Kind : never
}[ChangeKind]

export const consequencesOf = (kind: ChangeKind): Consequences => accountChangeTable[kind]

/** True if the change deletes the account. Then only the last mail and an event are left of it. */
export const isDeletion = ({ webhook }: Consequences) => webhook === 'user.deleted'

/** Who or what can cause a change. A sign-in can add a factor or link a provider. An old token of a session may be in a thief's hands. */
export type Initiator = 'caller' | 'link' | 'operator' | 'sign-in' | 'old token'

/**
 * Things that stop working with a change, besides those that the change itself removes. `undo links to later addresses`: all undo links
 * but those to the earliest address. `waiting sign-ins` includes mailed codes, and devices that were approved and have no tokens yet.
 */
export type Voided =
  | 'resets'
  | 'restore links'
  | 'undo links to later addresses'
  | 'email change'
  | 'trusted devices'
  | 'waiting sign-ins'
  | 'waiting sign-ins by provider'

export type ChangeEventKind = Exclude<EventKind, 'sign_in_failed'>
/**
 * A change that ends sessions needs an event, which is stored as the reason of their end. `stay with new groups`: the sessions go on, but
 * tokens that were issued before the change are refused.
 */
type SessionConsequences =
  | { otherSessions: 'end' | 'of the provider end'; event: ChangeEventKind }
  | { otherSessions: 'stay'; event: ChangeEventKind | null }
  | { otherSessions: 'stay with new groups'; event: ChangeEventKind }

/** The consequences of a change of an account, in the transaction of the change. */
export type Consequences = SessionConsequences & {
  by: readonly Initiator[]
  /** The mail to the owner, at the address that the account had before the change. */
  mail: MailKind | null
  /** The change that the link in the mail takes back. */
  undo: UndoKind | null
  /** The webhook about the change. Those about users are queued by triggers. `each`: one webhook for every factor that was removed. */
  webhook:
    | `factor.changed ${ChangedFactor | 'each'}`
    | Extract<WebhookType, 'user.updated' | 'user.deleted' | 'session.theft_suspected'>
    | null
  /** What happens to the caller's session, if there is a caller. `new tokens`: its earlier tokens are refused from now on. */
  thisSession: 'stays' | 'new tokens' | 'no longer fresh' | 'ends'
  /** The methods that do not count as proven in this session any more. */
  withdrawsProofs: readonly AmrMethod[]
  voids: readonly Voided[]
}
