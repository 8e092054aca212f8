import type { EventKind } from '../contract/events.js'
import type { AmrMethod } from '../contract/factors.js'
import type { Language } from '../contract/languages.js'
import type { UndoKind } from '../contract/mailed-links.js'
import type { ProviderId } from '../contract/providers.js'
import type { WebhookData, WebhookType } from '../contract/webhooks.js'
import type { Event } from '../messages/events.js'
import type { MailKind, MailValues } from '../messages/letters.js'
import type { Undoable } from './undos.js'

/** What an attacker who was about to get in would go on with. */
const signIns = ['waiting sign-ins', 'trusted devices'] as const
/** The same, and what programs of the user go on with. */
const waysIn = [...signIns, 'personal tokens'] as const

/**
 * Everything that can happen to an account, and what follows from it. Only what means that nothing happens may be left out: without
 * `mail`, `undo` and `webhook` no one is told, and the event has the name of the row. Who may, which sessions and tokens go on, and what is
 * voided has no default, because a row that forgot it would leave a thief alive.
 */
// biome-ignore format: one change a line, so that the table can be read as a table
const rows = {
  password_changed: { by: ['caller'], otherSessions: 'end', thisSession: 'new tokens', provesUser: true, withdrawsProofs: [], voids: [...waysIn, 'resets', 'restore links'], mail: 'password-changed', undo: 'password', webhook: 'factor.changed password' },
  username_changed: { by: ['caller'], otherSessions: 'stay', thisSession: 'new tokens', provesUser: false, withdrawsProofs: [], voids: [], mail: 'username-changed', undo: 'username', webhook: 'user.updated' },
  name_changed: { by: ['caller'], otherSessions: 'stay', thisSession: 'new tokens', provesUser: false, withdrawsProofs: [], voids: [], webhook: 'user.updated' },
  // While the change can be undone, its mail and further warnings are in the former language: a thief must not make them unreadable.
  language_changed: { by: ['caller'], otherSessions: 'stay', thisSession: 'new tokens', provesUser: false, withdrawsProofs: [], voids: [], mail: 'language-changed', undo: 'language' },
  // The reason of the event names the fields, never their values.
  fields_changed: { by: ['caller', 'operator', 'sign-in'], otherSessions: 'stay', thisSession: 'new tokens', provesUser: false, withdrawsProofs: [], voids: [], webhook: 'user.updated' },
  // The reason of the event is the version of the terms.
  terms_agreed: { by: ['sign-in'], otherSessions: 'stay', thisSession: 'stays', voids: [] },
  totp_added: { by: ['caller', 'sign-in'], otherSessions: 'end', thisSession: 'stays', voids: [...waysIn], mail: 'totp-added', undo: 'totp', webhook: 'factor.changed totp' },
  // This session stays because it has just proven the new app. The undo link brings the former app back, so the account keeps a factor, and
  // a thief's app stops working.
  totp_replaced: { by: ['caller'], otherSessions: 'end', thisSession: 'stays', voids: [...waysIn], mail: 'totp-replaced', undo: 'totp_replaced', webhook: 'factor.changed totp' },
  // A proof by the app no longer counts in this session. Its earlier tokens still claim that proof, so they are replaced.
  totp_removed: { by: ['caller'], otherSessions: 'end', thisSession: 'new tokens', provesUser: false, withdrawsProofs: ['otp', 'rec'], voids: [...waysIn], mail: 'totp-removed', undo: null, webhook: 'factor.changed totp' },
  recovery_codes_renewed: { by: ['caller'], otherSessions: 'stay', thisSession: 'stays', voids: [...signIns], mail: 'recovery-codes-renewed', undo: null, webhook: 'factor.changed recovery_codes' },
  trusted_device_removed: { by: ['caller'], otherSessions: 'stay', thisSession: 'stays', voids: [] },
  passkey_added: { by: ['caller', 'sign-in'], otherSessions: 'stay', thisSession: 'stays', voids: [...waysIn], mail: 'passkey-added', undo: 'passkey', webhook: 'factor.changed passkey' },
  passkey_renamed: { by: ['caller'], otherSessions: 'stay', thisSession: 'stays', voids: [] },
  // Other sessions may have begun with the removed passkey, so they end. Which passkey this session has proven is not stored, so no passkey
  // counts as proven in it.
  passkey_removed: { by: ['caller'], otherSessions: 'end', thisSession: 'new tokens', provesUser: false, withdrawsProofs: ['passkey'], voids: [...waysIn], mail: 'passkey-removed', undo: null, webhook: 'factor.changed passkey' },
  // With it, programs enter applications behind a proxy. It opens nothing here.
  token_made: { by: ['caller'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'token-made', undo: 'token' },
  token_ended: { by: ['caller', 'operator'], otherSessions: 'stay', thisSession: 'stays', voids: [] },
  provider_linked: { by: ['caller', 'sign-in'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'provider-linked', undo: 'provider', webhook: 'user.updated' },
  // This session is no longer fresh if it began with the provider.
  provider_unlinked: { by: ['caller', 'operator'], otherSessions: 'of the provider end', thisSession: 'no longer fresh', voids: ['waiting sign-ins by provider'], mail: 'provider-unlinked', undo: null, webhook: 'user.updated' },
  session_ended: { by: ['caller'], otherSessions: 'stay', thisSession: 'stays', voids: [] },
  // Two browsers have tokens of this session, and no one knows which is the owner's, so the session ends.
  session_stolen: { by: ['old token'], otherSessions: 'stay', thisSession: 'ends', voids: [], waitingSignInsStay: 'a token of one session says nothing about them', mail: 'session-stolen', undo: null, webhook: 'session.theft_suspected', event: 'refresh_theft' },
  // Somebody has the cookies of a session that is bound to a device, and not its key. They renew nothing, so the session goes on.
  device_proofs_refused: { by: ['old token'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'device-proofs-refused', undo: null, event: null },
  // The new proof makes the session fresh. Its earlier tokens are refused, because a thief may have a copy of them.
  stepped_up: { by: ['caller'], otherSessions: 'stay', thisSession: 'new tokens', provesUser: true, withdrawsProofs: [], voids: [] },
  signed_out_everywhere: { by: ['caller'], otherSessions: 'end', thisSession: 'ends', voids: ['waiting sign-ins', 'personal tokens'] },
  // Every session of the user gets tokens with the new groups at its next refresh, so the user is not signed out.
  group_joined: { by: ['caller', 'operator'], otherSessions: 'stay with new groups', thisSession: 'stays', voids: [], webhook: 'user.updated' },
  // This mail goes to the present address. `email-changes` mails the link to the new address.
  email_change_asked: { by: ['caller'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'email-change-asked', undo: 'email' },
  // The undo link in the mail about `email_change_asked` still works.
  email_change_cancelled: { by: ['caller'], otherSessions: 'stay', thisSession: 'stays', voids: [] },
  email_changed: { by: ['link'], otherSessions: 'end', thisSession: 'new tokens', provesUser: true, withdrawsProofs: [], voids: [...waysIn, 'resets', 'restore links', 'email change'], mail: 'email-changed', undo: 'email', webhook: 'user.updated' },
  // The user has proven the address that the account already had.
  email_proven: { by: ['link'], otherSessions: 'stay', thisSession: 'stays', voids: ['email change'] },
  account_deleted: { by: ['caller', 'sign-in'], otherSessions: 'end', thisSession: 'ends', voids: [], waitingSignInsStay: 'they go with the row of the user', mail: 'account-deleted', undo: null, webhook: 'user.deleted' },
  password_reset: { by: ['link'], otherSessions: 'end', thisSession: 'ends', voids: [...waysIn, 'resets', 'restore links'], mail: 'password-reset', undo: null, webhook: 'factor.changed password' },
  // The next two void no restore links because `take-back` replaces them, or deletes them if a password was chosen.
  email_change_undone: { by: ['link'], otherSessions: 'end', thisSession: 'ends', voids: [...waysIn, 'resets', 'email change'], mail: 'account-restored', undo: null, webhook: 'factor.changed each' },
  factor_undone: { by: ['link'], otherSessions: 'end', thisSession: 'ends', voids: [...waysIn, 'resets', 'email change'], mail: 'account-restored', undo: null, webhook: 'factor.changed each' },
  // The mail goes to the address that loses the account through an undo.
  email_withdrawn: { by: ['link'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'email-withdrawn', undo: null, event: null },

  // Only operators, and programs with a key, make these.
  user_deleted: { by: ['operator'], otherSessions: 'end', thisSession: 'ends', voids: [], waitingSignInsStay: 'they go with the row of the user', mail: 'account-deleted', undo: null, webhook: 'user.deleted' },
  // `voids` has no restore links because the new link in the mail replaces an earlier one.
  account_recovered: { by: ['operator'], otherSessions: 'end', thisSession: 'ends', voids: [...waysIn, 'resets', 'email change'], mail: 'account-restored', undo: null, webhook: 'factor.changed each' },
  email_set: { by: ['operator'], otherSessions: 'end', thisSession: 'ends', voids: [...waysIn, 'resets', 'restore links', 'email change'], mail: 'email-changed', undo: 'email', webhook: 'user.updated' },
  user_disabled: { by: ['operator'], otherSessions: 'end', thisSession: 'ends', voids: [...waysIn, 'resets'], mail: 'account-disabled', undo: null, webhook: 'user.updated' },
  user_enabled: { by: ['operator'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'account-enabled', undo: null, webhook: 'user.updated' },
  // Shuts out everyone who is in the account or about to get in. Undo links of the owner still work, but do not enable the account.
  user_locked_down: { by: ['operator'], otherSessions: 'end', thisSession: 'ends', voids: [...waysIn, 'resets', 'restore links', 'undo links to later addresses', 'email change'], mail: 'account-locked-down', undo: null, webhook: 'user.updated' },
  password_expired: { by: ['operator'], otherSessions: 'end', thisSession: 'ends', voids: [...waysIn], mail: 'password-expired', undo: null, webhook: 'factor.changed password' },
  factors_reset: { by: ['operator'], otherSessions: 'end', thisSession: 'ends', voids: [...waysIn], mail: 'factors-reset', undo: null, webhook: 'factor.changed each' },
  sessions_ended: { by: ['operator'], otherSessions: 'end', thisSession: 'ends', voids: ['waiting sign-ins', 'personal tokens'] },
  group_left: { by: ['operator'], otherSessions: 'stay with new groups', thisSession: 'stays', voids: [], webhook: 'user.updated' },

  // Notices: nothing of the account changes.
  // A sign-in in a browser in which the account was not used before.
  new_device: { by: ['sign-in'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'new-device', undo: null, event: null },
  // A program or a device got a session of its own, which its user can end alone.
  new_program: { by: ['sign-in'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'new-program', undo: null, event: null },
  // The first request of an administrator in a session.
  admin_session_began: { by: ['caller'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'admin-session-began', undo: null },
  device_trusted: { by: ['sign-in'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'device-trusted', undo: null, event: null },
  recovery_code_used: { by: ['sign-in'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'recovery-code-used', undo: null },
  wrong_codes: { by: ['sign-in'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'wrong-codes', undo: null, event: null },
  // The right password was entered, and the second step was not finished.
  sign_in_unfinished: { by: ['sign-in'], otherSessions: 'stay', thisSession: 'stays', voids: [], mail: 'sign-in-unfinished', undo: null, event: null },
} as const satisfies Record<string, ChangeRow>

/** Who or what can cause a change. A sign-in can add a factor or link a provider. An old token of a session, and a wrong proof of a bound one, may come from a thief. */
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
  | 'personal tokens'
  | 'waiting sign-ins'
  | 'waiting sign-ins by provider'

export type ChangedFactor = WebhookData<'factor.changed'>['factor']

export type ChangeEventKind = Exclude<EventKind, 'sign_in_failed'>

/** The webhook about a change. Those about users are queued by triggers. `each`: one webhook for every factor that was removed. */
type ChangeWebhook =
  | `factor.changed ${ChangedFactor | 'each'}`
  | Extract<WebhookType, 'user.updated' | 'user.deleted' | 'session.theft_suspected'>

/**
 * A change that ends sessions needs an event, which is stored as the reason of their end. `stay with new groups`: the sessions go on, but
 * tokens that were issued before the change are refused.
 */
type OtherSessions =
  | { otherSessions: 'end' | 'of the provider end' | 'stay with new groups'; event?: ChangeEventKind }
  | { otherSessions: 'stay'; event?: ChangeEventKind | null }

/**
 * What happens to the caller's session, if there is a caller. `new tokens`: its earlier tokens are refused from now on, and the methods in
 * `withdrawsProofs` do not count as proven in it any more. `provesUser`: the user has proven who they are for it. A session that is bound to
 * its device gets no access token from any other change, or whoever has copied its cookies would change a name every 15 minutes.
 */
type OwnSession =
  | { thisSession: 'new tokens'; provesUser: boolean; withdrawsProofs: readonly AmrMethod[] }
  | { thisSession: 'stays' | 'no longer fresh' | 'ends'; provesUser?: never; withdrawsProofs?: never }

/**
 * A change that ends sessions voids the sign-ins that wait, or says why not: one with all its proofs, which waits for a field or the terms,
 * would begin a session a moment later.
 */
type Voids =
  | {
      otherSessions: 'stay' | 'stay with new groups'
      thisSession: Exclude<OwnSession['thisSession'], 'ends'>
      voids: readonly Voided[]
    }
  | { otherSessions: 'of the provider end'; voids: readonly ['waiting sign-ins by provider', ...Voided[]] }
  | { voids: readonly ['waiting sign-ins', ...Voided[]] }
  | { voids: readonly []; waitingSignInsStay: string }

/** The mail to the owner, at the address that the account had before the change, and the change that its link takes back. */
type Notice = { mail: MailKind; undo: UndoKind | null } | { mail?: never; undo?: never }

export type ChangeRow = OtherSessions &
  OwnSession &
  Voids &
  Notice & { by: readonly Initiator[]; webhook?: ChangeWebhook }

type Within<All, Kind extends All> = Kind
/** Every kind of undo belongs to a change, whose mail has its link. */
type MailedUndo = Within<Extract<Rows[ChangeKind], { undo: string }>['undo'], UndoKind>

/** The consequences of a change of an account, in the transaction of the change. */
export type Consequences = {
  by: readonly Initiator[]
  mail: MailKind | null
  undo: MailedUndo | null
  webhook: ChangeWebhook | null
  thisSession: OwnSession['thisSession']
  provesUser: boolean
  withdrawsProofs: readonly AmrMethod[]
  voids: readonly Voided[]
} & (
  | { otherSessions: Exclude<OtherSessions['otherSessions'], 'stay'>; event: ChangeEventKind }
  | { otherSessions: 'stay'; event: ChangeEventKind | null }
)

type Rows = typeof rows
export type ChangeKind = keyof Rows

/** What the row of a kind says in a column; null if it says nothing. */
export type ColumnOf<Kind extends ChangeKind, Name extends 'mail' | 'undo' | 'webhook' | 'thisSession'> =
  Rows[Kind] extends Record<Name, infer Value> ? Value : null

/** The kinds that this initiator can cause. */
export type KindBy<By extends Initiator> = {
  [Kind in ChangeKind]: By extends Rows[Kind]['by'][number] ? Kind : never
}[ChangeKind]

/** A row whose name is no kind of event must say which event it is, or that it is none. */
type NamedLikeItsEvent = {
  [Kind in ChangeKind]: Rows[Kind] extends { event: unknown } ? never : Kind
}[ChangeKind]

const change = (kind: ChangeKind, row: ChangeRow) => {
  const namedEvent: ChangeEventKind = kind as NamedLikeItsEvent
  const { by, mail = null, undo = null, webhook = null, otherSessions, thisSession } = row
  const { provesUser = false, withdrawsProofs = [], voids, event = namedEvent } = row
  // The type of the row has checked that a change which ends sessions has an event.
  return {
    by,
    mail,
    undo,
    webhook,
    otherSessions,
    thisSession,
    provesUser,
    withdrawsProofs,
    voids,
    event,
  } as Consequences
}

export const accountChangeTable = Object.fromEntries(
  Object.entries(rows).map(([kind, row]) => [kind, change(kind as ChangeKind, row)]),
) as Readonly<Record<ChangeKind, Consequences>>

export const consequencesOf = (kind: ChangeKind) => accountChangeTable[kind]

/** True if the change deletes the account. Then only the last mail and an event are left of it. */
export const isDeletion = ({ webhook }: Consequences) => webhook === 'user.deleted'

/** The values of a mail that are not known from the account and its undo link. */
type MailDetails<Mail> = Mail extends keyof MailValues
  ? Omit<MailValues[Mail], 'username' | 'undoToken' | 'undoFor'>
  : Record<never, never>
type UndoDetails<Kind> = Kind extends Undoable['kind']
  ? Omit<Extract<Undoable, { kind: Kind }>, 'kind'>
  : Record<never, never>

/** A property that may be left out if `Values` is empty. */
type RequiredUnlessEmpty<Name extends string, Values, Optional = unknown> = [keyof Values] extends [never]
  ? { readonly [Property in Name]?: (Values & Optional) | undefined }
  : { readonly [Property in Name]: Values & Optional }

/**
 * Replaces the address, username or language of the mail. Without them, the mail has the values that the account had before the change.
 * `language` is for deletions, after which no row has the user's language.
 */
type MailOverrides = { readonly to?: readonly string[]; readonly username?: string; readonly language?: Language }

/** An operator can leave the mail out: the former address may be a thief's, or the user is disabled and cannot act on the mail. */
type WithoutMail<Kind> = Kind extends KindBy<'operator'> ? { readonly mail: null } : never

type EventDetails = Pick<Event, 'sessionId' | 'provider' | 'reason'>

/** The details that the table cannot know: which passkey, which provider, what the account had before. */
export type ChangeDetails<Kind extends ChangeKind> = (
  | RequiredUnlessEmpty<'mail', MailDetails<ColumnOf<Kind, 'mail'>>, MailOverrides>
  | WithoutMail<Kind>
) &
  RequiredUnlessEmpty<'undo', UndoDetails<ColumnOf<Kind, 'undo'>>> &
  (Kind extends `provider_${string}` ? { readonly event: { readonly provider: ProviderId } } : unknown) &
  (Kind extends 'stepped_up' ? { readonly proven: AmrMethod } : unknown) &
  (ColumnOf<Kind, 'webhook'> extends 'factor.changed each'
    ? { readonly factors: readonly ChangedFactor[] }
    : unknown) & { readonly event?: EventDetails }

/** `ChangeDetails` for code that handles every kind. */
export type AnyDetails = {
  readonly mail?: MailOverrides | null | undefined
  readonly undo?: object | undefined
  readonly factors?: readonly ChangedFactor[]
  readonly proven?: AmrMethod
  readonly event?: EventDetails
}
