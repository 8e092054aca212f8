import type { LastStep } from '../../contract/factors.js'
import { type Refused, refuse } from '../../contract/outcome.js'
import type { ProfileFieldChanges } from '../../contract/profile-fields.js'
import { commitUnlessRefused } from '../../platform/database/commit-unless-refused.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { AccountChanges, Changes } from '../accounts/account-changes.js'
import type { FieldChanges } from '../accounts/field-changes.js'
import type { Terms } from '../terms/terms.js'
import type { User, Users } from '../users/users.js'
import type { Challenges } from './challenges.js'
import type { LastSteps } from './last-steps.js'
import type { Entry, NewSessions } from './new-sessions.js'
import type { Visit } from './sign-ins.js'

type Dependencies = {
  database: Database
  users: Pick<Users, 'lockEnabled' | 'findEnabled'>
  accountChanges: Pick<AccountChanges, 'bySignIn'>
  challenges: Pick<Challenges, 'find' | 'lock'>
  lastSteps: Pick<LastSteps, 'fieldsFor'>
  fieldChanges: Pick<FieldChanges, 'write'>
  terms: Pick<Terms, 'version' | 'agree'>
  newSessions: NewSessions
}

type Answered = { changes: Changes<'fields_changed' | 'terms_agreed'> }

export type LastAnswers = ReturnType<typeof createLastAnswers>

/** The answers to what a sign-in is asked for behind its proofs. The last one begins the session. */
export const createLastAnswers = (deps: Dependencies) => {
  const { database, users, accountChanges, challenges, lastSteps, fieldChanges, terms, newSessions } = deps

  /** One transaction: the answer is written, and the session begins or the next step is waited for. */
  const answer = async <Code extends string>(
    { token, step }: { token: string; step: LastStep },
    visit: Visit,
    write: (sql: Transaction, user: User) => Promise<Answered | Refused<Code>>,
  ): Promise<Entry | Refused<Code | 'challenge_over' | 'other_step'>> => {
    const challenge = await challenges.find(token)
    if (!challenge) return refuse('challenge_over')
    if (!challenge.proof || challenge.kind !== step) return refuse('other_step')
    const { userId, by, proof } = challenge
    const entry = await commitUnlessRefused(
      database,
      async (sql): Promise<Entry | Refused<Code | 'challenge_over' | 'other_step'>> => {
        const user = await users.lockEnabled(sql, userId)
        if (!user || !(await challenges.lock(sql, token))) return refuse('challenge_over')
        const written = await write(sql, user)
        if ('refused' in written) return written
        await accountChanges.bySignIn(sql, { user, client: visit.client }, written.changes)
        return (await newSessions.begin(sql, user, { by, proof, token, done: step }, visit)) ?? refuse('challenge_over')
      },
    )
    if (!('refused' in entry)) await newSessions.record(entry, by, visit)
    return entry
  }

  return {
    /** The fields that this sign-in is asked for. */
    fieldsOf: async (token: string) => {
      const challenge = await challenges.find(token)
      const user = challenge && (await users.findEnabled(challenge.userId))
      return user ? lastSteps.fieldsFor(user) : []
    },

    byProfile: (token: string, given: ProfileFieldChanges, visit: Visit) =>
      answer({ token, step: 'profile' }, visit, async (sql, user) => {
        const missing = lastSteps.fieldsFor(user).filter(({ key, required }) => required && !Object.hasOwn(given, key))
        const unanswered = Object.fromEntries(missing.map(({ key }) => [key, null]))
        return fieldChanges.write({ ...given, ...unanswered }, 'user')(sql, user)
      }),

    /** `version` is the one that the user has seen: another instance may have asked for another one. */
    byTerms: (token: string, version: string, visit: Visit) =>
      answer({ token, step: 'terms' }, visit, async (sql, user) => {
        if (version !== terms.version) return refuse('terms_changed')
        await terms.agree(sql, user.id, version)
        return { changes: { terms_agreed: { event: { reason: version } } } }
      }),
  }
}
