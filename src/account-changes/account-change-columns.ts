import type { EventKind } from '../contract/events.js'
import type { AmrMethod } from '../contract/factors.js'

import type { WebhookType } from '../contract/webhooks.js'
import type { MailKind } from '../messages/letters.js'
import type { ChangedFactor } from './change-details.js'
import type { UndoKind } from './undos.js'

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
