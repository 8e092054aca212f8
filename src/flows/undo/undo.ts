import { isRefused, refuse } from '../../contract/outcome.js'
import type { EmailChanges } from '../../domain/email-changes/email-changes.js'
import type { Events } from '../../domain/events/events.js'
import type { Factors } from '../../domain/factors/factors.js'
import type { Mails } from '../../domain/mails/mails.js'
import { type OneTimeTokens, resetLifetime } from '../../domain/one-time-tokens/one-time-tokens.js'
import type { Passkeys } from '../../domain/passkeys/passkeys.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { Undo, Undos } from '../../domain/undos/undos.js'
import { readEmail } from '../../domain/users/email.js'
import type { User, Users } from '../../domain/users/users.js'
import type { Webhooks } from '../../domain/webhooks/webhooks.js'
import { randomToken } from '../../lib/random.js'
import type { Database, Transaction } from '../../platform/database/database.js'

type Dependencies = {
  database: Database
  users: Users
  sessions: Sessions
  factors: Factors
  passkeys: Pick<Passkeys, 'removeOne' | 'removeAddedSince'>
  oneTimeTokens: OneTimeTokens
  emailChanges: EmailChanges
  undos: Undos
  mails: Mails
  webhooks: Webhooks
  events: Events
}
type EmailUndo = Extract<Undo, { kind: 'email' }>
type FactorUndo = Exclude<Undo, EmailUndo>

const isOfEmail = (undo: Undo): undo is EmailUndo => undo.kind === 'email'
const isOfFactor = (undo: Undo): undo is FactorUndo => undo.kind !== 'email'

/** Takes an account back, with the link of a mail about a change. No session is needed: the mail went to the owner. */
export const createUndo = (deps: Dependencies) => {
  const { database, users, sessions, factors, passkeys, oneTimeTokens, emailChanges, undos, mails, webhooks, events } =
    deps

  /**
   * Uses up the link in one transaction with all that follows from it. It holds the user's row: what happens at once is either
   * before it, and taken back with it, or after it, and finds neither its session nor its proof.
   */
  const using = async <Meant extends Undo>(
    token: string,
    isMeant: (undo: Undo) => undo is Meant,
    work: (sql: Transaction, user: User, undo: Meant) => Promise<unknown>,
  ) => {
    const found = await undos.find(token)
    if (!found || !isMeant(found)) return refuse('invalid_link')
    return database.transaction(async (sql) => {
      const user = await users.lock(sql, found.userId)
      if (!user || !(await undos.take(sql, token))) return refuse('invalid_link')
      await work(sql, user, found)
      return found
    })
  }

  const noteFactor = (sql: Transaction, userId: string, factor: 'password' | 'totp' | 'passkey') =>
    webhooks.queue(sql, 'factor.changed', { user: { id: userId }, factor })

  /** Nothing that anyone had of the account works any more. A trigger ends trusted devices and sign-ins that wait. */
  const lockOut = async (sql: Transaction, user: User) => {
    await users.takeBack(sql, user.id)
    await emailChanges.forget(sql, user.id)
    await oneTimeTokens.forgetResets(sql, user.id)
    await sessions.endAll(user.id, { sql })
    if (user.passwordHash !== undefined) await noteFactor(sql, user.id, 'password')
  }

  const remove = async (sql: Transaction, undo: FactorUndo) => {
    const { userId } = undo
    if (undo.kind === 'provider') return users.undoLink(sql, userId, undo.identity)
    const isThere = undo.kind === 'totp' ? await factors.remove(sql, userId) : await passkeys.removeOne(sql, undo.id)
    return isThere ? noteFactor(sql, userId, undo.kind) : undefined
  }

  const removeAddedSince = async (sql: Transaction, { userId, since }: EmailUndo) => {
    await users.undoLinksSince(sql, userId, since, await undos.linkedSince(sql, userId, since))
    if (await factors.removeAddedSince(sql, userId, since)) await noteFactor(sql, userId, 'totp')
    if (await passkeys.removeAddedSince(sql, userId, since)) await noteFactor(sql, userId, 'passkey')
  }

  /** The address is reserved for this user as long as there is an undo of it, so no other user has it. */
  const putBack = async (sql: Transaction, user: User, given: string) => {
    const email = readEmail(given)
    if (isRefused(email) || !(await users.setEmail(sql, user.id, email)))
      throw new Error('The address of an undo cannot be put back')
  }

  type ResetMail = { template: 'email-restored' | 'factor-undone'; to: string; client: Client }
  const mailReset = async (sql: Transaction, { id, username }: User, mail: ResetMail) => {
    const token = randomToken()
    await oneTimeTokens.replaceReset(sql, id, token)
    await mails.queue(sql, { ...mail, userId: id, values: { username, token, validFor: resetLifetime } })
  }

  const undoEmail = async (token: string, client: Client) => {
    const undone = await using(token, isOfEmail, async (sql, user, undo) => {
      const isChanged = user.email !== undo.email
      if (isChanged) await putBack(sql, user, undo.email)
      await removeAddedSince(sql, undo)
      await undos.forgetSince(sql, user.id, undo.since)
      await lockOut(sql, user)
      await mailReset(sql, user, { template: 'email-restored', to: undo.email, client })
      const values = { username: user.username }
      const mail = { to: user.email, userId: user.id, template: 'email-withdrawn', values } as const
      if (isChanged) await mails.queue(sql, { ...mail, client })
      await events.recordInside(sql, { kind: 'email_change_undone', userId: user.id }, client)
    })
    return isRefused(undone) ? undone : undefined
  }

  const undoFactor = async (token: string, client: Client) => {
    const undone = await using(token, isOfFactor, async (sql, user, undo) => {
      await remove(sql, undo)
      await lockOut(sql, user)
      await mailReset(sql, user, { template: 'factor-undone', to: user.email, client })
      await events.recordInside(sql, { kind: 'factor_undone', userId: user.id, reason: undo.kind }, client)
    })
    return isRefused(undone) ? undone : undefined
  }

  /** For the page of the link. Changes nothing. */
  const look = async (token: string) => {
    const found = await undos.find(token)
    const user = found && (await users.findById(found.userId))
    if (!user) return refuse('invalid_link')
    return { kind: found.kind, username: user.username, email: isOfEmail(found) ? found.email : null }
  }

  return { look, undoEmail, undoFactor }
}
