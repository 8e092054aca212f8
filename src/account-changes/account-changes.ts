import { type Refused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import { commitUnlessRefused, type Database, type Transaction } from '../platform/database/database.js'
import type { CallerContext, RequestContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { IssuedTokens } from '../sessions/sessions.js'

import type { User, Users } from '../users/users.js'
import { type accountChangeTable, type ChangeKind, isDeletion, type KindBy } from './account-change-table.js'
import type { HeldAccount } from './account-consequences.js'
import type { AnnouncedKinds, ChangeHeldAccount, Changes, Work, WorkResult } from './change-held-account.js'
import { consequencesOfEach } from './change-held-account.js'
import type { ChangeLimit, LimitRefusal } from './change-limit.js'

export type { Changes } from './change-held-account.js'

/** `issued` is certain only if every kind that the change can have gives new tokens. */
type TokensAfter<Kind extends ChangeKind> = (typeof accountChangeTable)[Kind]['thisSession'] extends 'new tokens'
  ? IssuedTokens
  : IssuedTokens | undefined
type WithTokens<Outcome, Kind extends ChangeKind> =
  | Extract<Outcome, Refused>
  | (Exclude<Outcome, Refused> & { issued: TokensAfter<Kind> })
/** Only a kind that sends a mail is limited. */
type LimitRefusalOf<Kind extends ChangeKind> = (typeof accountChangeTable)[Kind]['mail'] extends null
  ? never
  : LimitRefusal

/** The account that a link is for, and the client that uses it. */
type LinkContext = RequestContext & { userId: string; whileDisabled?: 'refused' | 'allowed' }
export type OperatorContext = { userId: string; client: Client }

type Dependencies = {
  database: Database
  users: Pick<Users, 'lock' | 'lockForDeletion'>
  sessionLookups: Pick<SessionLookups, 'lockOfCaller'>
  changeHeldAccount: ChangeHeldAccount
  changeLimit: ChangeLimit
  events: Pick<Events, 'checkActor'>
}

/** A deletion takes a stronger lock: it also waits for rows that refer to the user and are not committed yet. */
const createHoldUser =
  ({ users }: Pick<Dependencies, 'users'>) =>
  (sql: Transaction, userId: string, announcedKinds: AnnouncedKinds<ChangeKind>) =>
    consequencesOfEach(announcedKinds).some(isDeletion) ? users.lockForDeletion(sql, userId) : users.lock(sql, userId)

/** Changes by a signed-in user. */
const createByCaller = (deps: Dependencies) => {
  const { database, sessionLookups, changeHeldAccount, changeLimit } = deps
  const holdUser = createHoldUser(deps)

  /** A session that has just ended, for example by a reset of the password, changes nothing any more. */
  const byCallerInside = async <Kind extends KindBy<'caller'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
    sql: Transaction,
    user: User | undefined,
    { caller, client }: CallerContext,
    announcedKinds: AnnouncedKinds<Kind>,
    work: Work<Outcome>,
  ) => {
    if (!user || user.disabled || !(await sessionLookups.lockOfCaller(sql, caller))) return refuse('not_authenticated')
    const outcome = await changeHeldAccount.change(sql, { user, client, caller }, announcedKinds, work)
    return outcome as WithTokens<typeof outcome, Kind>
  }

  const byCaller = async <Kind extends KindBy<'caller'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
    context: CallerContext,
    announcedKinds: AnnouncedKinds<Kind>,
    work: Work<Outcome>,
  ) => {
    const { userId } = context.caller
    const change = () =>
      commitUnlessRefused(database, async (sql) =>
        byCallerInside(sql, await holdUser(sql, userId, announcedKinds), context, announcedKinds, work),
      )
    const canSendMail = consequencesOfEach(announcedKinds).some(({ mail }) => mail !== null)
    const outcome = canSendMail ? await changeLimit(userId, change) : await change()
    return outcome as Awaited<ReturnType<typeof change>> | LimitRefusalOf<Kind>
  }

  return {
    byCaller,
    /**
     * Like `byCaller`, in a transaction that already holds the user's row, such as one that uses up a code. The change must send no mail,
     * because only `byCaller` limits mails.
     */
    byCallerInside,
  }
}

export type AccountChanges = ReturnType<typeof createAccountChanges>

/**
 * The one way to change an account: it holds the user's row, checks that the initiator is still allowed to, lets `work` make the change,
 * and applies what the table says follows from it. All of it is one transaction, which a refusal rolls back.
 */
export const createAccountChanges = (deps: Dependencies) => {
  const { database, sessionLookups, changeHeldAccount, events } = deps
  const holdUser = createHoldUser(deps)

  const byOperatorInside = async <Kind extends KindBy<'operator'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
    sql: Transaction,
    { userId, client }: OperatorContext,
    announcedKinds: AnnouncedKinds<Kind>,
    work: Work<Outcome>,
  ) => {
    // Administrators wait for each other before they hold any other row. The second call checks whether they may change this account, whose
    // row is held by then.
    await events.checkActor(sql, client)
    const user = await holdUser(sql, userId, announcedKinds)
    if (!user) return refuse('no_user')
    await events.checkActor(sql, client, userId)
    return changeHeldAccount.change(sql, { user, client }, announcedKinds, work)
  }

  return {
    ...createByCaller(deps),

    /** By the holder of a mailed link. No session is needed. If the request has a session, it must not have ended. */
    byLink: <Kind extends KindBy<'link'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
      { userId, client, caller, whileDisabled = 'refused' }: LinkContext,
      announcedKinds: AnnouncedKinds<Kind>,
      work: Work<Outcome>,
    ) =>
      commitUnlessRefused(database, async (sql) => {
        const user = await holdUser(sql, userId, announcedKinds)
        if (!user || (user.disabled && whileDisabled === 'refused')) return refuse('invalid_link')
        if (caller && !(await sessionLookups.lockOfCaller(sql, caller))) return refuse('not_authenticated')
        return changeHeldAccount.change(sql, { user, client, caller }, announcedKinds, work)
      }),

    /** By an operator, or by a program with a key. They can change a disabled account too. */
    byOperator: <Kind extends KindBy<'operator'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
      context: OperatorContext,
      announcedKinds: AnnouncedKinds<Kind>,
      work: Work<Outcome>,
    ) => commitUnlessRefused(database, (sql) => byOperatorInside(sql, context, announcedKinds, work)),
    /** Like `byOperator`, in a transaction that changes several accounts. */
    byOperatorInside,

    /** By a request with an old token of a session. */
    byOldToken: <Kind extends KindBy<'old token'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
      { caller, client }: CallerContext,
      kind: Kind,
      work: Work<Outcome>,
    ) =>
      commitUnlessRefused(database, async (sql) => {
        const user = await holdUser(sql, caller.userId, kind)
        return user ? changeHeldAccount.change(sql, { user, client, caller }, kind, work) : refuse('no_user')
      }),

    /** By a sign-in whose transaction `sql` holds the user's row. `account.caller` is the session that the sign-in begins. */
    bySignIn: (sql: Transaction, account: HeldAccount, changes: Changes<KindBy<'sign-in'>>) =>
      changeHeldAccount.applyAll(sql, account, changes),
  }
}
