import type { AccountChanges, OperatorContext } from '../account-changes/account-changes.js'
import { mayUse } from '../applications/applications.js'
import type { ProtectedApplication, ProtectedApplications } from '../applications/protected-applications.js'
import { longestTokenName } from '../contract/name-lengths.js'
import { isRefused, refuse } from '../contract/outcome.js'
import {
  maxTokens,
  type NewPersonalToken,
  type OpenedApplication,
  usualTokenDays,
} from '../contract/personal-tokens.js'
import type { Clock } from '../lib/clock.js'
import { days } from '../lib/durations.js'
import { fingerprint } from '../lib/random.js'
import { isUuid, uuidv7 } from '../lib/uuid.js'
import { acceptTransaction, type Database, type Transaction } from '../platform/database/database.js'
import type { CallerContext } from '../sessions/session-facts.js'
import { displayName } from '../users/names.js'
import type { User } from '../users/users.js'
import type { PersonalToken } from './personal-token-body.js'
import * as store from './personal-tokens.store.js'
import { newToken } from './token-text.js'

const fromRow = ({ created_at, expires_at, last_used_at, ...same }: store.TokenRow): PersonalToken => ({
  ...same,
  createdAt: created_at,
  expiresAt: expires_at,
  lastUsedAt: last_used_at,
})

/** Whether a token can open the application. It is never fresh, and never two factors. */
export const takesTokens = ({ tokens, factors, maxAge }: ProtectedApplication) =>
  tokens && factors === 1 && maxAge === undefined

type Needed = {
  database: Database
  clock: Clock
  accountChanges: AccountChanges
  protectedApplications: Pick<ProtectedApplications, 'all'>
  /** `PERSONAL_TOKENS` */
  isOn: boolean
}

/** The tokens with which programs of a user enter applications behind a proxy. Only hashes are kept. */
export const createPersonalTokens = ({ database, clock, accountChanges, protectedApplications, isOn }: Needed) => {
  const list = acceptTransaction(database)(async (sql, userId: string) =>
    (await store.selectOfUser(sql, userId, clock.offset())).map(fromRow),
  )

  const applicationsFor = ({ groups }: Pick<User, 'groups'>): OpenedApplication[] =>
    (isOn ? protectedApplications.all() : [])
      .filter((application) => takesTokens(application) && mayUse(application, groups))
      .map(({ id, name }) => ({ id, name }))
      .sort((one, other) => one.name.localeCompare(other.name))

  const add = async (sql: Transaction, user: User, { name: typed, applications, expiresInDays }: NewPersonalToken) => {
    const name = displayName(typed, longestTokenName)
    if (name === null) return refuse('bad_request', { message: 'Choose a name with visible characters' })
    const allowed = applicationsFor(user)
    if (applications.some((id) => !allowed.some((application) => application.id === id)))
      return refuse('bad_request', { message: 'One of the applications is not there, or takes no token of yours' })
    if ((await list(sql, user.id)).length >= maxTokens) return refuse('too_many_tokens')
    const id = uuidv7(clock.now())
    const token = newToken()
    const lifetime = (expiresInDays ?? usualTokenDays) * days
    const row = { id, userId: user.id, name, hash: fingerprint(token), applications, lifetime }
    await store.insert(sql, { ...row, clockOffset: clock.offset() })
    const names = allowed.filter(({ id }) => applications.includes(id)).map((application) => application.name)
    const mail = { tokenName: name, applications: names.join(', ') }
    return { result: { id, token }, changes: { token_made: { mail, undo: { id }, event: { reason: name } } } }
  }

  const removeOf = (id: string) => async (sql: Transaction, user: User) => {
    const [removed] = isUuid(id) ? await store.remove(sql, user.id, id) : []
    return removed
      ? { result: removed, changes: { token_ended: { event: { reason: removed.name } } } }
      : refuse('not_found')
  }

  return {
    /** The tokens of a user that have not expired, the newest first. */
    list,
    /** What a new token of this user can open. */
    applicationsFor,
    make: async (context: CallerContext, wanted: NewPersonalToken) => {
      const made = await accountChanges.byCaller(context, 'token_made', (sql, user) => add(sql, user, wanted))
      return isRefused(made) ? made : made.result
    },
    end: async (context: CallerContext, id: string) => {
      const ended = await accountChanges.byCaller(context, 'token_ended', removeOf(id))
      return isRefused(ended) ? ended : undefined
    },
    endByOperator: async (context: OperatorContext, id: string) => {
      const ended = await accountChanges.byOperator(context, 'token_ended', removeOf(id))
      return isRefused(ended) ? ended : ended.result
    },
    /** Ends some tokens, whose ever they are. Returns how many. */
    endSome: async (limit: number) => (await store.removeAll(database, limit)).length,
  }
}
