import { isRefused, refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import type { Busy } from '../../domain/passwords/workers.js'
import type { Registrations, WaitingLogin } from '../../domain/registrations/registrations.js'
import type { Client } from '../../domain/sessions/client.js'
import type { SignIns } from '../../domain/sessions/sign-ins.js'
import type { User, Users } from '../../domain/users/users.js'
import { atLeast, equalTime } from '../../http/at-least.js'

type Owner =
  | { user: User; needsRehash: boolean }
  | { pending: WaitingLogin; user: User | undefined }
  | { nobody: User | undefined }
  | Busy

/** Signs in by username or email. Whatever is wrong, the same work is done and the same answer given. */
export const createLogin = (deps: {
  users: Users
  passwords: Passwords
  registrations: Registrations
  signIns: SignIns
  events: Events
  mayRegister: boolean
}) => {
  const { users, passwords, registrations, signIns, events, mayRegister } = deps

  /**
   * A stronger hash replaces a weaker one while the password is at hand, and is returned. A full queue puts that off to the
   * next time.
   */
  const strengthened = async (userId: string, password: string, oldHash: string) => {
    const newHash = await passwords.hash(password)
    if (isRefused(newHash)) return oldHash
    return (await users.replacePassword(userId, oldHash, newHash)) ? newHash : oldHash
  }

  /** An event of a known user takes the database longer than one of nobody: the answer waits until that cannot be seen. */
  const refuseCredentials = async (client: Client, reason: string, userId?: string) => {
    const event = { kind: 'sign_in_failed' as const, reason, ...(userId !== undefined && { userId }) }
    await atLeast(equalTime, events.record(event, client))
    return refuse('invalid_credentials')
  }

  /**
   * Whose password this is. An address may have an account and a registration that waits, one of them made by a stranger:
   * both are compared, in every case, so that neither answer nor time tells whether there is an account. Who has a
   * username is public, so there one look is enough.
   */
  const ownerOf = async (login: string, password: string): Promise<Owner> => {
    const [user, pending] = await Promise.all([users.findByLogin(login), registrations.findByLogin(login)])
    const candidates = login.includes('@') && mayRegister ? [user, pending] : [user ?? pending]
    for (const candidate of candidates) {
      const verified = await passwords.verify(password, candidate?.passwordHash)
      if (isRefused(verified)) return verified
      if (!verified.matches) continue
      if (user && candidate === user) return { user, needsRehash: verified.needsRehash }
      if (pending) return { pending, user }
    }
    return { nobody: user }
  }

  const signIn = async (user: User, passwordHash: string, client: Client) => {
    const issued = await signIns.byPassword(user, passwordHash, client)
    return issued ?? refuseCredentials(client, user.disabled ? 'disabled' : 'password_changed', user.id)
  }

  /** `browserToken` is the secret of the registration that this browser began, if it began one. */
  return async (login: string, password: string, browserToken: string | undefined, client: Client) => {
    const owner = await ownerOf(login, password)
    if (isRefused(owner)) return owner
    if ('pending' in owner) {
      await refuseCredentials(client, 'unconfirmed', owner.user?.id)
      const { isFirst } = owner.pending
      return refuse('email_not_confirmed', {
        isFirst,
        browserToken: await registrations.bindBrowser(owner.pending, browserToken),
      })
    }
    if ('nobody' in owner) {
      const { nobody: user } = owner
      if (!user) return refuseCredentials(client, 'unknown_user')
      return refuseCredentials(client, user.passwordHash ? 'wrong_password' : 'no_password', user.id)
    }
    const { user, needsRehash } = owner
    const passwordHash = user.passwordHash ?? ''
    return signIn(user, needsRehash ? await strengthened(user.id, password, passwordHash) : passwordHash, client)
  }
}
