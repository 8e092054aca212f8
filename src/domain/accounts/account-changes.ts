import type { Method } from '../../contract/factors.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { Client } from '../sessions/client.js'
import type { CallerContext, RequestContext } from '../sessions/request-context.js'
import type { Issued, Sessions } from '../sessions/sessions.js'
import type { User, Users } from '../users/users.js'
import {
  type accountChangeTable,
  type ChangeKind,
  consequencesOf,
  isDeletion,
  type KindBy,
} from './account-change-table.js'
import type { AccountConsequences, HeldAccount } from './account-consequences.js'
import type { AnyDetails, ChangeDetails } from './change-details.js'
import type { ChangeLimit } from './change-limit.js'

/** What was changed, by kind: nothing if the account was like that already. */
export type Changes<Kind extends ChangeKind> = { readonly [Each in Kind]?: ChangeDetails<Each> }
export type Changed<Kind extends ChangeKind> = { readonly changes: Changes<Kind>; readonly result?: unknown }

/** `user` is the account afterwards. `issued`: new tokens for the caller's session, if there is one and the table says so. */
type Applied<Result> = {
  result: Result
  user: User
  issued: Issued | undefined
  endedSessions: number
  isMailed: boolean
}
/** Of several kinds, all must give new tokens to be sure of them. */
type TokensAfter<Kind extends ChangeKind> = (typeof accountChangeTable)[Kind]['thisSession'] extends 'new tokens'
  ? Issued
  : Issued | undefined
type WithTokens<Outcome, Kind extends ChangeKind> =
  | Extract<Outcome, Refused>
  | (Exclude<Outcome, Refused> & { issued: TokensAfter<Kind> })
/** Only a kind that sends a mail is limited. */
type LimitRefusal<Kind extends ChangeKind> = (typeof accountChangeTable)[Kind]['mail'] extends null
  ? never
  : Extract<Awaited<ReturnType<ChangeLimit['reserve']>>, Refused>
type ResultOf<Outcome> = Exclude<Outcome, Refused> extends { result: infer Result } ? Result : undefined

type Work<Outcome> = (sql: Transaction, user: User) => Promise<Outcome>
/** Whose account a link is for, and who uses it. */
type LinkContext = RequestContext & { userId: string; whileDisabled?: 'refused' | 'allowed' }
export type OperatorContext = { userId: string; client: Client }

/** What can happen in the transaction. */
type Kinds<Kind extends ChangeKind> = Kind | readonly [Kind, ...Kind[]]

type Changing = HeldAccount & { user: User }

type Dependencies = {
  database: Database
  users: Pick<Users, 'lock' | 'lockForDeletion' | 'findById'>
  sessions: Pick<Sessions, 'lockOfCaller' | 'rotateWithoutGrace'>
  applyConsequences: AccountConsequences
  changeLimit: ChangeLimit
}

const rowsOf = (kind: ChangeKind | readonly ChangeKind[]) => [kind].flat().map(consequencesOf)

export type AccountChanges = ReturnType<typeof createAccountChanges>

/**
 * The one way to change an account: it holds the user's row, asks whether who asks still may, lets `work` make the change, and applies
 * what the table says follows from it. All of it is one transaction.
 */
export const createAccountChanges = ({ database, users, sessions, applyConsequences, changeLimit }: Dependencies) => {
  const hold = (sql: Transaction, userId: string, kind: Kinds<ChangeKind>) =>
    rowsOf(kind).some(isDeletion) ? users.lockForDeletion(sql, userId) : users.lock(sql, userId)

  /** Only if a mail can follow. */
  const reserveMail = async ({ caller }: CallerContext, kind: Kinds<ChangeKind>) =>
    rowsOf(kind).some(({ mail }) => mail !== null) ? changeLimit.reserve(caller.userId) : undefined

  type Renewal = { kinds: readonly ChangeKind[]; proven: Method | undefined }
  const renew = async (sql: Transaction, { caller, client }: Changing, user: User, { kinds, proven }: Renewal) => {
    const rows = kinds.map(consequencesOf)
    if (!caller || !rows.some(({ thisSession }) => thisSession === 'new tokens')) return undefined
    const withdrawn = rows.flatMap(({ withdraws }) => withdraws)
    const issued = await sessions.rotateWithoutGrace(sql, caller, user, client, {
      withdrawn,
      ...(proven && { proven }),
    })
    if (!issued) throw new Error('A session has ended although its row is locked')
    return issued
  }

  /** How many sessions ended. */
  const applyAll = async (sql: Transaction, account: HeldAccount, changes: Changes<ChangeKind>) => {
    let ended = 0
    for (const [kind, details] of Object.entries(changes) as [ChangeKind, AnyDetails | undefined][])
      if (details) ended += await applyConsequences(sql, account, kind, details)
    return ended
  }

  const change = async <Kind extends ChangeKind, Outcome extends Changed<Kind> | Refused>(
    sql: Transaction,
    account: Changing,
    kind: Kinds<Kind>,
    work: Work<Outcome>,
  ) => {
    const kinds: readonly ChangeKind[] = [kind].flat()
    const outcome = await work(sql, account.user)
    if (isRefused(outcome)) return outcome as Extract<Outcome, Refused>
    const { changes, result } = outcome as Changed<ChangeKind>
    const unannounced = Object.keys(changes).find((name) => !kinds.some((each) => each === name))
    if (unannounced) throw new Error(`The change ${unannounced} was not announced`)
    const endedSessions = await applyAll(sql, account, changes)
    const user = (await users.findById(account.user.id, sql)) ?? account.user
    const issued = await renew(sql, account, user, { kinds, proven: changes.stepped_up?.proven })
    const isMailed = rowsOf(Object.keys(changes) as ChangeKind[]).some(({ mail }) => mail !== null)
    return { result, user, issued, endedSessions, isMailed } as Applied<ResultOf<Outcome>>
  }

  /** A session that a reset has just ended changes nothing any more. */
  const asCaller = async <Kind extends KindBy<'caller'>, Outcome extends Changed<NoInfer<Kind>> | Refused>(
    sql: Transaction,
    user: User | undefined,
    { caller, client }: CallerContext,
    kind: Kinds<Kind>,
    work: Work<Outcome>,
  ) => {
    if (!user || user.disabled || !(await sessions.lockOfCaller(sql, caller))) return refuse('not_authenticated')
    const changed = await change(sql, { user, client, caller }, kind, work)
    return changed as WithTokens<typeof changed, Kind>
  }

  return {
    /** By a signed-in user. */
    byCaller: async <Kind extends KindBy<'caller'>, Outcome extends Changed<NoInfer<Kind>> | Refused>(
      context: CallerContext,
      kind: Kinds<Kind>,
      work: Work<Outcome>,
    ) => {
      const counted = await reserveMail(context, kind)
      if (isRefused(counted)) return counted as LimitRefusal<Kind>
      const changing = database.transaction(async (sql) =>
        asCaller(sql, await hold(sql, context.caller.userId, kind), context, kind, work),
      )
      const outcome = await changing.catch(async (error: unknown) => {
        await counted?.refund()
        throw error
      })
      if (isRefused(outcome) || !outcome.isMailed) await counted?.refund()
      return outcome
    },

    /** The same in a transaction that holds the user's row, as the one that uses up a code does. No mail may follow. */
    byCallerInside: asCaller,

    /** By who holds a mailed link. A session of the user is not needed; if there is one, it must live. */
    byLink: <Kind extends KindBy<'link'>, Outcome extends Changed<NoInfer<Kind>> | Refused>(
      { userId, client, caller, whileDisabled = 'refused' }: LinkContext,
      kind: Kinds<Kind>,
      work: Work<Outcome>,
    ) =>
      database.transaction(async (sql) => {
        const user = await hold(sql, userId, kind)
        if (!user || (user.disabled && whileDisabled === 'refused')) return refuse('invalid_link')
        if (caller && !(await sessions.lockOfCaller(sql, caller))) return refuse('not_authenticated')
        return change(sql, { user, client, caller }, kind, work)
      }),

    /** By an operator, or a program with a key. Also of a disabled account. */
    byOperator: <Kind extends KindBy<'operator'>, Outcome extends Changed<NoInfer<Kind>> | Refused>(
      { userId, client }: OperatorContext,
      kind: Kinds<Kind>,
      work: Work<Outcome>,
    ) =>
      database.transaction(async (sql) => {
        const user = await hold(sql, userId, kind)
        return user ? change(sql, { user, client }, kind, work) : refuse('no_user')
      }),

    /** By a token of a session that is not its newest. */
    byOldToken: <Kind extends KindBy<'old token'>, Outcome extends Changed<NoInfer<Kind>> | Refused>(
      { caller, client }: CallerContext,
      kind: Kind,
      work: Work<Outcome>,
    ) =>
      database.transaction(async (sql) => {
        const user = await hold(sql, caller.userId, kind)
        return user ? change(sql, { user, client, caller }, kind, work) : refuse('no_user')
      }),

    /** On the way of a sign-in, whose transaction holds the user's row. `caller` is the session that has begun in it. */
    bySignIn: (sql: Transaction, account: HeldAccount, changes: Changes<KindBy<'sign-in'>>) =>
      applyAll(sql, account, changes),
  }
}
