import type { ApplicationsRoom } from '../applications/open-applications.js'
import type { ProviderId } from '../contract/providers.js'
import type { Client } from '../http/request-origin.js'
import { forgetMailedCodes } from '../messages/mailed-codes.js'
import type { MailRequest } from '../messages/mails.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Transaction } from '../platform/database/database.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { SessionCaller } from '../sessions/session-facts.js'
import type { User } from '../users/users.js'
import {
  type AnyDetails,
  type ChangedFactor,
  type ChangeEventKind,
  type ChangeKind,
  type Consequences,
  consequencesOf,
  isDeletion,
  type KindBy,
  type Voided,
} from './account-change-table.js'
import { type Undoable, type Undos, undoLifetime } from './undos.js'
import * as store from './voiding.store.js'

export type ConsequenceServices = SessionsRoom & MessagesRoom & ApplicationsRoom & { undos: Undos }

/** The account as it was before the change, with its row held, and who changes it. `at`: when the change happened, if not just now. */
export type HeldAccount = { user: User; client: Client; caller?: SessionCaller | undefined; at?: Date }

/** Applies the row of a change, in its transaction. Its statements are sent together. Returns how many sessions ended. */
export const applyConsequences = async (
  services: ConsequenceServices,
  sql: Transaction,
  account: HeldAccount,
  kind: ChangeKind,
  details: AnyDetails,
) => {
  const row = consequencesOf(kind)
  const voids = row.voids.map((voided) => voiding[voided](services, sql, account.user.id, details.event?.provider))
  const [endedSessions] = await Promise.all([
    endSessions(services, sql, account, row, details),
    ...voids,
    tellPrograms(services, sql, account, row, details),
    tellOwner(services, sql, account, row, details),
    record(services, sql, account, kind, details),
  ])
  return endedSessions
}

/** How each of the things that a change voids is removed. */
const voiding: Record<
  Voided,
  (services: ConsequenceServices, sql: Transaction, userId: string, provider?: ProviderId) => Promise<unknown>
> = {
  resets: ({ oneTimeTokens }, sql, userId) => oneTimeTokens.forgetResets(sql, userId),
  'restore links': ({ oneTimeTokens }, sql, userId) => oneTimeTokens.forgetRestoreLinks(sql, userId),
  'undo links to later addresses': ({ undos }, sql, userId) => undos.voidOfLaterEmails(sql, userId),
  'email change': (_, sql, userId) => store.deleteEmailChange(sql, userId),
  'trusted devices': (_, sql, userId) => store.deleteTrustedDevices(sql, userId),
  'personal tokens': (_, sql, userId) => store.deletePersonalTokens(sql, userId),
  // Mailed codes are forgotten whatever their purpose: they were mailed when less proof was asked for, or to a former address.
  'waiting sign-ins': (_, sql, userId) =>
    Promise.all([
      forgetMailedCodes(sql, userId),
      store.deleteMailSignIns(sql, userId),
      store.denyUnusedApprovals(sql, userId),
      store.deletePendingSignIns(sql, userId),
    ]),
  // A device may have been approved in a session that the provider has proven, so all approvals are withdrawn.
  'waiting sign-ins by provider': (_, sql, userId, provider) =>
    Promise.all([
      store.denyUnusedApprovals(sql, userId),
      ...(provider ? [store.deletePendingSignInsOfProvider(sql, userId, provider)] : []),
    ]),
}

const endSessions = async (
  { sessions, usedApplications }: ConsequenceServices,
  sql: Transaction,
  { user, caller, client }: HeldAccount,
  { otherSessions, thisSession, event }: Consequences,
  details: AnyDetails,
) => {
  if (otherSessions === 'stay') return 0
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

/** Queues the webhook, unless a trigger does. A value of the column `webhook` without a case does not compile. */
const tellPrograms = async (
  { webhooks }: ConsequenceServices,
  sql: Transaction,
  { user: { id }, client, caller }: HeldAccount,
  { webhook }: Consequences,
  details: AnyDetails,
) => {
  const tellOfFactors = async (factors: readonly ChangedFactor[]) => {
    for (const factor of factors) await webhooks.queue(sql, 'factor.changed', { user: { id }, factor })
  }
  switch (webhook) {
    case null:
    case 'user.updated':
    case 'user.deleted':
      return
    case 'session.theft_suspected': {
      if (!caller) return
      const session = { id: caller.sessionId, ip: client.ip, userAgent: client.userAgent }
      return webhooks.queue(sql, 'session.theft_suspected', { user: { id }, session })
    }
    case 'factor.changed each':
      return tellOfFactors(details.factors ?? [])
    case 'factor.changed passkey':
    case 'factor.changed password':
    case 'factor.changed recovery_codes':
    case 'factor.changed totp':
      return tellOfFactors([webhook.slice('factor.changed '.length) as ChangedFactor])
    default:
      webhook satisfies never
  }
}

/**
 * Whether changes are mailed to the owner. Not to an address that was never proven: a mail with an undo link would give the account to its
 * reader.
 */
const isTold = ({ mails }: ConsequenceServices, { emailClaimed }: User) => !mails.isOff && !emailClaimed

/**
 * Where the owner is told. An administrator, such as the first one, is told at an address that was never proven, too, by a mail that opens
 * nothing: otherwise nobody would notice a thief in that account.
 */
const addressesOf = async (services: ConsequenceServices, sql: Transaction, user: User, { mail }: Consequences) => {
  if (isTold(services, user)) return [user.email]
  // It speaks of the days in which the change can be undone.
  if (mail === 'language-changed') return []
  return (await services.administrators.areAdministering(user.groups, sql)) ? [user.email] : []
}

/** The mail to the owner, with the link that takes the change back. */
const tellOwner = async (
  services: ConsequenceServices,
  sql: Transaction,
  { user, client, at }: HeldAccount,
  row: Consequences,
  details: AnyDetails,
) => {
  const { undos, mails } = services
  const addUndoLink = () => {
    if (row.undo === null) return undefined
    if (!isTold(services, user)) return { undoFor: undoLifetime }
    // The cast is safe: the type `ChangeDetails` has checked the details against the table.
    const undoToken = undos.add(sql, user, { ...details.undo, kind: row.undo } as Undoable)
    return { undoToken, undoFor: undoLifetime }
  }
  const undoLink = addUndoLink()
  if (mails.isOff || row.mail === null || details.mail === null) return
  const { to = await addressesOf(services, sql, user, row), language = user.language, ...values } = details.mail ?? {}
  // After a deletion no row has the user's language any more, so the mail takes it from the client.
  const mailContext = isDeletion(row)
    ? { userId: null, client: { ...client, ...(language && { language }) } }
    : { userId: user.id, client }
  for (const address of to)
    await mails.tell(sql, {
      to: address,
      template: row.mail,
      values: { username: user.username, ...undoLink, ...values },
      ...mailContext,
      ...(at && { at }),
      ...(user.emailClaimed && { opensNothing: true }),
    } as MailRequest)
}

/** Notices that are nothing but a mail. For an owner who gets none, the list of events tells of them instead. */
const eventsInsteadOfMails: { readonly [Kind in ChangeKind]?: ChangeEventKind } = {
  new_device: 'new_device',
  new_program: 'new_device',
  device_trusted: 'device_trusted',
  sign_in_unfinished: 'sign_in_unfinished',
}

const anonymousClient: Client = { ip: '', userAgent: '' }

const isOperatorsChange = (kind: ChangeKind): kind is KindBy<'operator'> => consequencesOf(kind).by.includes('operator')

/**
 * Records the event. After a deletion it has the user's id, which programs know from the webhook, and nothing else that leads to the
 * user: the client is recorded only if it is an operator's.
 */
const record = async (
  services: ConsequenceServices,
  sql: Transaction,
  { user, client, caller }: HeldAccount,
  kind: ChangeKind,
  details: AnyDetails,
) => {
  const { administratorTrail } = services
  const row = consequencesOf(kind)
  const eventKind = row.event ?? (isTold(services, user) ? undefined : eventsInsteadOfMails[kind])
  if (eventKind === undefined) return
  const session = caller && { sessionId: caller.sessionId }
  const change = isOperatorsChange(kind) ? kind : undefined
  const event = isDeletion(row)
    ? { kind: eventKind, reason: user.id }
    : { kind: eventKind, userId: user.id, ...session, ...details.event }
  await administratorTrail.record(sql, { event, user, change }, isDeletion(row) && caller ? anonymousClient : client)
}
