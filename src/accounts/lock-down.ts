import type { AccountChanges, OperatorContext } from '../account-changes/account-changes.js'
import type { Undos } from '../account-changes/undos.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Transaction } from '../platform/database/database.js'
import type { ResetLinks } from '../sign-in/reset-links.js'
import { isOwnerInDoubt, type User, type UserChanges } from '../users/users.js'

type Dependencies = {
  accountChanges: Pick<AccountChanges, 'byOperator'>
  userChanges: Pick<UserChanges, 'disable' | 'enable' | 'expirePassword'>
  undos: Pick<Undos, 'openOf' | 'formerOwnerOf'>
  resetLinks: Pick<ResetLinks, 'canMailTo' | 'sendInside'>
}

/**
 * The user gets a mail about a change by an administrator in the browser, or by a program with a key. An operator at the command line
 * tells users in another way, or not at all.
 */
export const mailUnlessByCommand = ({ client }: OperatorContext) => (client.actor ? {} : { mail: null })

/** A personnel system that enables everyone who is on its list must not give an account back to a thief. Neither must support. */
const mayLiftLockDown = ({ client: { actor } }: OperatorContext) => actor === undefined || actor.role === 'admin'

/** Whether the owner must choose a new password after a lock-down: the account has no password, or only one from before the lock-down. */
export const needsNewPassword = ({ lockedDownAt, passwordHash, passwordDistrusted }: User) =>
  lockedDownAt !== undefined && (passwordHash === undefined || passwordDistrusted)

export type LockDown = ReturnType<typeof createLockDown>

/** Takes an account out of a thief's reach, and gives it back to its owner. */
export const createLockDown = ({ accountChanges, userChanges, undos, resetLinks }: Dependencies) => {
  const { byOperator } = accountChanges

  /** The present address may be the thief's, and a former one the owner's. */
  const addressesOf = async (sql: Transaction, { id, email }: User) => {
    const openUndos = (await undos.openOf(sql, id)).filter(({ isVoid }) => !isVoid)
    return [...new Set([email, ...openUndos.map((undo) => undo.email)])]
  }

  return {
    /** The result says whether the user was disabled before. */
    lockDown: (actor: OperatorContext) =>
      byOperator(actor, 'user_locked_down', async (sql, user) => {
        const to = await addressesOf(sql, user)
        await userChanges.disable(sql, user.id, { isLockDown: true })
        // A second lock-down voids what has come since the first. It sends no mail, because the owner knows from the first one.
        const mail = user.lockedDownAt === undefined ? { to } : null
        return { result: user.disabled, changes: { user_locked_down: { mail } } }
      }),

    /**
     * A password from before a lock-down expires, and the owner chooses a new one with a mailed link. A password that the owner has chosen
     * since, with an undo link, stays. `keepsPassword`: the old password stays too, because the operator knows that no one else has it.
     * `isLinkNeeded`: no link can be mailed, so the operator has to print one.
     * While a former owner can take the account back, no link is mailed: the one that the former owner has also removes what a thief added.
     */
    enable: (actor: OperatorContext, { keepsPassword = false } = {}) =>
      byOperator(actor, ['user_enabled', 'password_expired'], async (sql, user) => {
        const unchanged = { wasDisabled: false, isResetLinkSent: false, isLinkNeeded: false, formerOwner: undefined }
        if (!user.disabled) return { result: unchanged, changes: {} }
        if (user.lockedDownAt !== undefined && !mayLiftLockDown(actor)) return refuse('locked_down')
        const hasPassword = user.passwordHash !== undefined
        const isDistrusted = user.passwordDistrusted && !keepsPassword
        const formerOwner = isDistrusted ? await undos.formerOwnerOf(sql, user) : undefined
        const expiresPassword = hasPassword && isDistrusted
        // Whoever disables an account in doubt, and enables it again, does not know whose it is.
        const isInDoubt = formerOwner !== undefined || (user.lockedDownAt === undefined && isOwnerInDoubt(user))
        const needsLink = needsNewPassword(user) && (expiresPassword || !hasPassword) && !isInDoubt
        const isResetLinkSent = needsLink && resetLinks.canMailTo(user)
        await userChanges.enable(sql, user.id, { isOwnerInDoubt: isInDoubt })
        if (expiresPassword) await userChanges.expirePassword(sql, user.id)
        const resetLink = isResetLinkSent ? await resetLinks.sendInside(sql, user, actor.client) : undefined
        if (isRefused(resetLink)) return resetLink
        return {
          result: { wasDisabled: true, isResetLinkSent, isLinkNeeded: needsLink && !isResetLinkSent, formerOwner },
          changes: {
            user_enabled:
              formerOwner !== undefined && actor.client.actor
                ? { mail: { to: [user.email, formerOwner] } }
                : mailUnlessByCommand(actor),
            ...(expiresPassword && { password_expired: { mail: null } }),
          },
        }
      }),
  }
}
