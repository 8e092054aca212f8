import type { Method } from '../../contract/factors.js'
import type { EventKind } from '../events/events.js'
import type { MailKind } from '../mails/letters.js'
import type { UndoKind } from '../undos/undos.js'

/** Who can cause a change. A sign-in adds a factor or a provider on its way. */
type Door = 'caller' | 'link' | 'operator' | 'sign-in'

/** What stops working with a change, besides what the change itself removes. */
export type Voided = 'resets' | 'trusted devices' | 'waiting sign-ins' | 'waiting sign-ins by provider'

/** What follows from a change of an account, in the transaction of the change. */
export type Consequences = {
  by: readonly Door[]
  /** To the owner, at the address that the account had before. */
  mail: MailKind | null
  /** What the link in the mail takes back. */
  undo: UndoKind | null
  /** Triggers write those about users. `each`: one for every factor that was removed. */
  webhook:
    | `factor.changed ${'password' | 'totp' | 'passkey' | 'recovery_codes' | 'each'}`
    | 'user.updated'
    | 'user.deleted'
    | 'session.theft_suspected'
    | null
  otherSessions: 'stay' | 'end' | 'of the provider end'
  /** Of the caller, if there is one. New tokens: those before them are refused from now on. */
  thisSession: 'stays' | 'new tokens' | 'no longer fresh' | 'ends'
  /** What counts as proven in this session no more. */
  withdraws: readonly Method[]
  voids: readonly Voided[]
  event: Exclude<EventKind, 'sign_in_failed'> | null
}

/** Everything that can happen to an account. A kind with a column left out does not compile. */
export const accountChangeTable = {
  password_changed: {
    by: ['caller'],
    mail: 'password-changed',
    undo: 'password',
    webhook: 'factor.changed password',
    otherSessions: 'end',
    thisSession: 'new tokens',
    withdraws: [],
    voids: ['resets', 'trusted devices', 'waiting sign-ins'],
    event: 'password_changed',
  },
  username_changed: {
    by: ['caller'],
    mail: 'username-changed',
    undo: 'username',
    webhook: 'user.updated',
    otherSessions: 'stay',
    thisSession: 'new tokens',
    withdraws: [],
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
    withdraws: [],
    voids: [],
    event: 'name_changed',
  },
  // The undo makes that this mail and further warnings are in the language before: a thief must not make them unreadable.
  language_changed: {
    by: ['caller'],
    mail: 'language-changed',
    undo: 'language',
    webhook: null,
    otherSessions: 'stay',
    thisSession: 'new tokens',
    withdraws: [],
    voids: [],
    event: 'language_changed',
  },
  totp_added: {
    by: ['caller', 'sign-in'],
    mail: 'totp-added',
    undo: 'totp',
    webhook: 'factor.changed totp',
    otherSessions: 'end',
    thisSession: 'stays',
    withdraws: [],
    voids: ['trusted devices', 'waiting sign-ins'],
    event: 'totp_added',
  },
  // What the app has proven in this session counts no more, and its earlier tokens say that it does.
  totp_removed: {
    by: ['caller'],
    mail: 'totp-removed',
    undo: null,
    webhook: 'factor.changed totp',
    otherSessions: 'end',
    thisSession: 'new tokens',
    withdraws: ['otp', 'rec'],
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
    withdraws: [],
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
    withdraws: [],
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
    withdraws: [],
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
    withdraws: [],
    voids: [],
    event: 'passkey_renamed',
  },
  // One of the other sessions may have begun with it. Which passkey was used in this session is not stored: another one is asked for again.
  passkey_removed: {
    by: ['caller'],
    mail: 'passkey-removed',
    undo: null,
    webhook: 'factor.changed passkey',
    otherSessions: 'end',
    thisSession: 'new tokens',
    withdraws: ['passkey'],
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
    withdraws: [],
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
    withdraws: [],
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
    withdraws: [],
    voids: [],
    event: 'session_ended',
  },
  signed_out_everywhere: {
    by: ['caller'],
    mail: null,
    undo: null,
    webhook: null,
    otherSessions: 'end',
    thisSession: 'ends',
    withdraws: [],
    voids: [],
    event: 'signed_out_everywhere',
  },
} as const satisfies Record<string, Consequences>

type Table = typeof accountChangeTable
export type ChangeKind = keyof Table

/** The kinds that come through this door. */
export type KindBy<Through extends Door> = {
  [Kind in ChangeKind]: Through extends Table[Kind]['by'][number] ? Kind : never
}[ChangeKind]

export const consequencesOf = (kind: ChangeKind): Consequences => accountChangeTable[kind]
