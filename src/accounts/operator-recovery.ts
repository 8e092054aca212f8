import type { AccountChanges } from '../account-changes/account-changes.js'
import type { Undos } from '../account-changes/undos.js'
import type { PasskeyRecords } from '../factors/passkeys.js'
import type { Client } from '../http/request-origin.js'
import type { IdentityLinks } from '../providers/identity-links.js'
import type { Email } from '../users/names.js'
import type { AccountClearing } from './account-clearing.js'
import type { EmailChanges } from './email-changes.js'
import { clearingOf } from './recent-changes.js'
import type { RestoredMail } from './restored-mail.js'

type Dependencies = {
  accountChanges: Pick<AccountChanges, 'byOperator'>
  identityLinks: Pick<IdentityLinks, 'identitiesOf'>
  passkeys: Pick<PasskeyRecords, 'list'>
  undos: Pick<Undos, 'reserveEmail' | 'openOf' | 'forgetAll'>
  emailChanges: Pick<EmailChanges, 'unlessTaken' | 'apply'>
  clear: AccountClearing
  restoredMail: RestoredMail
}
type Recovery = { userId: string; email: Email; operator: Client }

/**
 * Gives an account to the owner of an address, for an operator who knows that the account belongs to that owner. Everything that signs in
 * or undoes a change is removed, even if it was added more than seven days ago. Refused if another user has the address.
 */
export const createOperatorRecovery = (deps: Dependencies) => {
  const { accountChanges, identityLinks, passkeys, undos, emailChanges, clear, restoredMail } = deps

  return ({ userId, email, operator }: Recovery) => {
    const recovery = accountChanges.byOperator({ userId, client: operator }, 'account_recovered', async (sql, user) => {
      const recentClearing = clearingOf(user, await undos.openOf(sql, userId))
      await undos.forgetAll(sql, userId)
      // The operator vouches for the address, also for one that was only typed before.
      if (user.email !== email.email || user.emailClaimed)
        await emailChanges.apply(sql, user, email, { isProven: false, isFinal: true })
      if (user.email !== email.email) await undos.reserveEmail(sql, user)
      const removedPasskeys = await passkeys.list(sql, userId)
      const identities = await identityLinks.identitiesOf(sql, userId)
      const cleared = await clear(
        sql,
        { ...user, email: email.email },
        {
          username: recentClearing.username,
          language: recentClearing.language,
          totp: 'removed',
          passkeys: removedPasskeys.map(({ id }) => id),
          identities: [...identities, ...recentClearing.identities],
        },
      )
      const mail = await restoredMail(sql, cleared.user, { byOperator: true, hasPassword: false })
      const result = {
        previousEmail: user.email,
        totp: cleared.takenBack.includes('totp'),
        passkeys: removedPasskeys.length,
        providers: identities.map(({ provider }) => provider),
      }
      return { result, changes: { account_recovered: { mail, factors: cleared.factors } } }
    })
    return emailChanges.unlessTaken(recovery)
  }
}
