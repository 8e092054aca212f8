import type { ChangedFactor } from '../account-changes/account-changes.js'
import { type FormerSecret, undoLifetime } from '../account-changes/undos.js'
import type { Language } from '../contract/languages.js'
import type { PasskeyRecords } from '../factors/passkeys.js'
import type { Factors } from '../factors/second-factors.js'
import type { AppReplacements } from '../factors/totp.js'

import type { Transaction } from '../platform/database/database.js'
import type { IdentityLinks } from '../providers/identity-links.js'
import { usernameKey } from '../users/names.js'
import type { Usernames } from '../users/usernames.js'
import type { Identity, User, UserChanges } from '../users/users.js'

type Dependencies = {
  userChanges: Pick<UserChanges, 'takeBack' | 'setField'>
  identityLinks: Pick<IdentityLinks, 'unlinkAndRemember'>
  usernames: Pick<Usernames, 'isTaken' | 'takeBack'>
  factors: Pick<Factors, 'remove' | 'removeNewRecoveryCodes'>
  appReplacements: Pick<AppReplacements, 'restore'>
  passkeys: Pick<PasskeyRecords, 'removeSome'>
}

/** `FormerSecret`: the app with this secret works again, and the app that replaced it does not. */
export type TotpClearing = 'stays' | 'removed' | FormerSecret

/** The parts that an account loses when it is taken back, and the username and the language that it gets. */
export type Clearing = {
  username: string
  language: Language | undefined
  totp: TotpClearing
  /** The ids of passkeys to remove. */
  passkeys: readonly string[]
  identities: readonly Identity[]
  /** The hash of the new password. Without it, no password works any more. */
  passwordHash?: string | undefined
}

type ClearedKind = 'totp' | 'recovery_codes' | 'passkey' | 'provider' | 'username' | 'language'

export type AccountClearing = ReturnType<typeof createAccountClearing>

/**
 * Removes from an account the parts that `Clearing` names, and every password but the new one. The table of account changes ends and
 * voids the rest, such as sessions and links. The caller holds the user's row.
 */
export const createAccountClearing = (deps: Dependencies) => {
  const { identityLinks, userChanges, usernames, factors, appReplacements, passkeys } = deps

  const clearCodes = async (sql: Transaction, userId: string, totp: TotpClearing) => {
    if (totp === 'removed' && (await factors.remove(sql, userId))) return ['totp'] as const
    const isRestored = typeof totp === 'object' && (await appReplacements.restore(sql, userId, totp))
    // New recovery codes are removed even if the app stays: a thief may have asked for them.
    const hadNewCodes = await factors.removeNewRecoveryCodes(sql, userId, undoLifetime)
    return [...(isRestored ? (['totp'] as const) : []), ...(hadNewCodes ? (['recovery_codes'] as const) : [])]
  }

  /**
   * Gives the former username back, and returns the username that the account has afterwards. Another user can have the former name only
   * if its reservation has expired.
   */
  const rename = async (sql: Transaction, user: User, username: string) => {
    const former = { username, key: usernameKey(username) }
    if (username === user.username || (await usernames.isTaken(sql, former.key, user.id))) return user.username
    await usernames.takeBack(sql, user, former)
    return username
  }

  /** In the result, `takenBack` lists what was removed or put back, and `factors` the factors that have changed, for webhooks. */
  return async (sql: Transaction, user: User, clearing: Clearing) => {
    const username = await rename(sql, user, clearing.username)
    const { language, identities, passwordHash } = clearing
    const changesLanguage = language !== undefined && language !== user.language
    if (changesLanguage) await userChanges.setField(sql, user.id, 'language', language)
    const clearedCodes = await clearCodes(sql, user.id, clearing.totp)
    const hadPasskeys = (await passkeys.removeSome(sql, user.id, clearing.passkeys)) > 0
    if (identities.length > 0) await identityLinks.unlinkAndRemember(sql, user.id, identities)
    await userChanges.takeBack(sql, user.id, passwordHash)
    const changesPassword = user.passwordHash !== undefined || passwordHash !== undefined
    const clearedPasskeys = hadPasskeys ? (['passkey'] as const) : []
    const takenBack: ClearedKind[] = [
      ...clearedCodes,
      ...clearedPasskeys,
      ...(identities.length > 0 ? (['provider'] as const) : []),
      ...(username === user.username ? [] : (['username'] as const)),
      ...(changesLanguage ? (['language'] as const) : []),
    ]
    const changedFactors: ChangedFactor[] = [
      ...clearedCodes,
      ...clearedPasskeys,
      ...(changesPassword ? (['password'] as const) : []),
    ]
    return { user: { ...user, username, language }, takenBack, factors: changedFactors }
  }
}
