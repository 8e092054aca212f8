import type { Events } from '../../domain/events/events.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { Users } from '../../domain/users/users.js'

export type LoginRefusal = 'invalid_credentials' | 'busy'

/** Signs in by username or email. Whatever is wrong, the same work is done and the same answer given. */
export const createLogin = (deps: { users: Users; passwords: Passwords; sessions: Sessions; events: Events }) => {
  const { users, passwords, sessions, events } = deps

  /** A stronger hash replaces a weaker one when the password is at hand; a full queue may put that off to the next time. */
  const rehash = async (userId: string, password: string, oldHash: string) => {
    const newHash = await passwords.hash(password)
    if (typeof newHash === 'string') await users.upgradePassword(userId, oldHash, newHash)
  }

  return async (login: string, password: string, client: Client) => {
    const user = await users.findByLogin(login)
    const verified = await passwords.verify(password, user?.passwordHash)
    if ('refused' in verified) return verified
    if (!user || !verified.matches || user.disabled) {
      const reason = !user
        ? 'unknown_user'
        : !user.passwordHash
          ? 'no_password'
          : user.disabled
            ? 'disabled'
            : 'wrong_password'
      await events.record({ kind: 'sign_in_failed', reason, ...(user && { userId: user.id }) }, client)
      return { refused: 'invalid_credentials' as const }
    }
    if (verified.needsRehash && user.passwordHash) await rehash(user.id, password, user.passwordHash)
    const issued = await sessions.start(user, client)
    await events.record({ kind: 'signed_in', userId: user.id, sessionId: issued.sessionId, reason: 'password' }, client)
    return issued
  }
}
