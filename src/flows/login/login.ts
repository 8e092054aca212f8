import type { Events } from '../../domain/events/events.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { Users } from '../../domain/users/users.js'

export type LoginRefusal = 'invalid_credentials' | 'busy'

/** Signs in by username or email. Whatever is wrong, the same work is done and the same answer given. */
export const createLogin = (deps: { users: Users; passwords: Passwords; sessions: Sessions; events: Events }) => {
  const { users, passwords, sessions, events } = deps

  /**
   * A stronger hash replaces a weaker one while the password is at hand, and is returned. A full queue puts that off to the
   * next time.
   */
  const strengthened = async (userId: string, password: string, oldHash: string) => {
    const newHash = await passwords.hash(password)
    if (typeof newHash !== 'string') return oldHash
    return (await users.replacePassword(userId, oldHash, newHash)) ? newHash : oldHash
  }

  const refuse = async (client: Client, reason: string, userId?: string) => {
    await events.record({ kind: 'sign_in_failed', reason, ...(userId !== undefined && { userId }) }, client)
    return { refused: 'invalid_credentials' as const }
  }

  return async (login: string, password: string, client: Client) => {
    const user = await users.findByLogin(login)
    const verified = await passwords.verify(password, user?.passwordHash)
    if ('refused' in verified) return verified
    if (!user) return refuse(client, 'unknown_user')
    if (!user.passwordHash) return refuse(client, 'no_password', user.id)
    if (!verified.matches) return refuse(client, 'wrong_password', user.id)
    const hash = verified.needsRehash ? await strengthened(user.id, password, user.passwordHash) : user.passwordHash
    const issued = await sessions.startByPassword(user, hash, client)
    if (!issued) return refuse(client, user.disabled ? 'disabled' : 'password_changed', user.id)
    await events.record({ kind: 'signed_in', userId: user.id, sessionId: issued.sessionId, reason: 'password' }, client)
    return issued
  }
}
