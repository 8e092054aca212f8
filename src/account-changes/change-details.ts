import type { AmrMethod } from '../contract/factors.js'
import type { Language } from '../contract/languages.js'
import type { ProviderId } from '../contract/providers.js'

import type { WebhookData } from '../contract/webhooks.js'
import type { Event } from '../messages/events.js'
import type { MailValues } from '../messages/letters.js'

import type { accountChangeTable, ChangeKind, KindBy } from './account-change-table.js'
import type { Undoable } from './undos.js'

type Row<Kind extends ChangeKind> = (typeof accountChangeTable)[Kind]

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

export type ChangedFactor = WebhookData<'factor.changed'>['factor']

/** An operator can leave the mail out: the former address may be a thief's, or the user is disabled and cannot act on the mail. */
type WithoutMail<Kind> = Kind extends KindBy<'operator'> ? { readonly mail: null } : never

/** The details that the table cannot know: which passkey, which provider, what the account had before. */
export type ChangeDetails<Kind extends ChangeKind> = (
  | RequiredUnlessEmpty<'mail', MailDetails<Row<Kind>['mail']>, MailOverrides>
  | WithoutMail<Kind>
) &
  RequiredUnlessEmpty<'undo', UndoDetails<Row<Kind>['undo']>> &
  (Kind extends `provider_${string}` ? { readonly event: { readonly provider: ProviderId } } : unknown) &
  (Kind extends 'stepped_up' ? { readonly proven: AmrMethod } : unknown) &
  (Row<Kind>['webhook'] extends 'factor.changed each' ? { readonly factors: readonly ChangedFactor[] } : unknown) & {
    readonly event?: Pick<Event, 'sessionId' | 'provider' | 'reason'>
  }

/** `ChangeDetails` for code that handles every kind. */
export type AnyDetails = {
  readonly mail?: MailOverrides | null | undefined
  readonly undo?: object | undefined
  readonly factors?: readonly ChangedFactor[]
  readonly proven?: AmrMethod
  readonly event?: Pick<Event, 'sessionId' | 'provider' | 'reason'>
}
