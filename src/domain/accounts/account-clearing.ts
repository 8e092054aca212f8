import type { Language } from '../../contract/languages.js'
import type { Transaction } from '../../platform/database/database.js'
import type { AppReplacements } from '../factors/app-replacements.js'
import type { Factors } from '../factors/factors.js'
import type { PasskeyRecords } from '../passkeys/passkey-records.js'
import { type FormerSecret, undoLifetime } from '../undos/undos.js'
import type { IdentityLinks } from '../users/identity-links.js'
import type { UserChanges } from '../users/user-changes.js'
import { usernameKey } from '../users/username.js'
import type { Usernames } from '../users/usernames.js'
import type { Identity, User } from '../users/users.js'
import type { ChangedFactor } from './change-details.js'

type Dependencies = {
  userChanges: Pick<UserChanges, 'takeBack' | 'setField'>
  identityLinks: Pick<IdentityLinks, 'undoLinks'>
  usernames: Pick<Usernames, 'isTaken' | 'takeBack'>
  factors: Pick<Factors, 'remove' | 'removeNewRecoveryCodes'>
  appReplacements: Pick<AppReplacements, 'restore'>
  passkeys: Pick<PasskeyRecords, 'removeSome'>
}

/** A secret: of the app that works again, in the place of the one that replaced it. */
export type TotpClearing = 'stays' | 'removed' | FormerSecret

/** The parts that an account loses when it is taken back, and the username and the language that it gets. */
export type Clearing = {
  username: string
  language: Language | undefined
  totp: TotpClearing
  /** Their ids. */
  passkeys: readonly string[]
  identities: readonly Identity[]
  /** The password from now on; without it none works. */
  passwordHash?: string | undefined
}

type ClearedKind = 'totp' | 'recovery_codes' | 'passkey' | 'provider' | 'username' | 'language'

export type AccountClearing = ReturnType<typeof createAccountClearing>

/**
 * Clears an account. Nothing that anyone had of it works afterwards: neither what is removed here, nor a password, nor what the table of
 * account changes ends and voids. The caller holds the user's row.
 */
export const createAccountClearing = (deps: Dependencies) => {
  const { identityLinks, userChanges, usernames, factors, appReplacements, passkeys } = deps

  const clearCodes = async (sql: Transaction, userId: string, totp: TotpClearing) => {
    if (totp === 'removed' && (await factors.remove(sql, userId))) return ['totp'] as const
    const isRestored = typeof totp === 'object' && (await appReplacements.restore(sql, userId, totp))
    // Of an app that stays: a thief may have asked for a new set.
    const hadNewCodes = await factors.removeNewRecoveryCodes(sql, userId, undoLifetime)
    return [...(isRestored ? (['totp'] as const) : []), ...(hadNewCodes ? (['recovery_codes'] as const) : [])]
  }

  /** The name is reserved for the user. Only if that is over by now, another user may have it. */
  const rename = async (sql: Transaction, user: User, username: string) => {
    const wanted = { username, key: usernameKey(username) }
    if (username === user.username || (await usernames.isTaken(sql, wanted.key, user.id))) return user.username
    await usernames.takeBack(sql, user, wanted)
    return username
  }

  /** `factors`: those that were removed or replaced, for webhooks. */
  return async (sql: Transaction, user: User, clearing: Clearing) => {
    const username = await rename(sql, user, clearing.username)
    const { language, identities, passwordHash } = clearing
    const speaks = language !== undefined && language !== user.language
    if (speaks) await userChanges.setField(sql, user.id, 'language', language)
    const codes = await clearCodes(sql, user.id, clearing.totp)
    const hasPasskeys = (await passkeys.removeSome(sql, user.id, clearing.passkeys)) > 0
    if (identities.length > 0) await identityLinks.undoLinks(sql, user.id, identities)
    await userChanges.takeBack(sql, user.id, passwordHash)
    const hasPassword = user.passwordHash !== undefined || passwordHash !== undefined
    const passkey = hasPasskeys ? (['passkey'] as const) : []
    const removed: ClearedKind[] = [
      ...codes,
      ...passkey,
      ...(identities.length > 0 ? (['provider'] as const) : []),
      ...(username === user.username ? [] : (['username'] as const)),
      ...(speaks ? (['language'] as const) : []),
    ]
    const changed: ChangedFactor[] = [...codes, ...passkey, ...(hasPassword ? (['password'] as const) : [])]
    return { user: { ...user, username, language }, removed, factors: changed }
  }
}
