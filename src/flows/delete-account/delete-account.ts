import { isRefused, refuse } from '../../contract/outcome.js'
import type { AccountDeletion } from '../../domain/accounts/account-deletion.js'
import type { TrustedDevices } from '../../domain/factors/trusted-devices.js'
import type { KnownDevices } from '../../domain/known-devices/known-devices.js'
import type { Client } from '../../domain/sessions/client.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import { usernameKey } from '../../domain/users/username.js'
import type { Users } from '../../domain/users/users.js'

type Dependencies = {
  deleteAccount: AccountDeletion
  users: Pick<Users, 'findById'>
  sessions: Sessions
  trustedDevices: TrustedDevices
  knownDevices: KnownDevices
}
type Request = {
  caller: SessionCaller
  /** As the user has typed it, to show that they mean this account. */
  username: string
  client: Client
  /** What the browser has in its cookies of trusted and known devices, for this and other accounts. */
  deviceValues: readonly string[]
}

/** Deletes the caller's account. Returns which values of the browser's devices belonged to it. */
export const createDeleteOwnAccount =
  ({ deleteAccount, users, sessions, trustedDevices, knownDevices }: Dependencies) =>
  async ({ caller, username, client, deviceValues }: Request) => {
    const { userId } = caller
    const trusted = await trustedDevices.tokensOf(userId, deviceValues)
    const user = await users.findById(userId)
    const ofAccount = [...trusted, ...(user ? knownDevices.valuesOf(user, deviceValues) : [])]
    const deleted = await deleteAccount({
      userId,
      client,
      refusalFor: async (sql, user) => {
        if (user.disabled || !(await sessions.isLive(caller, sql))) return refuse('not_authenticated')
        return usernameKey(username) === usernameKey(user.username) ? undefined : refuse('other_username')
      },
    })
    if (!isRefused(deleted)) return { ofAccount }
    return deleted.refused === 'no_user' ? refuse('not_authenticated') : deleted
  }
