import type { Language } from '../../contract/languages.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { Mails } from '../../domain/mails/mails.js'
import type { Client } from '../../domain/sessions/client.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import { type Undos, undoLifetime } from '../../domain/undos/undos.js'
import { displayName } from '../../domain/users/display-name.js'
import { chooseUsername, readUsername, type Username } from '../../domain/users/username.js'
import { type Usernames, usernameReservedFor } from '../../domain/users/usernames.js'
import type { User, Users } from '../../domain/users/users.js'
import { type Database, isUniqueViolation, type Transaction } from '../../platform/database/database.js'

type Dependencies = {
  database: Database
  users: Users
  usernames: Usernames
  sessions: Sessions
  mails: Mails
  undos: Pick<Undos, 'add'>
  events: Events
}
export type Changes = { name?: string | null; username?: string; language?: Language }
type Wanted = Pick<Changes, 'name' | 'language'> & { username?: Username }
type Request = { caller: SessionCaller; changes: Changes; client: Client }

/**
 * Changes the name, the username and the language of the caller. The new tokens of the session have the names at once, other
 * sessions at their next renewal.
 */
export const createProfile = (deps: Dependencies) => {
  const { database, users, usernames, sessions, mails, undos, events } = deps

  const rename = async (sql: Transaction, user: User, wanted: Username, client: Client) => {
    await usernames.rename(sql, user, wanted)
    const undoToken = await undos.add(sql, user, { kind: 'username', former: user.username })
    const names = { username: wanted.username, formerUsername: user.username }
    const values = { ...names, reservedFor: usernameReservedFor, undoToken, undoFor: undoLifetime }
    await mails.queue(sql, { to: user.email, userId: user.id, template: 'username-changed', values, client })
  }

  /** The undo makes that this mail and further warnings are in the language before: a thief must not make them unreadable. */
  const speak = async (sql: Transaction, user: User, newLanguage: Language, client: Client) => {
    const undoToken = await undos.add(sql, user, { kind: 'language', former: user.language ?? 'en' })
    const values = { username: user.username, newLanguage, undoToken, undoFor: undoLifetime }
    await mails.queue(sql, { to: user.email, userId: user.id, template: 'language-changed', values, client })
    await users.setLanguage(sql, user.id, newLanguage)
  }

  /** What can be refused comes first, then the tokens, which need a session that is not over, and then the changes. */
  const apply = ({ caller, client }: Request, { name, username, language }: Wanted) =>
    database.transaction(async (sql) => {
      const user = await users.lock(sql, caller.userId)
      if (!user || user.disabled) return refuse('not_authenticated')
      const renames = username !== undefined && username.username !== user.username
      // A user may keep a name that could not be chosen today.
      const chosen = renames ? chooseUsername(username.username) : undefined
      if (chosen && isRefused(chosen)) return chosen
      const refused = renames ? await usernames.refusalFor(sql, user, username) : undefined
      if (refused) return refused
      const isNamed = name !== undefined && name !== user.name
      const changed = { ...user, ...(renames && { username: username.username }), ...(isNamed && { name }) }
      const issued = await sessions.rotateWithoutGrace(sql, caller, changed, client)
      if (!issued) return refuse('not_authenticated')
      if (renames) await rename(sql, user, username, client)
      if (isNamed) await users.setName(sql, user.id, name)
      const speaks = language !== undefined && language !== user.language
      if (speaks) await speak(sql, user, language, client)
      const who = { userId: user.id, sessionId: caller.sessionId }
      if (renames) await events.recordInside(sql, { kind: 'username_changed', ...who }, client)
      if (isNamed) await events.recordInside(sql, { kind: 'name_changed', ...who }, client)
      if (speaks) await events.recordInside(sql, { kind: 'language_changed', ...who }, client)
      return issued
    })

  const change = async (request: Request) => {
    const { changes } = request
    if (Object.values(changes).every((change) => change === undefined))
      return refuse('bad_request', { message: 'Send a name, a username or a language' })
    const { language } = changes
    const username = changes.username === undefined ? undefined : readUsername(changes.username)
    if (username && isRefused(username)) return username
    const name = changes.name === undefined ? undefined : displayName(changes.name)
    const wanted = { ...(name !== undefined && { name }), ...(username && { username }), ...(language && { language }) }
    return apply(request, wanted).catch((error: unknown) => {
      // Another request has just taken the name.
      if (isUniqueViolation(error)) return refuse('username_taken')
      throw error
    })
  }

  return { change }
}
