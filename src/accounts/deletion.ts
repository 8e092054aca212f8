import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { commitUnlessRefused, type Database, type Transaction } from '../platform/database/database.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { CallerContext, SessionFacts } from '../sessions/session-facts.js'
import type { SignInRoom } from '../sign-in/open-sign-in.js'
import { usernameKey } from '../users/names.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import { clearingOf } from './take-back.js'

/**
 * Deletes an account in a change that holds its row. What refers to the user is deleted with the row, and triggers delete the rest. Returns
 * the addresses and the language of the last mail. A thief may have changed both, so the mail also goes to the addresses of the last days,
 * and is in the former language.
 */
export const deleteAccount = async (
  { userChanges, usernames, undos, sessions, events }: UsersRoom & SessionsRoom & MessagesRoom & AccountChangesRoom,
  sql: Transaction,
  user: User,
  event: 'account_deleted' | 'user_deleted',
) => {
  const { id, email, username } = user
  const [openUndos, restorable, past, formerNames] = await Promise.all([
    undos.openOf(sql, id),
    undos.formerEmailsOf(sql, id),
    userChanges.emailHistoryOf(sql, id),
    usernames.formerNamesOf(sql, id),
  ])
  const { language } = clearingOf(user, openUndos)
  const restorableEmails = restorable.map((each) => each.email)
  const pastEmails = past.map((each) => each.email)
  const formerUsernameKeys = formerNames.map((each) => each.key)
  // Deleting the row would end the sessions too, but this instance would learn it only from its next reading of the ended sessions.
  sql.unawaited(
    sessions.endAll(sql, event, id),
    events.forgetNames(sql, [email, username, ...restorableEmails, ...pastEmails, ...formerUsernameKeys]),
    userChanges.remove(sql, id),
  )
  return { to: [email, ...restorableEmails], ...(language && { language }) }
}

type Services = UsersRoom &
  SessionsRoom &
  MessagesRoom &
  AccountChangesRoom &
  FactorsRoom &
  SignInRoom & { database: Database; clock: Clock; freshFor: number }

/** Deletes the account for its user, who has typed the username to show that they mean this account. */
const deleteForUser = async (services: Services, sql: Transaction, user: User, username: string) => {
  if (usernameKey(username) !== usernameKey(user.username)) return refuse('other_username')
  const mailDetails = await deleteAccount(services, sql, user, 'account_deleted')
  return { changes: { account_deleted: { mail: { byOperator: false, ...mailDetails } } } }
}

const deleteOwn = async (services: Services, context: CallerContext, username: string) => {
  const deleted = await services.accountChanges.byCaller(context, 'account_deleted', (sql, user) =>
    deleteForUser(services, sql, user, username),
  )
  return isRefused(deleted) ? deleted : undefined
}

/**
 * True if the sign-in is as fresh as a session would have to be. A trusted device, or an old sign-in at a provider, is not enough. An
 * account that never had a session has nothing that a stranger could want.
 */
const isFresh = ({ clock, freshFor }: Services, { hasSignedIn }: User, { trustedDevice, freshSince }: SessionFacts) => {
  if (!hasSignedIn) return true
  if (trustedDevice !== null || freshSince === 'never') return false
  return freshSince === 'now' || clock.now().getTime() - freshSince <= freshFor
}

/**
 * True if mail is the only method. A session of an account without other proofs would be asked for nothing but the mail that was answered a
 * moment ago.
 */
const isOnlyMail = (methods: readonly string[]) => methods.length > 0 && methods.every((method) => method === 'mail')

/** The sign-in that waits with every proof, and its user. */
const findLeaving = async (services: Services, token: string) => {
  const { pendingSignIns, users, factors } = services
  const pending = await pendingSignIns.find(token)
  if (pending && !pending.isProven) return refuse('other_step')
  const user = pending && (await users.findEnabled(pending.userId))
  if (!user || !pending) return refuse('challenge_over')
  if (isFresh(services, user, pending.facts)) return { pending, user }
  const methods = await factors.proofsFor(user)
  if (isOnlyMail(pending.facts.methods) && isOnlyMail(methods)) return { pending, user }
  return refuse('fresh_sign_in_required', { methods })
}

const deleteAtSignIn = async (services: Services, token: string, username: string, client: Client) => {
  const { database, users, pendingSignIns, accountChanges } = services
  const signIn = await findLeaving(services, token)
  if (isRefused(signIn)) return signIn
  const { pending } = signIn
  return commitUnlessRefused(database, async (sql) => {
    const user = await users.lockForDeletion(sql, pending.userId)
    if (!user || user.disabled || !(await pendingSignIns.lock(sql, token))) return refuse('challenge_over')
    const deleted = await deleteForUser(services, sql, user, username)
    if (isRefused(deleted)) return deleted
    // The deletion counts as one by a session of the user, so that the event keeps no IP address.
    const caller = { userId: user.id, sessionId: pending.id, generation: 0 }
    await accountChanges.bySignIn(sql, { user, client, caller }, deleted.changes)
    return undefined
  })
}

/**
 * Users delete their own account: with a session, or at a sign-in after every proof, because who does not agree to the terms gets no session
 * and can still take their data and leave.
 */
export const createDeletion = (services: Services) => ({
  byCaller: (context: CallerContext, username: string) => deleteOwn(services, context, username),
  atSignIn: (token: string, username: string, client: Client) => deleteAtSignIn(services, token, username, client),
  /** The user of a sign-in who may take their data, and delete the account. */
  userLeaving: async (token: string) => {
    const signIn = await findLeaving(services, token)
    return isRefused(signIn) ? signIn : signIn.user
  },
})
