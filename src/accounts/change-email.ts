import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused } from '../contract/outcome.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionCaller } from '../sessions/sessions.js'

import { emailKey, readEmail } from '../users/names.js'
import type { EmailChanges } from './email-changes.js'

/** `withheld`: no mail goes to the new address. */
type NewAddress = { email: string; withheld: boolean }

type Dependencies = { accountChanges: AccountChanges; emailChanges: EmailChanges }

/** A signed-in user asks for another address. The link in the mail to the new address confirms it. */
export const createChangeEmail = ({ accountChanges, emailChanges }: Dependencies) => {
  /**
   * Mails the links. The answer does not show whether the address has an account or an invitation: that is checked when the address is
   * confirmed. The caller's own address, also with other capitals, gets a mail only while it is not proven.
   */
  const ask = async (context: CallerContext, { email: typedEmail, withheld }: NewAddress) => {
    const email = readEmail(typedEmail)
    if (isRefused(email)) return email
    const change = await accountChanges.byCaller(context, 'email_change_asked', async (sql, user) => {
      const isOwn = emailKey(user.email) === email.key
      if (isOwn && user.emailProven) return { changes: {} }
      const address = isOwn ? { ...email, email: user.email } : email
      const { sessionId } = context.caller
      await emailChanges.ask(sql, user, address, { client: context.client, withheld, sessionId })
      if (isOwn) return { changes: {} }
      return { changes: { email_change_asked: { mail: { newEmail: email.email } } } }
    })
    return isRefused(change) ? change : undefined
  }

  /** The address that waits for its confirmation. */
  const waitingFor = async ({ userId, sessionId }: SessionCaller) => {
    const waiting = await emailChanges.waitingOf(userId)
    if (!waiting) return null
    const { email, expiresAt, codeSessionId } = waiting
    return { email, expiresAt: expiresAt.toISOString(), codeUsable: codeSessionId === sessionId }
  }

  /** Cancels the change: the mailed link stops working, but the undo link in the other mail still works. */
  const cancel = async (context: CallerContext) => {
    const change = await accountChanges.byCaller(context, 'email_change_cancelled', async (sql, user) => ({
      changes: (await emailChanges.forget(sql, user.id)) ? { email_change_cancelled: {} } : {},
    }))
    return isRefused(change) ? change : undefined
  }

  return { ask, waitingFor, cancel }
}
