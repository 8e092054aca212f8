import { type Refused, refuse } from '../../contract/outcome.js'
import { commitUnlessRefused } from '../../platform/database/commit-unless-refused.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { Events } from '../events/events.js'
import type { Client } from '../sessions/client.js'
import type { CallerContext, RequestContext } from '../sessions/request-context.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { Issued } from '../sessions/sessions.js'
import type { User, Users } from '../users/users.js'
import { type accountChangeTable, type ChangeKind, isDeletion, type KindBy } from './account-change-table.js'
import type { HeldAccount } from './account-consequences.js'
import type { Changed, ChangeHeldAccount, Changes, Kinds, Work } from './change-held-account.js'
import { consequencesOfEach } from './change-held-account.js'
import type { ChangeLimit, LimitRefusal } from './change-limit.js'

export type { Changes } from './change-held-account.js'

/** Tokens are certain only if all kinds of the change give new ones. */
type TokensAfter<Kind extends ChangeKind> = (typeof accountChangeTable)[Kind]['thisSession'] extends 'new tokens'
  ? Issued
  : Issued | undefined
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
  events: Pick<Events, 'holdActor'>
}

const createHold =
  ({ users }: Pick<Dependencies, 'users'>) =>
  (sql: Transaction, userId: string, kind: Kinds<ChangeKind>) =>
    consequencesOfEach(kind).some(isDeletion) ? users.lockForDeletion(sql, userId) : users.lock(sql, userId)

/** By a signed-in user. */
const createByCaller = (deps: Dependencies) => {
  const { database, sessionLookups, changeHeldAccount, changeLimit } = deps
  const hold = createHold(deps)

  /** A session that a reset has just ended changes nothing any more. */
  const byCallerInside = async <Kind extends KindBy<'caller'>, Outcome extends Changed<NoInfer<Kind>> | Refused>(
    sql: Transaction,
    user: User | undefined,
    { caller, client }: CallerContext,
    kind: Kinds<Kind>,
    work: Work<Outcome>,
  ) => {
    if (!user || user.disabled || !(await sessionLookups.lockOfCaller(sql, caller))) return refuse('not_authenticated')
    const changed = await changeHeldAccount.change(sql, { user, client, caller }, kind, work)
    return changed as WithTokens<typeof changed, Kind>
  }

  const byCaller = async <Kind extends KindBy<'caller'>, Outcome extends Changed<NoInfer<Kind>> | Refused>(
    context: CallerContext,
    kind: Kinds<Kind>,
    work: Work<Outcome>,
  ) => {
    const { userId } = context.caller
    const change = () =>
      commitUnlessRefused(database, async (sql) =>
        byCallerInside(sql, await hold(sql, userId, kind), context, kind, work),
      )
    const canSendMail = consequencesOfEach(kind).some(({ mail }) => mail !== null)
    const outcome = canSendMail ? await changeLimit(userId, change) : await change()
    return outcome as Awaited<ReturnType<typeof change>> | LimitRefusalOf<Kind>
  }

  return {
    byCaller,
    /** The same in a transaction that holds the user's row, as the one that uses up a code does. No mail may follow. */
    byCallerInside,
  }
}

export type AccountChanges = ReturnType<typeof createAccountChanges>

/**
 * The one way to change an account: it holds the user's row, asks whether who asks still may, lets `work` make the change, and applies
 * what the table says follows from it. All of it is one transaction, which a refusal rolls back.
 */
export const createAccountChanges = (deps: Dependencies) => {
  const { database, sessionLookups, changeHeldAccount, events } = deps
  const hold = createHold(deps)

  const byOperatorInside = async <Kind extends KindBy<'operator'>, Outcome extends Changed<NoInfer<Kind>> | Refused>(
    sql: Transaction,
    { userId, client }: OperatorContext,
    kind: Kinds<Kind>,
    work: Work<Outcome>,
  ) => {
    await events.holdActor(sql, client)
    const user = await hold(sql, userId, kind)
    if (!user) return refuse('no_user')
    await events.holdActor(sql, client, userId)
    return changeHeldAccount.change(sql, { user, client }, kind, work)
  }

  return {
    ...createByCaller(deps),

    /** By who holds a mailed link. A session of the user is not needed; if there is one, it must live. */
    byLink: <Kind extends KindBy<'link'>, Outcome extends Changed<NoInfer<Kind>> | Refused>(
      { userId, client, caller, whileDisabled = 'refused' }: LinkContext,
      kind: Kinds<Kind>,
      work: Work<Outcome>,
    ) =>
      commitUnlessRefused(database, async (sql) => {
        const user = await hold(sql, userId, kind)
        if (!user || (user.disabled && whileDisabled === 'refused')) return refuse('invalid_link')
        if (caller && !(await sessionLookups.lockOfCaller(sql, caller))) return refuse('not_authenticated')
        return changeHeldAccount.change(sql, { user, client, caller }, kind, work)
      }),

    /** By an operator, or a program with a key. Also of a disabled account. */
    byOperator: <Kind extends KindBy<'operator'>, Outcome extends Changed<NoInfer<Kind>> | Refused>(
      actor: OperatorContext,
      kind: Kinds<Kind>,
      work: Work<Outcome>,
    ) => commitUnlessRefused(database, (sql) => byOperatorInside(sql, actor, kind, work)),
    /** The same in a transaction of several accounts. */
    byOperatorInside,

    /** By a token of a session that is not its newest. */
    byOldToken: <Kind extends KindBy<'old token'>, Outcome extends Changed<NoInfer<Kind>> | Refused>(
      { caller, client }: CallerContext,
      kind: Kind,
      work: Work<Outcome>,
    ) =>
      commitUnlessRefused(database, async (sql) => {
        const user = await hold(sql, caller.userId, kind)
        return user ? changeHeldAccount.change(sql, { user, client, caller }, kind, work) : refuse('no_user')
      }),

    /** On the way of a sign-in, whose transaction holds the user's row. `caller` is the session that has begun in it. */
    bySignIn: (sql: Transaction, account: HeldAccount, changes: Changes<KindBy<'sign-in'>>) =>
      changeHeldAccount.applyAll(sql, account, changes),
  }
}
