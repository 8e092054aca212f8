import type { Language } from '../../contract/languages.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { AccountChanges } from '../../domain/accounts/account-changes.js'
import type { CallerContext } from '../../domain/sessions/request-context.js'
import { displayName } from '../../domain/users/display-name.js'
import { chooseUsername, readUsername, type Username } from '../../domain/users/username.js'
import { type Usernames, usernameReservedFor } from '../../domain/users/usernames.js'
import type { User, Users } from '../../domain/users/users.js'
import { isUniqueViolation, type Transaction } from '../../platform/database/database.js'

type Dependencies = {
  accountChanges: AccountChanges
  users: Pick<Users, 'setName' | 'setLanguage'>
  usernames: Pick<Usernames, 'refusalFor' | 'rename'>
}
export type Changes = { name?: string | null; username?: string; language?: Language }

/**
 * Changes the name, the username and the language of the caller. The new tokens of the session have the names at once, other
 * sessions at their next renewal.
 */
export const createProfile = ({ accountChanges, users, usernames }: Dependencies) => {
  const rename = async (sql: Transaction, user: User, wanted: Username | undefined) => {
    const former = user.username
    if (!wanted || wanted.username === former) return {}
    // A user may keep a name that could not be chosen today.
    const chosen = chooseUsername(wanted.username)
    if (isRefused(chosen)) return chosen
    const refused = await usernames.refusalFor(sql, user, wanted)
    if (refused) return refused
    await usernames.rename(sql, user, wanted)
    const mail = { username: wanted.username, formerUsername: former, reservedFor: usernameReservedFor }
    return { username_changed: { mail, undo: { former } } }
  }

  const setName = async (sql: Transaction, user: User, name: string | null | undefined) => {
    if (name === undefined || name === user.name) return {}
    await users.setName(sql, user.id, name)
    return { name_changed: {} }
  }

  const setLanguage = async (sql: Transaction, user: User, newLanguage: Language | undefined) => {
    if (newLanguage === undefined || newLanguage === user.language) return {}
    await users.setLanguage(sql, user.id, newLanguage)
    return { language_changed: { mail: { newLanguage }, undo: { former: user.language ?? 'en' } } }
  }

  const change = async (context: CallerContext, changes: Changes) => {
    if (Object.values(changes).every((change) => change === undefined))
      return refuse('bad_request', { message: 'Send a name, a username or a language' })
    const username = changes.username === undefined ? undefined : readUsername(changes.username)
    if (username && isRefused(username)) return username
    const name = changes.name === undefined ? undefined : displayName(changes.name)
    const kinds = [
      ...(username ? (['username_changed'] as const) : []),
      ...(name === undefined ? [] : (['name_changed'] as const)),
      ...(changes.language ? (['language_changed'] as const) : []),
    ]
    const changing = accountChanges.byCaller(context, kinds, async (sql, user) => {
      const renamed = await rename(sql, user, username)
      if (isRefused(renamed)) return renamed
      const named = await setName(sql, user, name)
      return { changes: { ...renamed, ...named, ...(await setLanguage(sql, user, changes.language)) } }
    })
    return changing.catch((error: unknown) => {
      // Another request has just taken the name.
      if (isUniqueViolation(error)) return refuse('username_taken')
      throw error
    })
  }

  return { change }
}
