import type { AmrMethod } from '../contract/factors.js'
import type { Language } from '../contract/languages.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { ProfileFieldChanges } from '../contract/profile-fields.js'
import type { ProviderId } from '../contract/providers.js'
import type { WebhookData } from '../contract/webhooks.js'
import { type LimiterName, limiterKey, limiters, userSubject } from '../http/limiters.js'
import type { Client } from '../http/request-origin.js'
import { seconds } from '../lib/durations.js'
import type { Event, Events } from '../messages/events.js'
import type { MailValues } from '../messages/letters.js'
import type { Cache } from '../platform/cache/cache.js'
import { commitUnlessRefused, type Database, type Transaction } from '../platform/database/database.js'
import type { CallerContext, RequestContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { IssuedTokens, Sessions } from '../sessions/sessions.js'
import type { Tokens } from '../sessions/tokens.js'
import type { FieldEditor, ProfileFields } from '../users/profile-fields.js'
import type { User, Users } from '../users/users.js'
import {
  type accountChangeTable,
  type ChangeKind,
  consequencesOf,
  isDeletion,
  type KindBy,
} from './account-change-table.js'
import type { AccountConsequences, HeldAccount } from './consequences.js'
import type { Undoable } from './undos.js'

/** The details of each change, by its kind. Empty if the account already was as it should be. */
export type Changes<Kind extends ChangeKind> = { readonly [Each in Kind]?: ChangeDetails<Each> }
export type WorkResult<Kind extends ChangeKind> = { readonly changes: Changes<Kind>; readonly result?: unknown }

/** Makes the change. If it refuses, the transaction is rolled back with everything that it wrote. */
export type Work<Outcome> = (sql: Transaction, user: User) => Promise<Outcome>

/** The kinds of changes that `Work` may make: one, or several. */
export type AnnouncedKinds<Kind extends ChangeKind> = Kind | readonly [Kind, ...Kind[]]

/** `user` is the account after the change. `issued`: new tokens for the caller's session, if there is one and the table says so. */
type AppliedChange<Result> = {
  result: Result
  user: User
  issued: IssuedTokens | undefined
  endedSessions: number
  isMailed: boolean
}
type ResultOf<Outcome> = Exclude<Outcome, Refused> extends { result: infer Result } ? Result : undefined

/** Changes that can make the access tokens of a user longer. An undo link is not listed: it can lengthen them too, but is never refused. */
const lengtheningKinds = [
  'username_changed',
  'email_changed',
  'email_set',
  'group_joined',
] as const satisfies ChangeKind[]
type TooLongRefusal<Kind> = [Extract<Kind, (typeof lengtheningKinds)[number]>] extends [never]
  ? never
  : Refused<'too_many_groups'>

type ChangeHeldAccountDependencies = {
  users: Pick<Users, 'findById'>
  sessions: Pick<Sessions, 'replaceTokens'>
  applyConsequences: AccountConsequences
  tokens: Pick<Tokens, 'fits'>
}
type Renewal = { kinds: readonly ChangeKind[]; proven: AmrMethod | undefined }

const consequencesOfEach = (kinds: AnnouncedKinds<ChangeKind>) => [kinds].flat().map(consequencesOf)

type ChangeHeldAccount = ReturnType<typeof createChangeHeldAccount>

/** Lets `work` change an account whose row is held, and applies what the table says follows from it. */
export const createChangeHeldAccount = ({
  users,
  sessions,
  applyConsequences,
  tokens,
}: ChangeHeldAccountDependencies) => {
  const renewTokens = async (sql: Transaction, account: HeldAccount, user: User, { kinds, proven }: Renewal) => {
    const { caller, client } = account
    const rows = kinds.map(consequencesOf)
    if (!caller || !rows.some(({ thisSession }) => thisSession === 'new tokens')) return undefined
    const withdrawn = rows.flatMap(({ withdrawsProofs }) => withdrawsProofs)
    const change = { withdrawn, ...(proven && { proven }) }
    const issued = await sessions.replaceTokens(sql, caller, user, client, change)
    if (!issued) throw new Error('A session has ended although its row is locked')
    return issued
  }

  /** Returns how many sessions ended. */
  const applyAll = async (sql: Transaction, account: HeldAccount, changes: Changes<ChangeKind>) => {
    let endedSessions = 0
    for (const [kind, details] of Object.entries(changes) as [ChangeKind, AnyDetails | undefined][])
      if (details) endedSessions += await applyConsequences(sql, account, kind, details)
    return endedSessions
  }

  const change = async <Kind extends ChangeKind, Outcome extends WorkResult<Kind> | Refused>(
    sql: Transaction,
    account: HeldAccount & { user: User },
    announcedKinds: AnnouncedKinds<Kind>,
    work: Work<Outcome>,
  ) => {
    const kinds: readonly ChangeKind[] = [announcedKinds].flat()
    const outcome = await work(sql, account.user)
    if (isRefused(outcome)) return outcome as Extract<Outcome, Refused>
    const { changes, result } = outcome as WorkResult<ChangeKind>
    const changedKinds = Object.keys(changes) as ChangeKind[]
    const unannounced = changedKinds.find((kind) => !kinds.includes(kind))
    if (unannounced) throw new Error(`The change ${unannounced} was not announced`)
    const endedSessions = await applyAll(sql, account, changes)
    const user = (await users.findById(sql, account.user.id)) ?? account.user
    const mayLengthenTokens = lengtheningKinds.some((kind) => changes[kind])
    if (mayLengthenTokens && user.groups.length > 0 && !tokens.fits(user))
      return refuse('too_many_groups') as TooLongRefusal<Kind>
    // The announced kinds decide, and not the changed ones: callers rely on new tokens (`TokensAfter`) even if nothing has changed.
    const issued = await renewTokens(sql, account, user, { kinds, proven: changes.stepped_up?.proven })
    const isMailed = changedKinds.map(consequencesOf).some(({ mail }) => mail !== null)
    return { result, user, issued, endedSessions, isMailed } as AppliedChange<ResultOf<Outcome>>
  }

  return { change, applyAll }
}

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

type AccountChangesDependencies = {
  database: Database
  users: Pick<Users, 'lock' | 'lockForDeletion'>
  sessionLookups: Pick<SessionLookups, 'lockOfCaller'>
  changeHeldAccount: ChangeHeldAccount
  changeLimit: ChangeLimit
  events: Pick<Events, 'checkActor'>
}

/** A deletion takes a stronger lock: it also waits for rows that refer to the user and are not committed yet. */
const createHoldUser =
  ({ users }: Pick<AccountChangesDependencies, 'users'>) =>
  (sql: Transaction, userId: string, announcedKinds: AnnouncedKinds<ChangeKind>) =>
    consequencesOfEach(announcedKinds).some(isDeletion) ? users.lockForDeletion(sql, userId) : users.lock(sql, userId)

/** Changes by a signed-in user. */
const createByCaller = (deps: AccountChangesDependencies) => {
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
export const createAccountChanges = (deps: AccountChangesDependencies) => {
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

type Row<Kind extends ChangeKind> = (typeof accountChangeTable)[Kind]

/** The values of a mail that are not known from the account and its undo link. */
type MailDetails<Mail> = Mail extends keyof MailValues
  ? Omit<MailValues[Mail], 'username' | 'undoToken' | 'undoFor'>
  : Record<never, never>
type UndoDetails<Kind> = Kind extends Undoable['kind']
  ? Omit<Extract<Undoable, { kind: Kind }>, 'kind'>
  : Record<never, never>

/** A property that may be left out if `Values` is empty. */
type RequiredUnlessEmpty<Name extends string, Values, Optional = unknown> = [keyof Values] extends [never]
  ? { readonly [Property in Name]?: (Values & Optional) | undefined }
  : { readonly [Property in Name]: Values & Optional }

/**
 * Replaces the address, username or language of the mail. Without them, the mail has the values that the account had before the change.
 * `language` is for deletions, after which no row has the user's language.
 */
type MailOverrides = { readonly to?: readonly string[]; readonly username?: string; readonly language?: Language }

export type ChangedFactor = WebhookData<'factor.changed'>['factor']

/** An operator can leave the mail out: the former address may be a thief's, or the user is disabled and cannot act on the mail. */
type WithoutMail<Kind> = Kind extends KindBy<'operator'> ? { readonly mail: null } : never

/** The details that the table cannot know: which passkey, which provider, what the account had before. */
export type ChangeDetails<Kind extends ChangeKind> = (
  | RequiredUnlessEmpty<'mail', MailDetails<Row<Kind>['mail']>, MailOverrides>
  | WithoutMail<Kind>
) &
  RequiredUnlessEmpty<'undo', UndoDetails<Row<Kind>['undo']>> &
  (Kind extends `provider_${string}` ? { readonly event: { readonly provider: ProviderId } } : unknown) &
  (Kind extends 'stepped_up' ? { readonly proven: AmrMethod } : unknown) &
  (Row<Kind>['webhook'] extends 'factor.changed each' ? { readonly factors: readonly ChangedFactor[] } : unknown) & {
    readonly event?: Pick<Event, 'sessionId' | 'provider' | 'reason'>
  }

/** `ChangeDetails` for code that handles every kind. */
export type AnyDetails = {
  readonly mail?: MailOverrides | null | undefined
  readonly undo?: object | undefined
  readonly factors?: readonly ChangedFactor[]
  readonly proven?: AmrMethod
  readonly event?: Pick<Event, 'sessionId' | 'provider' | 'reason'>
}

type ChangeLimitDependencies = { cache: Pick<Cache, 'reserve' | 'refund'>; onLimited: (limiter: LimiterName) => void }

type ChangeLimit = ReturnType<typeof createChangeLimit>
export type LimitRefusal = Refused<'too_many_requests'> & { retryAfter: number }

/**
 * Limits the changes that mail the owner. A stolen session must not flood the owner with notices, among which the important one is missed.
 */
export const createChangeLimit = ({ cache, onLimited }: ChangeLimitDependencies) => {
  const reserve = async (userId: string) => {
    const key = limiterKey('account_changes', userSubject(userId))
    const { granted, resetsIn, window } = await cache.reserve(key, limiters.account_changes.limit)
    if (granted) return { refund: () => cache.refund([{ key, window }]) }
    onLimited('account_changes')
    return refuse('too_many_requests', { retryAfter: Math.max(1, Math.ceil(resetsIn / seconds)) })
  }

  /**
   * Counts a change before it is made, so that parallel requests cannot exceed the limit. A change that sends no mail is not counted in the
   * end.
   */
  return async <Outcome extends { isMailed: boolean } | Refused>(
    userId: string,
    change: () => Promise<Outcome>,
  ): Promise<Outcome | LimitRefusal> => {
    const reservation = await reserve(userId)
    if (isRefused(reservation)) return reservation
    let isMailed = false
    try {
      const outcome = await change()
      isMailed = 'isMailed' in outcome && outcome.isMailed
      return outcome
    } finally {
      if (!isMailed) await reservation.refund()
    }
  }
}

type FieldChangesDependencies = {
  accountChanges: Pick<AccountChanges, 'byOperator'>
  profileFields: Pick<ProfileFields, 'change' | 'write'>
}

export type FieldChanges = ReturnType<typeof createFieldChanges>

/** Writes the profile fields of a user. The event names the fields, never their values. */
export const createFieldChanges = ({ accountChanges, profileFields }: FieldChangesDependencies) => {
  /** The caller holds the row of the user. The result is the list of keys whose values have changed. */
  const write = (fieldChanges: ProfileFieldChanges, editor: FieldEditor) => async (sql: Transaction, user: User) => {
    const updated = profileFields.change(user.fields, fieldChanges, editor)
    if (isRefused(updated)) return updated
    const { fields, changed } = updated
    if (changed.length === 0) return { result: changed, changes: {} }
    await profileFields.write(sql, user.id, fields)
    return { result: changed, changes: { fields_changed: { event: { reason: changed.join(',') } } } }
  }

  return {
    write,
    /** `editor`: whose rights apply. Some fields can be edited by administrators only. */
    byOperator: (actor: OperatorContext, fieldChanges: ProfileFieldChanges, editor: FieldEditor = 'administrators') =>
      accountChanges.byOperator(actor, 'fields_changed', write(fieldChanges, editor)),
  }
}
