import type { OperatorContext } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Sessions } from '../sessions/sessions.js'
import type { Email } from '../users/names.js'
import type { UserChanges } from '../users/users.js'

import type { AccountDeletion } from './account-deletion.js'
import type { EmailChanges } from './email-changes.js'
import { type LockDown, mailUnlessByCommand } from './lock-down.js'
import { createOperatorFactorChanges } from './operator-factor-changes.js'

type Dependencies = Parameters<typeof createOperatorFactorChanges>[0] & {
  userChanges: Pick<UserChanges, 'disable'>
  sessions: Pick<Sessions, 'endAll'>
  emailChanges: Pick<EmailChanges, 'unlessTaken' | 'apply'>
  deleteAccount: AccountDeletion
}
/** `from`: the address that the account must still have. `isFinal`: no undo link works any more, and the former address gets no mail. */
type NewEmail = { from: string; email: Email; isFinal: boolean }

export type OperatorChanges = ReturnType<typeof createOperatorChanges> & LockDown

/** Changes of any account by operators, and by programs with a key. */
export const createOperatorChanges = (deps: Dependencies) => {
  const { accountChanges, userChanges, sessions, emailChanges, deleteAccount } = deps
  const { byOperator } = accountChanges

  return {
    ...createOperatorFactorChanges(deps),

    /** The result says whether the user was disabled before. */
    disable: (actor: OperatorContext) =>
      byOperator(actor, 'user_disabled', async (sql, user) => {
        if (user.disabled) {
          // The database may have been restored to an earlier state, in which it does not know sessions that were begun since.
          await sessions.endAll(sql, 'user_disabled', user.id)
          return { result: true, changes: {} }
        }
        await userChanges.disable(sql, user.id)
        return { result: false, changes: { user_disabled: mailUnlessByCommand(actor) } }
      }),

    setEmail: (actor: OperatorContext, { from, email, isFinal }: NewEmail) => {
      const change = byOperator(actor, 'email_set', async (sql, user) => {
        if (user.email !== from) return refuse('changed_meanwhile')
        await emailChanges.apply(sql, user, email, { isProven: false, isFinal })
        return { changes: { email_set: { mail: isFinal ? null : { newEmail: email.email } } } }
      })
      return emailChanges.unlessTaken(change)
    },

    endSessions: (actor: OperatorContext) =>
      byOperator(actor, 'sessions_ended', async () => ({ changes: { sessions_ended: {} } })),

    remove: async (actor: OperatorContext) => {
      const removed = await byOperator(actor, 'user_deleted', async (sql, user) => {
        const recipients = await deleteAccount(sql, user, 'user_deleted')
        return { changes: { user_deleted: { mail: { byOperator: true, ...recipients } } } }
      })
      return isRefused(removed) ? removed : undefined
    },
  }
}
