import type { Transaction } from '../../platform/database/database.js'
import type { AccountChanges } from '../accounts/account-changes.js'
import type { KnownDevices } from '../known-devices/known-devices.js'
import type { FirstProof, Issued, Sessions, SignedInUser } from '../sessions/sessions.js'
import type { Users } from '../users/users.js'
import type { Visit } from './sign-ins.js'

/** A session that has begun, and what makes its browser known from now on; undefined if the browser's cookie was not seen. */
export type Started = Issued & { knownDevices: readonly string[] | undefined }

type Dependencies = {
  sessions: Sessions
  users: Pick<Users, 'noteSignIn'>
  accountChanges: Pick<AccountChanges, 'bySignIn'>
  knownDevices: KnownDevices
}

/**
 * Begins a session, and tells the owner if the account has not been used in this browser before. One transaction: no such session
 * is there without its mail. The first sign-in of an account needs none.
 */
export const createStart =
  ({ sessions, users, accountChanges, knownDevices }: Dependencies) =>
  async (sql: Transaction, user: SignedInUser, proof: FirstProof, visit: Visit): Promise<Started | undefined> => {
    const { client, knownDevices: values } = visit
    const account = { id: user.id, undoCount: user.undoCount ?? 0 }
    const remembered = values && knownDevices.remember(account, values)
    const browser = knownDevices.browserIn(account, remembered ?? [])
    const issued = await sessions.beginSession(user, proof, { ...client, browser }, sql)
    if (!issued) return undefined
    const isFirst = await users.noteSignIn(sql, user.id, client.language)
    const isKnown = knownDevices.find(account, values ?? []) !== undefined
    if (!isFirst && !isKnown) {
      // As the locked row has the names: a change of the email may have overtaken this sign-in.
      await accountChanges.bySignIn(sql, { user: issued.user, client }, { new_device: {} })
    }
    return { ...issued, knownDevices: remembered }
  }
