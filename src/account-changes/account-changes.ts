import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { ProfileFieldChanges } from '../contract/profile-fields.js'
import { limiterKey, limiters, userSubject } from '../http/limiters.js'
import type { Client } from '../http/request-origin.js'
import { seconds } from '../lib/durations.js'
import type { Cache } from '../platform/cache/cache.js'
import { commitUnlessRefused, type Database, type Transaction } from '../platform/database/database.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { CallerContext, RequestContext, SessionCaller } from '../sessions/session-facts.js'
import type { HeldSession } from '../sessions/session-lookups.js'
import type { IssuedTokens } from '../sessions/sessions.js'
import type { UsersRoom } from '../users/open-users.js'
import type { FieldEditor } from '../users/profile-fields.js'
import type { User } from '../users/users.js'
import {
  type AnyDetails,
  type ChangeDetails,
  type ChangeKind,
  type ColumnOf,
  consequencesOf,
  isDeletion,
  type KindBy,
} from './account-change-table.js'
import { applyConsequences, type ConsequenceServices, type HeldAccount } from './consequences.js'

/** The details of each change, by its kind. Empty if the account already was as it should be. */
export type Changes<Kind extends ChangeKind> = { readonly [Each in Kind]?: ChangeDetails<Each> }
type WorkResult<Kind extends ChangeKind> = { readonly changes: Changes<Kind>; readonly result?: unknown }

/** Makes the change. If it refuses, the transaction is rolled back with everything that it wrote. */
type Work<Outcome> = (sql: Transaction, user: User) => Promise<Outcome>

/** The kinds of changes that `Work` may make: one, or several. */
type AnnouncedKinds<Kind extends ChangeKind> = Kind | readonly [Kind, ...Kind[]]

/** `user` is the account after the change. `issued`: new tokens for the caller's session, if there is one and the table says so. */
type AppliedChange<Result> = {
  result: Result
  user: User
  issued: IssuedTokens | undefined
  endedSessions: number
  isMailed: boolean
}
type ResultOf<Outcome> = Exclude<Outcome, Refused> extends { result: infer Result } ? Result : undefined

/** `issued` is certain only if every kind that the change can have gives new tokens. */
type TokensAfter<Kind extends ChangeKind> =
  ColumnOf<Kind, 'thisSession'> extends 'new tokens' ? IssuedTokens : IssuedTokens | undefined
type WithTokens<Outcome, Kind extends ChangeKind> =
  | Extract<Outcome, Refused>
  | (Exclude<Outcome, Refused> & { issued: TokensAfter<Kind> })

/** The kinds without a mail. */
type SilentKind<Kind extends ChangeKind> = Kind extends ChangeKind
  ? ColumnOf<Kind, 'mail'> extends null
    ? Kind
    : never
  : never
type LimitRefusal = Refused<'too_many_requests'> & { retryAfter: number }
/** Only a kind that sends a mail is limited. */
type LimitRefusalOf<Kind extends ChangeKind> = ColumnOf<Kind, 'mail'> extends null ? never : LimitRefusal

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

/** The account that a link is for, and the client that uses it. */
type LinkContext = RequestContext & { userId: string; whileDisabled?: 'refused' | 'allowed' }
export type OperatorContext = { userId: string; client: Client }

type Services = UsersRoom &
  SessionsRoom &
  ConsequenceServices & { database: Database; cache: Cache; onLimited: () => void }

const consequencesOfEach = (kinds: AnnouncedKinds<ChangeKind>) => [kinds].flat().map(consequencesOf)

const isDeleting = (kinds: AnnouncedKinds<ChangeKind>) => consequencesOfEach(kinds).some(isDeletion)

/** A deletion takes a stronger lock: it also waits for rows that refer to the user and are not committed yet. */
const holdUser = ({ users }: Services, sql: Transaction, userId: string, kinds: AnnouncedKinds<ChangeKind>) =>
  isDeleting(kinds) ? users.lockForDeletion(sql, userId) : users.lock(sql, userId)

/** Locks the row of the user, and then that of the caller's session: every change in this order, so that no two wait for each other. */
const holdUserAndSession = async (
  services: Services,
  sql: Transaction,
  { userId, caller }: { userId: string; caller?: SessionCaller | undefined },
  kinds: AnnouncedKinds<ChangeKind>,
) => {
  const lockSession = async () => caller && (await services.sessionLookups.lockOfCaller(sql, caller))
  // A deletion first waits for other deletions, and only then locks the user.
  if (isDeleting(kinds)) return [await holdUser(services, sql, userId, kinds), await lockSession()] as const
  return Promise.all([holdUser(services, sql, userId, kinds), lockSession()])
}

/** `session`: that of the caller, if its row is held. */
type HeldForChange = HeldAccount & { session?: HeldSession | undefined }

type Renewal = { kinds: readonly ChangeKind[]; changes: Changes<ChangeKind> }

const renewTokens = async (
  { sessions }: Services,
  sql: Transaction,
  { caller, session, client }: HeldForChange,
  { kinds, changes }: Renewal,
) => {
  const rows = kinds.map(consequencesOf)
  if (!caller || !session || !rows.some(({ thisSession }) => thisSession === 'new tokens')) return undefined
  const withdrawn = rows.flatMap(({ withdrawsProofs }) => withdrawsProofs)
  const proven = changes.stepped_up?.proven
  const provesUser = rows.some((row) => row.provesUser)
  const change = { withdrawn, ...(proven && { proven }) }
  return sessions.replaceTokens(sql, caller, client, { session, change, provesUser })
}

/** Returns how many sessions ended. */
const applyAll = async (services: Services, sql: Transaction, account: HeldAccount, changes: Changes<ChangeKind>) => {
  const made = Object.entries(changes) as [ChangeKind, AnyDetails | undefined][]
  const ended = await Promise.all(
    made.map(async ([kind, details]) => (details ? applyConsequences(services, sql, account, kind, details) : 0)),
  )
  return ended.reduce((sum, count) => sum + count, 0)
}

/** Lets `work` change an account whose row is held, and applies what the table says follows from it. */
const changeHeld = async <Kind extends ChangeKind, Outcome extends WorkResult<Kind> | Refused>(
  services: Services,
  sql: Transaction,
  account: HeldForChange,
  announcedKinds: AnnouncedKinds<Kind>,
  work: Work<Outcome>,
) => {
  const { users, tokens } = services
  const kinds: readonly ChangeKind[] = [announcedKinds].flat()
  const outcome = await work(sql, account.user)
  if (isRefused(outcome)) return outcome as Extract<Outcome, Refused>
  const { changes, result } = outcome as WorkResult<ChangeKind>
  const changedKinds = Object.keys(changes) as ChangeKind[]
  const unannounced = changedKinds.find((kind) => !kinds.includes(kind))
  if (unannounced) throw new Error(`The change ${unannounced} was not announced`)
  // The announced kinds decide about new tokens, and not the changed ones: callers rely on them (`TokensAfter`) even if nothing has changed.
  const [endedSessions, changed, issued] = await Promise.all([
    applyAll(services, sql, account, changes),
    users.findById(sql, account.user.id),
    renewTokens(services, sql, account, { kinds, changes }),
  ])
  const user = changed ?? account.user
  const mayLengthenTokens = lengtheningKinds.some((kind) => changes[kind])
  if (mayLengthenTokens && user.groups.length > 0 && !tokens.fits(user))
    return refuse('too_many_groups') as TooLongRefusal<Kind>
  const isMailed = changedKinds.map(consequencesOf).some(({ mail }) => mail !== null)
  return { result, user, issued, endedSessions, isMailed } as AppliedChange<ResultOf<Outcome>>
}

/**
 * Limits the changes that mail the owner: a stolen session must not flood the owner with notices, among which the important one is missed.
 * A change is counted before it is made, so that parallel requests cannot exceed the limit, and one that sends no mail is not counted in
 * the end.
 */
const limited = async <Outcome extends { isMailed: boolean } | Refused>(
  { cache, onLimited }: Services,
  userId: string,
  change: () => Promise<Outcome>,
): Promise<Outcome | LimitRefusal> => {
  const key = limiterKey('account_changes', userSubject(userId))
  const { granted, resetsIn, window } = await cache.reserve(key, limiters.account_changes.limit)
  if (!granted) {
    onLimited()
    return refuse('too_many_requests', { retryAfter: Math.max(1, Math.ceil(resetsIn / seconds)) })
  }
  let isMailed = false
  try {
    const outcome = await change()
    isMailed = 'isMailed' in outcome && outcome.isMailed
    return outcome
  } finally {
    if (!isMailed) void cache.refund([{ key, window }])
  }
}

/** A session that has just ended, for example by a reset of the password, changes nothing any more: its row is locked. */
const changeByCaller = async <Kind extends KindBy<'caller'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
  services: Services,
  sql: Transaction,
  user: User | undefined,
  session: HeldSession | undefined,
  { caller, client }: CallerContext,
  announcedKinds: AnnouncedKinds<Kind>,
  work: Work<Outcome>,
) => {
  if (!user || user.disabled || !session) return refuse('not_authenticated')
  const outcome = await changeHeld(services, sql, { user, client, caller, session }, announcedKinds, work)
  return outcome as WithTokens<typeof outcome, Kind>
}

const changeByLink = async <Kind extends KindBy<'link'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
  services: Services,
  sql: Transaction,
  { userId, client, caller, whileDisabled = 'refused' }: LinkContext,
  announcedKinds: AnnouncedKinds<Kind>,
  work: Work<Outcome>,
) => {
  const [user, session] = await holdUserAndSession(services, sql, { userId, caller }, announcedKinds)
  if (!user || (user.disabled && whileDisabled === 'refused')) return refuse('invalid_link')
  if (caller && !session) return refuse('not_authenticated')
  return changeHeld(services, sql, { user, client, caller, session }, announcedKinds, work)
}

const changeByOperator = async <Kind extends KindBy<'operator'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
  services: Services,
  sql: Transaction,
  { userId, client }: OperatorContext,
  announcedKinds: AnnouncedKinds<Kind>,
  work: Work<Outcome>,
) => {
  const { events } = services
  // Administrators wait for each other before they hold any other row. The second call checks whether they may change this account, whose
  // row is held by then.
  await events.checkActor(sql, client)
  const user = await holdUser(services, sql, userId, announcedKinds)
  if (!user) return refuse('no_user')
  await events.checkActor(sql, client, userId)
  return changeHeld(services, sql, { user, client }, announcedKinds, work)
}

export type AccountChanges = ReturnType<typeof createAccountChanges>

/**
 * The one way to change an account: it holds the user's row, checks that the initiator is still allowed to, lets `work` make the change,
 * and applies what the table says follows from it. All of it is one transaction, which a refusal rolls back.
 */
export const createAccountChanges = (services: Services) => {
  const { database, sessionLookups } = services
  return {
    /** By a signed-in user. */
    byCaller: async <Kind extends KindBy<'caller'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
      context: CallerContext,
      announcedKinds: AnnouncedKinds<Kind>,
      work: Work<Outcome>,
    ) => {
      const { userId } = context.caller
      const change = () =>
        commitUnlessRefused(database, async (sql) => {
          const { caller } = context
          const [user, session] = await holdUserAndSession(services, sql, { userId, caller }, announcedKinds)
          return changeByCaller(services, sql, user, session, context, announcedKinds, work)
        })
      const canSendMail = consequencesOfEach(announcedKinds).some(({ mail }) => mail !== null)
      const outcome = canSendMail ? await limited(services, userId, change) : await change()
      return outcome as Awaited<ReturnType<typeof change>> | LimitRefusalOf<Kind>
    },

    /**
     * Like `byCaller`, in a transaction that already holds the user's row, such as one that uses up a code. Only a change without a mail,
     * because only `byCaller` limits mails.
     */
    byCallerInside: async <
      Kind extends SilentKind<KindBy<'caller'>>,
      Outcome extends WorkResult<NoInfer<Kind>> | Refused,
    >(
      sql: Transaction,
      user: User | undefined,
      context: CallerContext,
      kind: Kind,
      work: Work<Outcome>,
    ) => {
      const session = await sessionLookups.lockOfCaller(sql, context.caller)
      return changeByCaller(services, sql, user, session, context, kind, work)
    },

    /** By the holder of a mailed link. No session is needed. If the request has a session, it must not have ended. */
    byLink: <Kind extends KindBy<'link'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
      context: LinkContext,
      announcedKinds: AnnouncedKinds<Kind>,
      work: Work<Outcome>,
    ) => commitUnlessRefused(database, (sql) => changeByLink(services, sql, context, announcedKinds, work)),

    /** By an operator, or by a program with a key. They can change a disabled account too. */
    byOperator: <Kind extends KindBy<'operator'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
      context: OperatorContext,
      announcedKinds: AnnouncedKinds<Kind>,
      work: Work<Outcome>,
    ) => commitUnlessRefused(database, (sql) => changeByOperator(services, sql, context, announcedKinds, work)),

    /** Like `byOperator`, in a transaction that changes several accounts. */
    byOperatorInside: <Kind extends KindBy<'operator'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
      sql: Transaction,
      context: OperatorContext,
      announcedKinds: AnnouncedKinds<Kind>,
      work: Work<Outcome>,
    ) => changeByOperator(services, sql, context, announcedKinds, work),

    /** By a request with an old token of a session. */
    byOldToken: <Kind extends KindBy<'old token'>, Outcome extends WorkResult<NoInfer<Kind>> | Refused>(
      { caller, client }: CallerContext,
      kind: Kind,
      work: Work<Outcome>,
    ) =>
      commitUnlessRefused(database, async (sql) => {
        const user = await holdUser(services, sql, caller.userId, kind)
        return user ? changeHeld(services, sql, { user, client, caller }, kind, work) : refuse('no_user')
      }),

    /** By a sign-in whose transaction `sql` holds the user's row. `account.caller` is the session that the sign-in begins. */
    bySignIn: (sql: Transaction, account: HeldAccount, changes: Changes<KindBy<'sign-in'>>) =>
      applyAll(services, sql, account, changes),
  }
}

/** Writes the profile fields of a user. The event names the fields, never their values. */
export const createFieldChanges = (accountChanges: AccountChanges, { profileFields }: UsersRoom) => {
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
