import type { UsedApplications } from '../applications/used-applications.js'
import type { ProviderId } from '../contract/providers.js'
import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import { forgetMailedCodes } from '../messages/mailed-codes.js'
import type { MailRequest, Mails } from '../messages/mails.js'
import type { OneTimeTokens } from '../messages/one-time-tokens.js'
import type { Webhooks } from '../messages/webhooks.js'
import type { Transaction } from '../platform/database/database.js'
import type { SessionCaller, Sessions } from '../sessions/sessions.js'

import type { User } from '../users/users.js'
import {
  type ChangeEventKind,
  type ChangeKind,
  type Consequences,
  consequencesOf,
  isDeletion,
  type Voided,
} from './account-change-table.js'
import type { AnyDetails, ChangedFactor } from './account-changes.js'
import { type Undoable, type Undos, undoLifetime } from './undos.js'
import * as store from './voiding.store.js'

type AccountConsequencesDependencies = {
  sessions: Sessions
  undos: Undos
  mails: Mails
  webhooks: Webhooks
  events: Events
  usedApplications: UsedApplications
  voiding: Voiding
}

type Owner = User & Partial<User>

/** The account as it was before the change, with its row held, and who changes it. `at`: when the change happened, if not just now. */
export type HeldAccount = { user: Owner; client: Client; caller?: SessionCaller | undefined; at?: Date }

/** Notices that are nothing but a mail. For an owner who gets none, the list of events tells of them instead. */
const eventsInsteadOfMails: { readonly [Kind in ChangeKind]?: ChangeEventKind } = {
  new_device: 'new_device',
  device_trusted: 'device_trusted',
  sign_in_unfinished: 'sign_in_unfinished',
}

const anonymousClient: Client = { ip: '', userAgent: '' }

/**
 * Whether changes are mailed to the owner. Not to an address that was never proven: a mail with an undo link would give the account to its
 * reader.
 */
const isTold = ({ isOff }: Mails, { emailClaimed }: Owner) => !isOff && !emailClaimed

/** The mail to the owner, with the link that takes the change back. */
const createOwnerNotices = ({ undos, mails }: AccountConsequencesDependencies) => {
  const addUndoLink = async (sql: Transaction, user: Owner, { undo: kind }: Consequences, details: AnyDetails) => {
    if (kind === null) return undefined
    // The cast is safe: the type `ChangeDetails` has checked the details against the table.
    const undoToken = await undos.add(sql, user, { ...details.undo, kind } as Undoable)
    return { undoToken, undoFor: undoLifetime }
  }

  return async (sql: Transaction, account: HeldAccount, row: Consequences, details: AnyDetails) => {
    const { user, client, at } = account
    const undoLink = isTold(mails, user) ? await addUndoLink(sql, user, row, details) : undefined
    if (mails.isOff || row.mail === null || details.mail === null) return
    const { to = isTold(mails, user) ? [user.email] : [], language = user.language, ...values } = details.mail ?? {}
    // After a deletion no row has the user's language any more, so the mail takes it from the client.
    const mailContext = isDeletion(row)
      ? { userId: null, client: { ...client, ...(language && { language }) } }
      : { userId: user.id, client }
    for (const address of to)
      await mails.queue(sql, {
        to: address,
        template: row.mail,
        values: { username: user.username, ...undoLink, ...values },
        ...mailContext,
        ...(at && { at }),
      } as MailRequest)
  }
}

/** Queues the webhook, unless a trigger does. A value of the column `webhook` without a case does not compile. */
const createProgramNotices = ({ webhooks }: AccountConsequencesDependencies) => {
  const queueFactorWebhooks = async (
    sql: Transaction,
    { user: { id } }: HeldAccount,
    factors: readonly ChangedFactor[],
  ) => {
    for (const factor of factors) await webhooks.queue(sql, 'factor.changed', { user: { id }, factor })
  }

  const queueTheftWebhook = async (sql: Transaction, { user: { id }, client, caller }: HeldAccount) => {
    if (!caller) return
    const session = { id: caller.sessionId, ip: client.ip, userAgent: client.userAgent }
    await webhooks.queue(sql, 'session.theft_suspected', { user: { id }, session })
  }

  return async (sql: Transaction, account: HeldAccount, { webhook }: Consequences, details: AnyDetails) => {
    switch (webhook) {
      case null:
      case 'user.updated':
      case 'user.deleted':
        return
      case 'session.theft_suspected':
        return queueTheftWebhook(sql, account)
      case 'factor.changed each':
        return queueFactorWebhooks(sql, account, details.factors ?? [])
      case 'factor.changed passkey':
      case 'factor.changed password':
      case 'factor.changed recovery_codes':
      case 'factor.changed totp':
        return queueFactorWebhooks(sql, account, [webhook.slice('factor.changed '.length) as ChangedFactor])
      default:
        webhook satisfies never
    }
  }
}

export type AccountConsequences = ReturnType<typeof createAccountConsequences>

/** Applies a row of the table, in the transaction of the change. */
export const createAccountConsequences = (deps: AccountConsequencesDependencies) => {
  const { sessions, events, usedApplications, voiding, mails } = deps
  const tellOwner = createOwnerNotices(deps)
  const tellPrograms = createProgramNotices(deps)

  const endSessions = async (sql: Transaction, account: HeldAccount, row: Consequences, details: AnyDetails) => {
    const { otherSessions, thisSession, event } = row
    if (otherSessions === 'stay') return 0
    const { user, caller, client } = account
    if (otherSessions === 'stay with new groups') {
      await sessions.giveGroups(sql, user.id)
      await usedApplications.endWithoutRight(sql, { userId: user.id }, client)
      return 0
    }
    const provider = details.event?.provider
    if (otherSessions === 'of the provider end')
      return provider
        ? sessions.endOfProvider(sql, event, { userId: user.id, provider, ownSessionId: caller?.sessionId })
        : 0
    return thisSession === 'ends' || !caller
      ? sessions.endAll(sql, event, user.id)
      : sessions.endOthers(sql, event, user.id, caller.sessionId)
  }

  /**
   * Records the event. After a deletion it has the user's id, which programs know from the webhook, and nothing else that leads to the
   * user: the client is recorded only if it is an operator's.
   */
  const record = async (sql: Transaction, account: HeldAccount, kind: ChangeKind, details: AnyDetails) => {
    const { user, client, caller } = account
    const row: Consequences = consequencesOf(kind)
    const event = row.event ?? (isTold(mails, user) ? undefined : eventsInsteadOfMails[kind])
    if (event === undefined) return
    const session = caller && { sessionId: caller.sessionId }
    if (isDeletion(row))
      await events.recordInside(sql, { kind: event, reason: user.id }, caller ? anonymousClient : client)
    else await events.recordInside(sql, { kind: event, userId: user.id, ...session, ...details.event }, client)
  }

  /** Returns how many sessions ended. */
  return async (sql: Transaction, account: HeldAccount, kind: ChangeKind, details: AnyDetails) => {
    const row = consequencesOf(kind)
    const { user } = account
    for (const voided of row.voids) await voiding[voided](sql, user.id, details.event?.provider)
    const endedSessions = await endSessions(sql, account, row, details)
    await tellPrograms(sql, account, row, details)
    await tellOwner(sql, account, row, details)
    await record(sql, account, kind, details)
    return endedSessions
  }
}

export type Voiding = Record<Voided, (sql: Transaction, userId: string, provider?: ProviderId) => Promise<unknown>>

/** Says how each of the things that a change voids is removed. */
export const createAccountVoiding = ({
  oneTimeTokens,
  undos,
}: {
  oneTimeTokens: OneTimeTokens
  undos: Undos
}): Voiding => ({
  resets: oneTimeTokens.forgetResets,
  'restore links': oneTimeTokens.forgetRestoreLinks,
  'undo links to later addresses': undos.voidOfLaterEmails,
  'email change': store.deleteEmailChange,
  'trusted devices': store.deleteTrustedDevices,
  // Mailed codes are forgotten whatever their purpose: they were mailed when less proof was asked for, or to a former address.
  'waiting sign-ins': async (sql, userId) => {
    await forgetMailedCodes(sql, userId)
    await store.deleteMailSignIns(sql, userId)
    await store.denyUnusedApprovals(sql, userId)
    await store.deletePendingSignIns(sql, userId)
  },
  // A device may have been approved in a session that the provider has proven, so all approvals are withdrawn.
  'waiting sign-ins by provider': async (sql, userId, provider) => {
    await store.denyUnusedApprovals(sql, userId)
    if (provider) await store.deletePendingSignInsOfProvider(sql, userId, provider)
  },
})
