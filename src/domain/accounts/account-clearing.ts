import type { Language } from '../../contract/languages.js'
import type { Transaction } from '../../platform/database/database.js'
import type { EmailChanges } from '../email-changes/email-changes.js'
import type { Factors } from '../factors/factors.js'
import { forgetMailedCodes } from '../mailed-codes/mailed-codes.js'
import type { OneTimeTokens } from '../one-time-tokens/one-time-tokens.js'
import type { PasskeyRecords } from '../passkeys/passkey-records.js'
import type { Sessions } from '../sessions/sessions.js'
import { undoLifetime } from '../undos/undos.js'
import { usernameKey } from '../users/username.js'
import type { Usernames } from '../users/usernames.js'
import type { Identity, User, Users } from '../users/users.js'
import type { Webhooks } from '../webhooks/webhooks.js'

type Dependencies = {
  users: Pick<Users, 'takeBack' | 'undoLinks' | 'setLanguage'>
  usernames: Pick<Usernames, 'isTaken' | 'rename'>
  sessions: Pick<Sessions, 'endAll'>
  factors: Pick<Factors, 'remove' | 'removeNewRecoveryCodes'>
  passkeys: Pick<PasskeyRecords, 'removeSome'>
  oneTimeTokens: Pick<OneTimeTokens, 'forgetResets'>
  emailChanges: Pick<EmailChanges, 'forget'>
  webhooks: Pick<Webhooks, 'queue'>
}

/** What an account loses when it is taken back, and the username and the language that it gets. */
export type Clearing = {
  username: string
  language: Language | undefined
  totp: boolean
  /** Their ids. */
  passkeys: readonly string[]
  identities: readonly Identity[]
  /** The password from now on; without it none works. */
  passwordHash?: string | undefined
}

export type ClearedKind = 'totp' | 'recovery_codes' | 'passkey' | 'provider' | 'username' | 'language'

export type AccountClearing = ReturnType<typeof createAccountClearing>

/**
 * Nothing that anyone had of the account works afterwards: neither what is removed here, nor a session, a password, a mailed
 * link or code, or a sign-in that has begun. Triggers end trusted devices and waiting sign-ins. The caller holds the user's row.
 */
export const createAccountClearing = (deps: Dependencies) => {
  const { users, usernames, sessions, factors, passkeys, oneTimeTokens, emailChanges, webhooks } = deps

  const noteFactor = (sql: Transaction, userId: string, factor: 'password' | 'totp' | 'passkey' | 'recovery_codes') =>
    webhooks.queue(sql, 'factor.changed', { user: { id: userId }, factor })

  const removeCodes = async (sql: Transaction, userId: string, totp: boolean): Promise<ClearedKind[]> => {
    if (totp && (await factors.remove(sql, userId))) {
      await noteFactor(sql, userId, 'totp')
      return ['totp']
    }
    // Of an app that stays: a thief may have asked for a new set.
    if (!(await factors.removeNewRecoveryCodes(sql, userId, undoLifetime))) return []
    await noteFactor(sql, userId, 'recovery_codes')
    return ['recovery_codes']
  }

  const removeWaysIn = async (sql: Transaction, userId: string, clearing: Clearing): Promise<ClearedKind[]> => {
    const codes = await removeCodes(sql, userId, clearing.totp)
    const hasPasskeys = (await passkeys.removeSome(sql, userId, clearing.passkeys)) > 0
    if (hasPasskeys) await noteFactor(sql, userId, 'passkey')
    const hasIdentities = clearing.identities.length > 0
    if (hasIdentities) await users.undoLinks(sql, userId, clearing.identities)
    return [...codes, ...(hasPasskeys ? (['passkey'] as const) : []), ...(hasIdentities ? (['provider'] as const) : [])]
  }

  /** The name is reserved for the user. Only if that is over by now, another user may have it. */
  const rename = async (sql: Transaction, user: User, username: string) => {
    const wanted = { username, key: usernameKey(username) }
    if (username === user.username || (await usernames.isTaken(sql, wanted.key, user.id))) return user.username
    await usernames.rename(sql, user, wanted)
    return username
  }

  return async (sql: Transaction, user: User, clearing: Clearing) => {
    const username = await rename(sql, user, clearing.username)
    const { language } = clearing
    const speaks = language !== undefined && language !== user.language
    if (speaks) await users.setLanguage(sql, user.id, language)
    const removed = await removeWaysIn(sql, user.id, clearing)
    await users.takeBack(sql, user.id, clearing.passwordHash)
    if (user.passwordHash !== undefined || clearing.passwordHash !== undefined)
      await noteFactor(sql, user.id, 'password')
    await emailChanges.forget(sql, user.id)
    await oneTimeTokens.forgetResets(sql, user.id)
    await forgetMailedCodes(sql, user.id)
    const endedSessions = await sessions.endAll(user.id, { sql })
    const kinds: ClearedKind[] = [
      ...removed,
      ...(username === user.username ? [] : (['username'] as const)),
      ...(speaks ? (['language'] as const) : []),
    ]
    return { user: { ...user, username, language, undoCount: user.undoCount + 1 }, removed: kinds, endedSessions }
  }
}
