import type { EventKind } from '../../contract/events.js'
import type { Method } from '../../contract/factors.js'
import type { WebhookType } from '../../contract/webhooks.js'
import type { MailKind } from '../mails/letters.js'
import type { UndoKind } from '../undos/undos.js'
import type { ChangedFactor } from './change-details.js'

/**
 * The ones who can cause a change. A sign-in adds a factor or a provider on its way. An old token of a session may be in the hands of a
 * thief.
 */
export type Door = 'caller' | 'link' | 'operator' | 'sign-in' | 'old token'

/**
 * Things that stop working with a change, besides those that the change itself removes. Codes that were mailed, and devices that were
 * approved and have no tokens yet, go with waiting sign-ins.
 */
export type Voided =
  | 'resets'
  | 'restore links'
  | 'undo links to later addresses'
  | 'email change'
  | 'trusted devices'
  | 'waiting sign-ins'
  | 'waiting sign-ins by provider'

type Event = Exclude<EventKind, 'sign_in_failed'>
/** Sessions end with an event: it is the reason that is noted with them. With new groups, their tokens from before are refused. */
type SessionsEnd =
  | { otherSessions: 'end' | 'of the provider end'; event: Event }
  | { otherSessions: 'stay'; event: Event | null }
  | { otherSessions: 'stay with new groups'; event: Event }

/** The consequences of a change of an account, in the transaction of the change. */
export type Consequences = SessionsEnd & {
  by: readonly Door[]
  /** To the owner, at the address that the account had before. */
  mail: MailKind | null
  /** The change that the link in the mail takes back. */
  undo: UndoKind | null
  /** Triggers write those about users. `each`: one for every factor that was removed. */
  webhook:
    | `factor.changed ${ChangedFactor | 'each'}`
    | Extract<WebhookType, 'user.updated' | 'user.deleted' | 'session.theft_suspected'>
    | null
  /** The session of the caller, if there is one. New tokens: those before them are refused from now on. */
  thisSession: 'stays' | 'new tokens' | 'no longer fresh' | 'ends'
  /** The methods that do not count as proven in this session any more. */
  withdraws: readonly Method[]
  voids: readonly Voided[]
}
