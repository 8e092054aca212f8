import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import type { OneTimeTokens } from '../messages/one-time-tokens.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Registrations } from '../registration/registrations.js'
import type { UserChanges, Users } from '../users/users.js'

import type { ResetLinks } from './reset-links.js'

type Dependencies = {
  accountChanges: AccountChanges
  users: Users
  userChanges: UserChanges
  passwords: Passwords
  oneTimeTokens: Pick<OneTimeTokens, 'findPasswordToken' | 'takePasswordToken'>
  resetLinks: ResetLinks
  registrations: Registrations
  events: Pick<Events, 'record'>
}

type ResetRequest = { email: string; application?: string | undefined }

export const createResetPassword = (deps: Dependencies) => {
  const { accountChanges, users, userChanges, passwords, oneTimeTokens, resetLinks, registrations, events } = deps

  /**
   * Queues the mail if the email or the username has an account, or the email has a registration that is not confirmed yet. (A username
   * belongs to a user only once there is an account.) The answer must not show which of these is true. `withheld`: no mail is sent.
   * `application`: the id of the application that has sent the user here.
   */
  const requestMail = async ({ email, application }: ResetRequest, client: Client, withheld: boolean) => {
    const user = await users.findByLogin(email)
    if (!user) return registrations.sendAgainToEmail(email, client, withheld)
    if (!(await resetLinks.send(user.id, client, { withheld, applicationId: application }))) return
    await events.record({ kind: 'reset_requested', userId: user.id }, client)
  }

  /** Whether a link still works, for the page before it shows its form. Changes nothing. */
  const describe = async (token: string) => {
    const resetLink = await oneTimeTokens.findPasswordToken(token)
    const user = resetLink && (await users.findEnabled(resetLink.userId))
    return user ? { user, applicationId: resetLink.applicationId } : refuse('invalid_link')
  }

  const confirm = async (token: string, password: string, client: Client) => {
    const resetLink = await describe(token)
    if (isRefused(resetLink)) return resetLink
    const { user } = resetLink
    const rejected = await passwords.refusalFor(password, user, client)
    if (rejected) return rejected
    const passwordHash = await passwords.hash(password, client)
    if (isRefused(passwordHash)) return passwordHash

    const reset = await accountChanges.byLink({ userId: user.id, client }, 'password_reset', async (sql, owner) => {
      const taken = await oneTimeTokens.takePasswordToken(sql, token)
      if (!taken) return refuse('invalid_link')
      await userChanges.setPassword(sql, owner.id, passwordHash)
      // An operator has handed a printed link to the user: it proves who they are to the operator, and no address.
      if (taken.isPrinted) await userChanges.openEnrolment(sql, owner.id)
      else await userChanges.proveEmail(sql, owner.id)
      return { changes: { password_reset: {} } }
    })
    return isRefused(reset) ? refuse('invalid_link') : { user: reset.user, passwordHash }
  }

  return { requestMail, describe, confirm }
}
