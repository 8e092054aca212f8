import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { NextSteps } from '../factors/second-factors.js'
import type { Client } from '../http/request-origin.js'
import { fingerprint } from '../lib/random.js'
import type { Events } from '../messages/events.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Transaction } from '../platform/database/database.js'
import type { Invitations } from '../registration/invitations.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { SessionCaller } from '../sessions/sessions.js'

import type { User, UserChanges, Users } from '../users/users.js'

import type { EmailChange, EmailChanges } from './email-changes.js'

type ProofDependencies = {
  users: Users
  passwords: Passwords
  sessionLookups: Pick<SessionLookups, 'isLive'>
  nextSteps: Pick<NextSteps, 'nextFor'>
  events: Events
}

type Confirmation = { token: string; password?: string | undefined; caller: SessionCaller | undefined }

/** How the owner was recognised. A session gets new tokens after the change. */
type Proof = { caller: SessionCaller } | { passwordHash: string }

/** Proves that the user of a mailed link is the owner of the account. */
export const createConfirmationProofs = (deps: ProofDependencies) => {
  const { users, passwords, sessionLookups, nextSteps, events } = deps

  /** The proof that is needed: a session of the user, or else the password; a sign-in, if the password alone signs no user in. */
  const neededProof = async ({ id, passwordHash }: User, caller: SessionCaller | undefined) => {
    if (caller?.userId === id && (await sessionLookups.isLive(caller))) return 'session' as const
    const isPasswordEnough = passwordHash !== undefined && (await nextSteps.nextFor(id)) === undefined
    return isPasswordEnough ? ('password' as const) : ('sign_in' as const)
  }

  const proofFor = async ({ userId }: EmailChange, { caller, password }: Confirmation, client: Client) => {
    const user = await users.findEnabled(userId)
    if (!user) return refuse('not_authenticated')
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

  /**
   * Whether the proven password is still the current one and still enough to sign in. A session is checked by
   * `accountChanges.byLink`, with the user's row locked.
   */
  const isStillValid = async (sql: Transaction, user: User, proof: Proof) =>
    'caller' in proof ||
    (user.passwordHash === proof.passwordHash && (await nextSteps.nextFor(sql, user.id)) === undefined)

  return { neededProof, proofFor, isStillValid }
}

type ConfirmContext = { userId: string; client: Client; caller: SessionCaller | undefined }

type Dependencies = {
  accountChanges: AccountChanges
  users: Users
  userChanges: Pick<UserChanges, 'proveEmail'>
  emailChanges: EmailChanges
  invitations: Pick<Invitations, 'refusalForAddress' | 'forgetUseless'>
  confirmationProofs: ReturnType<typeof createConfirmationProofs>
}

/** Confirms a new address, by the mailed link or its code. */
export const createConfirmEmail = (deps: Dependencies) => {
  const { accountChanges, users, userChanges, emailChanges, invitations } = deps
  const { neededProof, proofFor, isStillValid } = deps.confirmationProofs

  /** Describes the change for the page of the link. It leaves out the username, because a mistyped address belongs to another person. */
  const describe = async (token: string, caller: SessionCaller | undefined) => {
    const emailChange = await emailChanges.find(token)
    const user = emailChange && (await users.findEnabled(emailChange.userId))
    if (!user) return refuse('invalid_link')
    const { email } = emailChange.email
    return { email, present: user.email === email, proof: await neededProof(user, caller) }
  }

  /** Confirms by the link. A session gets new tokens with the new email; without a session, the link signs no user in. */
  const confirm = async (request: Confirmation, client: Client) => {
    const emailChange = await emailChanges.find(request.token)
    if (!emailChange) return refuse('invalid_link')
    const proof = await proofFor(emailChange, request, client)
    if (isRefused(proof)) return proof
    const context = { userId: emailChange.userId, client, caller: 'caller' in proof ? proof.caller : undefined }
    return change(context, fingerprint(request.token), proof)
  }

  /** Confirms by the code of the mail, in the session that asked for the change. */
  const confirmByCode = async ({ caller, client }: CallerContext, code: string) => {
    const checked = await emailChanges.checkCode(caller, code)
    return isRefused(checked) ? checked : change({ userId: caller.userId, client, caller }, checked.hash, { caller })
  }

  const change = (context: ConfirmContext, hash: Uint8Array, proof: Proof) => {
    const confirming = accountChanges.byLink(context, ['email_changed', 'email_proven'], async (sql, user) => {
      const confirmed = await emailChanges.findByHash(sql, hash)
      if (!confirmed) return refuse('invalid_link')
      const { email, askedAt } = confirmed
      const refused = await invitations.refusalForAddress(sql, email, askedAt)
      if (refused && user.email !== email.email) return refused
      if (!(await isStillValid(sql, user, proof))) return refuse('not_authenticated')
      if (user.email === email.email) {
        await userChanges.proveEmail(sql, user.id)
        return { changes: { email_proven: {} } }
      }
      await emailChanges.apply(sql, user, email, { isProven: true })
      await invitations.forgetUseless(sql, email)
      return { changes: { email_changed: { mail: { newEmail: email.email } } } }
    })
    return emailChanges.unlessTaken(confirming)
  }

  /** Finds the user whose change the link confirms. */
  const userOf = async (token: string) => {
    const emailChange = await emailChanges.find(token)
    return emailChange && users.findById(emailChange.userId)
  }

  return { describe, confirm, confirmByCode, userOf }
}
