import type { AccountChanges, ChangedFactor, OperatorContext } from '../account-changes/account-changes.js'

import { refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import type { PasskeyRecords } from '../factors/passkeys.js'
import type { Factors } from '../factors/second-factors.js'

import type { IdentityLinks } from '../providers/identity-links.js'
import type { UserChanges } from '../users/users.js'

type Dependencies = {
  accountChanges: Pick<AccountChanges, 'byOperator'>
  userChanges: Pick<UserChanges, 'expirePassword'>
  identityLinks: Pick<IdentityLinks, 'identitiesOf' | 'unlinkAndRemember'>
  factors: Pick<Factors, 'remove'>
  passkeys: Pick<PasskeyRecords, 'removeAll'>
  providerName: (provider: ProviderId) => string
}

/** The change, for an account that had factors. If it had none, nothing changes and no mail is sent. */
const factorsResetChange = (factors: readonly ChangedFactor[]) =>
  factors.length > 0 ? { factors_reset: { factors } } : {}

/** Operators remove ways in which an account signs in. */
export const createOperatorFactorChanges = (deps: Dependencies) => {
  const { accountChanges, identityLinks, userChanges, factors, passkeys, providerName } = deps
  const { byOperator } = accountChanges

  return {
    /** The result says whether there was a password. */
    expirePassword: (actor: OperatorContext) =>
      byOperator(actor, 'password_expired', async (sql, user) => {
        if (user.passwordHash === undefined) return { result: false, changes: {} }
        await userChanges.expirePassword(sql, user.id)
        return { result: true, changes: { password_expired: user.disabled ? { mail: null } : {} } }
      }),

    /** Removes two-step sign-in and all passkeys. The result is the number of passkeys that were removed. */
    resetFactors: (actor: OperatorContext) =>
      byOperator(actor, 'factors_reset', async (sql, { id }) => {
        const hadTotp = await factors.remove(sql, id)
        const passkeyCount = await passkeys.removeAll(sql, id)
        const removed: ChangedFactor[] = [
          ...(hadTotp ? (['totp'] as const) : []),
          ...(passkeyCount > 0 ? (['passkey'] as const) : []),
        ]
        return { result: passkeyCount, changes: factorsResetChange(removed) }
      }),

    /** Removes two-step sign-in by codes, and leaves passkeys. */
    resetTotp: (actor: OperatorContext) =>
      byOperator(actor, 'factors_reset', async (sql, { id }) => {
        const removed: ChangedFactor[] = (await factors.remove(sql, id)) ? ['totp'] : []
        return { changes: factorsResetChange(removed) }
      }),

    /** A later sign-in with the provider does not link the account again by its address. */
    unlinkProvider: (actor: OperatorContext, provider: ProviderId) =>
      byOperator(actor, 'provider_unlinked', async (sql, { id }) => {
        const linkedIdentities = (await identityLinks.identitiesOf(sql, id)).filter(
          (identity) => identity.provider === provider,
        )
        if (linkedIdentities.length === 0) return refuse('not_linked')
        const identities = linkedIdentities.map(({ subject }) => ({ provider, subject }))
        await identityLinks.unlinkAndRemember(sql, id, identities)
        return {
          changes: { provider_unlinked: { mail: { providerName: providerName(provider) }, event: { provider } } },
        }
      }),
  }
}
