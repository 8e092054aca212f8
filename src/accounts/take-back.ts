import type { AccountChanges } from '../account-changes/account-changes.js'
import { linkKindOf, type Undos } from '../account-changes/undos.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { UndoLinkKind } from '../contract/pages.js'
import type { Client } from '../http/request-origin.js'
import type { Mails } from '../messages/mails.js'
import type { Transaction } from '../platform/database/database.js'
import { readEmail } from '../users/names.js'
import type { User, UserChanges } from '../users/users.js'

import type { AccountClearing } from './account-clearing.js'
import { clearingOf } from './recent-changes.js'
import type { RestoredMail } from './restored-mail.js'

type Dependencies = {
  accountChanges: Pick<AccountChanges, 'byLink'>
  userChanges: Pick<UserChanges, 'setEmail'>
  undos: Pick<Undos, 'find' | 'openOf' | 'take' | 'forgetFrom'>
  mails: Pick<Mails, 'withdrawExceptTo'>
  clear: AccountClearing
  restoredMail: RestoredMail
}
type UsedLink = { token: string; linkKind: UndoLinkKind; passwordHash: string | undefined }

export type TakeBack = ReturnType<typeof createTakeBack>

/**
 * Uses up an undo link and takes the changes back, in one transaction that locks the user's row. A thief's change at the same time either
 * comes first and is taken back too, or comes later and fails, because its session and its proof are gone.
 */
export const createTakeBack = ({ accountChanges, userChanges, undos, mails, clear, restoredMail }: Dependencies) => {
  /**
   * No other user has the address, because it is reserved while an undo link can restore it. The link was mailed to the address, so the
   * address counts as proven.
   */
  const restoreEmail = async (sql: Transaction, user: User, formerEmail: string) => {
    const email = readEmail(formerEmail)
    if (isRefused(email) || !(await userChanges.setEmail(sql, user.id, email, { isProven: true })))
      throw new Error('The address of an undo cannot be put back')
    // Nothing goes to the later address any more but the notice, which is queued after this.
    await mails.withdrawExceptTo(sql, user.id, email.email)
    return { ...user, email: email.email }
  }

  return async ({ token, linkKind, passwordHash }: UsedLink, client: Client) => {
    const openUndo = await undos.find(token)
    if (!openUndo || linkKindOf(openUndo) !== linkKind) return refuse('invalid_link')
    const context = { userId: openUndo.userId, client, whileDisabled: 'allowed' } as const
    const changeKind = linkKind === 'email' ? 'email_change_undone' : 'factor_undone'
    const outcome = await accountChanges.byLink(context, [changeKind, 'email_withdrawn'], async (sql, user) => {
      const openUndos = await undos.openOf(sql, user.id)
      const undo = await undos.take(sql, token)
      if (!undo) return refuse('invalid_link')
      const { email } = undo
      const restoresEmail = user.email !== email
      const owner = restoresEmail ? await restoreEmail(sql, user, email) : user
      await undos.forgetFrom(sql, user.id, email, undo.since)
      const cleared = await clear(sql, owner, { ...clearingOf(user, openUndos), passwordHash })
      const hasPassword = passwordHash !== undefined
      // The reason of the event names what was taken back.
      const reason = [...(restoresEmail ? ['email'] : []), ...cleared.takenBack].join(' ')
      const restoredDetails = {
        mail: await restoredMail(sql, cleared.user, { byOperator: false, hasPassword }),
        factors: cleared.factors,
        event: reason ? { reason } : {},
      }
      const withdrawnChange = restoresEmail && { email_withdrawn: { mail: { username: cleared.user.username } } }
      return { changes: { [changeKind]: restoredDetails, ...withdrawnChange } }
    })
    return isRefused(outcome) ? refuse('invalid_link') : outcome.user
  }
}
