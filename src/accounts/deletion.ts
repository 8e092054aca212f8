import type { AccountChanges } from '../account-changes/account-changes.js'
import type { Undos } from '../account-changes/undos.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Proofs } from '../factors/second-factors.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import type { Events } from '../messages/events.js'
import { commitUnlessRefused, type Database, type Transaction } from '../platform/database/database.js'
import type { InitialProof, Sessions } from '../sessions/sessions.js'
import type { PendingSignIns } from '../sign-in/pending-sign-ins.js'
import { usernameKey } from '../users/names.js'
import type { Usernames } from '../users/usernames.js'
import type { User, UserChanges, Users } from '../users/users.js'
import { clearingOf } from './take-back.js'

type AccountDeletionDependencies = {
  userChanges: UserChanges
  usernames: Usernames
  undos: Undos
  sessions: Sessions
  events: Events
}

export type AccountDeletion = ReturnType<typeof createAccountDeletion>

/**
 * Deletes an account in a change that holds its row. What refers to the user is deleted with the row, and triggers delete the rest. Returns
 * the addresses and the language of the last mail. A thief may have changed both, so the mail also goes to the addresses of the last days,
 * and is in the former language.
 */
export const createAccountDeletion =
  ({ userChanges, usernames, undos, sessions, events }: AccountDeletionDependencies) =>
  async (sql: Transaction, user: User, event: 'account_deleted' | 'user_deleted') => {
    const { id, email, username } = user
    const { language } = clearingOf(user, await undos.openOf(sql, id))
    const restorableEmails = (await undos.formerEmailsOf(sql, id)).map((each) => each.email)
    const pastEmails = (await userChanges.emailHistoryOf(sql, id)).map((each) => each.email)
    const formerUsernameKeys = (await usernames.formerNamesOf(sql, id)).map((each) => each.key)
    // Deleting the row would end the sessions too, but this instance would learn it only from its next reading of the ended sessions.
    await sessions.endAll(sql, event, id)
    await events.forgetNames(sql, [email, username, ...restorableEmails, ...pastEmails, ...formerUsernameKeys])
    await userChanges.remove(sql, id)
    return { to: [email, ...restorableEmails], ...(language && { language }) }
  }

type LeavingDependencies = {
  database: Database
  users: Users
  pendingSignIns: PendingSignIns
  accountChanges: AccountChanges
  deleteAccount: AccountDeletion
  proofs: Proofs
  clock: Clock
  freshFor: number
}

export type Leaving = ReturnType<typeof createLeaving>

/** Lets users who have given every proof, but do not agree to the terms, take their data and delete the account. */
export const createLeaving = (deps: LeavingDependencies) => {
  const { database, users, pendingSignIns, accountChanges, deleteAccount, proofs, clock, freshFor } = deps

  /**
   * True if the sign-in is as fresh as a session would have to be. A trusted device, or an old sign-in at a provider, is not enough. An
   * account that never had a session has nothing that a stranger could want.
   */
  const isFresh = ({ hasSignedIn }: User, { trustedDevice, provenAt = clock.now() }: InitialProof) =>
    !hasSignedIn || (trustedDevice === undefined && clock.now().getTime() - provenAt.getTime() <= freshFor)

  /**
   * True if mail is the only method. A session of an account without other proofs would be asked for nothing but the mail that was answered
   * a moment ago.
   */
  const isOnlyMail = (methods: readonly string[]) => methods.length > 0 && methods.every((method) => method === 'mail')

  const find = async (token: string) => {
    const pending = await pendingSignIns.find(token)
    if (pending && !pending.proof) return refuse('other_step')
    const user = pending && (await users.findEnabled(pending.userId))
    if (!user || !pending?.proof) return refuse('challenge_over')
    if (isFresh(user, pending.proof)) return { pending, user }
    const methods = await proofs.methodsFor(user)
    if (isOnlyMail(pending.proof.methods) && isOnlyMail(methods)) return { pending, user }
    return refuse('fresh_sign_in_required', { methods })
  }

  return {
    userOf: async (token: string) => {
      const signIn = await find(token)
      return isRefused(signIn) ? signIn : signIn.user
    },

    /** The user must type the username, to show that they mean it. */
    deleteAccount: async (token: string, username: string, client: Client) => {
      const signIn = await find(token)
      if (isRefused(signIn)) return signIn
      const { pending } = signIn
      return commitUnlessRefused(database, async (sql) => {
        const user = await users.lockForDeletion(sql, pending.userId)
        if (!user || user.disabled || !(await pendingSignIns.lock(sql, token))) return refuse('challenge_over')
        if (usernameKey(username) !== usernameKey(user.username)) return refuse('other_username')
        const mailValues = await deleteAccount(sql, user, 'account_deleted')
        // The deletion counts as one by a session of the user, so that the event keeps no IP address.
        const caller = { userId: user.id, sessionId: pending.id, generation: 0 }
        await accountChanges.bySignIn(
          sql,
          { user, client, caller },
          { account_deleted: { mail: { byOperator: false, ...mailValues } } },
        )
        return undefined
      })
    },
  }
}
