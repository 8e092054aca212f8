import { isRefused, refuse } from '../../contract/outcome.js'
import type { AccountChanges } from '../../domain/accounts/account-changes.js'
import type { AccountDeletion } from '../../domain/accounts/account-deletion.js'
import type { TrustedDevices } from '../../domain/factors/trusted-devices.js'
import type { KnownDevices } from '../../domain/known-devices/known-devices.js'
import type { CallerContext } from '../../domain/sessions/request-context.js'
import { usernameKey } from '../../domain/users/username.js'
import type { Users } from '../../domain/users/users.js'

type Dependencies = {
  accountChanges: AccountChanges
  deleteAccount: AccountDeletion
  users: Pick<Users, 'findById'>
  trustedDevices: TrustedDevices
  knownDevices: KnownDevices
}

type Confirmation = {
  /** As the user has typed it, to show that they mean this account. */
  username: string
  /** What the browser has in its cookies of trusted and known devices, for this and other accounts. */
  deviceValues: readonly string[]
}

/** Deletes the caller's account. Returns which values of the browser's devices belonged to it. */
export const createDeleteOwnAccount =
  ({ accountChanges, deleteAccount, users, trustedDevices, knownDevices }: Dependencies) =>
  async (context: CallerContext, { username, deviceValues }: Confirmation) => {
    const { userId } = context.caller
    const trusted = await trustedDevices.tokensOf(userId, deviceValues)
    const found = await users.findById(userId)
    const devicesOfAccount = [...trusted, ...(found ? knownDevices.valuesOf(found, deviceValues) : [])]
    const deleted = await accountChanges.byCaller(context, 'account_deleted', async (sql, user) => {
      if (usernameKey(username) !== usernameKey(user.username)) return refuse('other_username')
      const { to } = await deleteAccount(sql, user, 'account_deleted')
      return { changes: { account_deleted: { mail: { byOperator: false, to } } } }
    })
    return isRefused(deleted) ? deleted : { devicesOfAccount }
  }
