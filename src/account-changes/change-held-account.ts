import type { AmrMethod } from '../contract/factors.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { Transaction } from '../platform/database/database.js'
import type { IssuedTokens, Sessions } from '../sessions/sessions.js'
import type { Tokens } from '../sessions/tokens.js'

import type { User, Users } from '../users/users.js'
import { type ChangeKind, consequencesOf } from './account-change-table.js'
import type { AccountConsequences, HeldAccount } from './account-consequences.js'
import type { AnyDetails, ChangeDetails } from './change-details.js'

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

type Dependencies = {
  users: Pick<Users, 'findById'>
  sessions: Pick<Sessions, 'replaceTokens'>
  applyConsequences: AccountConsequences
  tokens: Pick<Tokens, 'fits'>
}
type Renewal = { kinds: readonly ChangeKind[]; proven: AmrMethod | undefined }

export const consequencesOfEach = (kinds: AnnouncedKinds<ChangeKind>) => [kinds].flat().map(consequencesOf)

export type ChangeHeldAccount = ReturnType<typeof createChangeHeldAccount>

/** Lets `work` change an account whose row is held, and applies what the table says follows from it. */
export const createChangeHeldAccount = ({ users, sessions, applyConsequences, tokens }: Dependencies) => {
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
