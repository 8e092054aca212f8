import { isRefused, refuse } from '../../contract/outcome.js'
import type { ProviderId } from '../../contract/providers.js'
import type { EmailChanges } from '../email-changes/email-changes.js'
import type { Factors } from '../factors/factors.js'
import type { PasskeyRecords } from '../passkeys/passkey-records.js'
import type { Email } from '../users/email.js'
import type { Users } from '../users/users.js'
import type { AccountChanges, OperatorContext } from './account-changes.js'
import type { AccountDeletion } from './account-deletion.js'
import type { ChangedFactor } from './change-details.js'

type Dependencies = {
  accountChanges: Pick<AccountChanges, 'byOperator'>
  users: Pick<Users, 'disable' | 'enable' | 'expirePassword' | 'identitiesOf' | 'undoLinks'>
  factors: Pick<Factors, 'remove'>
  passkeys: Pick<PasskeyRecords, 'removeAll'>
  emailChanges: Pick<EmailChanges, 'unlessTaken' | 'apply'>
  deleteAccount: AccountDeletion
  providerName: (provider: ProviderId) => string
}
/** `from`: the address that the account must still have. `isFinal`: no undo link works any more, and the address before gets no mail. */
type NewEmail = { from: string; email: Email; isFinal: boolean }

export type OperatorChanges = ReturnType<typeof createOperatorChanges>

/** What operators, and programs with a key, can do to an account of any user. */
export const createOperatorChanges = (deps: Dependencies) => {
  const { accountChanges, users, factors, passkeys, emailChanges, deleteAccount, providerName } = deps
  const { byOperator } = accountChanges

  return {
    /** The result says whether the user was disabled before. */
    disable: (actor: OperatorContext) =>
      byOperator(actor, 'user_disabled', async (sql, user) => {
        await users.disable(sql, user.id)
        return { result: user.disabled, changes: { user_disabled: {} } }
      }),

    enable: (actor: OperatorContext) =>
      byOperator(actor, 'user_enabled', async (sql, user) => {
        await users.enable(sql, user.id)
        return { result: user.disabled, changes: { user_enabled: {} } }
      }),

    /** The result says whether there was a password. */
    expirePassword: (actor: OperatorContext) =>
      byOperator(actor, 'password_expired', async (sql, user) => {
        if (user.passwordHash === undefined) return { result: false, changes: {} }
        await users.expirePassword(sql, user.id)
        return { result: true, changes: { password_expired: user.disabled ? { mail: null } : {} } }
      }),

    /** Removes two-step sign-in and all passkeys. */
    resetFactors: (actor: OperatorContext) =>
      byOperator(actor, 'factors_reset', async (sql, { id }) => {
        const hadTotp = await factors.remove(sql, id)
        const removedPasskeys = await passkeys.removeAll(sql, id)
        const removed: ChangedFactor[] = [
          ...(hadTotp ? (['totp'] as const) : []),
          ...(removedPasskeys > 0 ? (['passkey'] as const) : []),
        ]
        return { result: removedPasskeys, changes: { factors_reset: { factors: removed } } }
      }),

    /** A sign-in there with the same address does not link it again. */
    unlinkProvider: (actor: OperatorContext, provider: ProviderId) =>
      byOperator(actor, 'provider_unlinked', async (sql, { id }) => {
        const linked = (await users.identitiesOf(sql, id)).filter((identity) => identity.provider === provider)
        if (linked.length === 0) return refuse('not_linked')
        const identities = linked.map(({ subject }) => ({ provider, subject }))
        await users.undoLinks(sql, id, identities)
        return {
          changes: { provider_unlinked: { mail: { providerName: providerName(provider) }, event: { provider } } },
        }
      }),

    setEmail: (actor: OperatorContext, { from, email, isFinal }: NewEmail) => {
      const setting = byOperator(actor, 'email_set', async (sql, user) => {
        if (user.email !== from) return refuse('changed_meanwhile')
        await emailChanges.apply(sql, user, email, { isFinal })
        return { changes: { email_set: { mail: isFinal ? null : { newEmail: email.email } } } }
      })
      return emailChanges.unlessTaken(setting)
    },

    endSessions: (actor: OperatorContext) =>
      byOperator(actor, 'sessions_ended', async () => ({ changes: { sessions_ended: {} } })),

    remove: async (actor: OperatorContext) => {
      const removed = await byOperator(actor, 'user_deleted', async (sql, user) => {
        const { to } = await deleteAccount(sql, user, 'user_deleted')
        return { changes: { user_deleted: { mail: { byOperator: true, to } } } }
      })
      return isRefused(removed) ? removed : undefined
    },
  }
}
