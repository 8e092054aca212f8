import { isRefused, refuse } from '../../contract/outcome.js'
import type { EmailChange, EmailChanges } from '../../domain/email-changes/email-changes.js'
import type { Events } from '../../domain/events/events.js'
import type { Factors } from '../../domain/factors/factors.js'
import type { Invitations } from '../../domain/invitations/invitations.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import type { Client } from '../../domain/sessions/client.js'
import { createLockedAccount } from '../../domain/sessions/locked-account.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import { emailKey, readEmail } from '../../domain/users/email.js'
import type { User, Users } from '../../domain/users/users.js'
import type { Database, Transaction } from '../../platform/database/database.js'

type Dependencies = {
  database: Database
  users: Users
  passwords: Passwords
  sessions: Sessions
  factors: Pick<Factors, 'hasTotp'>
  emailChanges: EmailChanges
  invitations: Pick<Invitations, 'refusalForAddress' | 'useUp'>
  events: Events
  /** Whether a password alone is never enough to sign in. */
  required: boolean
}
/** `withheld`: no mail goes to the new address. */
type Asked = { caller: SessionCaller; email: string; withheld: boolean }
type Confirmed = { token: string; password?: string | undefined; caller: SessionCaller | undefined }

/** Asked again in the transaction of the change: whether the proof still holds. With a session, it gets new tokens. */
type Proof = { caller: SessionCaller } | { passwordHash: string }

export const createChangeEmail = (deps: Dependencies) => {
  const { users, passwords, sessions, factors, emailChanges, invitations, events } = deps
  const change = createLockedAccount(deps)

  /**
   * Mails the links. The answer does not show whether the address has an account or an invitation: whether an account may have it is
   * decided when it is confirmed. The caller's own address, also with other capitals, needs no mail.
   */
  const ask = async ({ caller, email: given, withheld }: Asked, client: Client) => {
    const email = readEmail(given)
    if (isRefused(email)) return email
    const { userId, sessionId } = caller
    return change(caller, async (sql, user) => {
      if (emailKey(user.email) === email.key) return undefined
      await emailChanges.ask(sql, user, email, { client, withheld })
      await events.recordInside(sql, { kind: 'email_change_asked', userId, sessionId }, client)
      return undefined
    })
  }

  /** The address that waits for its confirmation. */
  const waitingFor = async ({ userId }: SessionCaller) => {
    const waiting = await emailChanges.waitingOf(userId)
    return waiting ? { email: waiting.email, expiresAt: waiting.expires_at.toISOString() } : null
  }

  /** The mailed link does not work any more. The undo link in the other mail still does. */
  const cancel = async (caller: SessionCaller, client: Client) => {
    const { userId, sessionId } = caller
    return change(caller, async (sql) => {
      if (await emailChanges.forget(sql, userId))
        await events.recordInside(sql, { kind: 'email_change_cancelled', userId, sessionId }, client)
      return undefined
    })
  }

  /** A session of the user, or else the password, unless it is not enough to sign in. */
  const neededProof = async ({ id, passwordHash }: User, caller: SessionCaller | undefined) => {
    if (caller?.userId === id && (await sessions.isLive(caller))) return 'session' as const
    const isEnough = !deps.required && passwordHash !== undefined && !(await factors.hasTotp(id))
    return isEnough ? ('password' as const) : ('sign_in' as const)
  }

  /** For the page of the link. Not the username: a mistyped address belongs to another person. */
  const look = async (token: string, caller: SessionCaller | undefined) => {
    const waiting = await emailChanges.find(token)
    const user = waiting && (await users.findById(waiting.userId))
    if (!user || user.disabled) return refuse('invalid_link')
    return { email: waiting.email.email, proof: await neededProof(user, caller) }
  }

  const proofFor = async ({ userId }: EmailChange, { caller, password }: Confirmed, client: Client) => {
    const user = await users.findById(userId)
    if (!user || user.disabled) return refuse('not_authenticated')
    const needed = await neededProof(user, caller)
    if (needed === 'session' && caller) return { caller }
    if (needed !== 'password' || user.passwordHash === undefined) return refuse('not_authenticated')
    if (password === undefined) return refuse('password_required')
    const verified = await passwords.verify(password, user.passwordHash, client)
    if (isRefused(verified)) return verified
    if (verified.matches) return { passwordHash: user.passwordHash }
    await events.record({ kind: 'email_change_failed', userId, reason: 'wrong_password' }, client)
    return refuse('wrong_current_password')
  }

  /** The new tokens carry the new email. Without a session none begins. */
  const renew = async (sql: Transaction, user: User, proof: Proof, client: Client) => {
    if ('caller' in proof) {
      const issued = await sessions.rotateWithoutGrace(sql, proof.caller, user, client)
      return issued ? { issued } : refuse('not_authenticated')
    }
    const holds = user.passwordHash === proof.passwordHash && !(await factors.hasTotp(user.id, sql))
    return holds ? { issued: undefined } : refuse('not_authenticated')
  }

  const confirm = async (request: Confirmed, client: Client) => {
    const waiting = await emailChanges.find(request.token)
    if (!waiting) return refuse('invalid_link')
    const proof = await proofFor(waiting, request, client)
    if (isRefused(proof)) return proof
    return emailChanges.changing(async (sql) => {
      const user = await users.lock(sql, waiting.userId)
      if (!user || user.disabled) return refuse('not_authenticated')
      const confirmed = await emailChanges.find(request.token, sql)
      if (!confirmed) return refuse('invalid_link')
      const { email, askedAt } = confirmed
      const refused = await invitations.refusalForAddress(sql, email, askedAt)
      if (refused) return refused
      const renewed = await renew(sql, { ...user, email: email.email }, proof, client)
      if (isRefused(renewed)) return renewed
      const except = renewed.issued && { except: renewed.issued.sessionId }
      await emailChanges.apply(sql, user, { email, ...except, client })
      await invitations.useUp(sql, email)
      const session = renewed.issued && { sessionId: renewed.issued.sessionId }
      await events.recordInside(sql, { kind: 'email_changed', userId: user.id, ...session }, client)
      return renewed
    })
  }

  /** Whose change the link confirms. */
  const userOf = async (token: string) => {
    const waiting = await emailChanges.find(token)
    return waiting && users.findById(waiting.userId)
  }

  return { ask, waitingFor, cancel, look, confirm, userOf }
}
