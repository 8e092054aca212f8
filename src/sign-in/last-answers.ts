import type { AccountChanges } from '../account-changes/account-changes.js'
import type { LastStep } from '../contract/factors.js'
import { refuse } from '../contract/outcome.js'
import { commitUnlessRefused, type Database } from '../platform/database/database.js'
import type { Users } from '../users/users.js'
import type { Challenges } from './challenges.js'
import type { LastAnswer, LastSteps } from './last-steps.js'
import type { NewSessions } from './new-sessions.js'
import type { Visit } from './sign-ins.js'

type Dependencies = {
  database: Database
  users: Pick<Users, 'lockEnabled' | 'findEnabled'>
  accountChanges: Pick<AccountChanges, 'bySignIn'>
  challenges: Pick<Challenges, 'find' | 'lock'>
  lastSteps: Pick<LastSteps, 'fieldsFor' | 'answer'>
  newSessions: NewSessions
}

export type LastAnswers = ReturnType<typeof createLastAnswers>

/** Takes the answers to what a sign-in is asked for after its proofs. The last answer begins the session. */
export const createLastAnswers = (deps: Dependencies) => {
  const { database, users, accountChanges, challenges, lastSteps, newSessions } = deps

  return {
    /** The fields that a sign-in of this user is asked for. */
    fieldsOf: async (userId: string) => {
      const user = await users.findEnabled(userId)
      return user ? lastSteps.fieldsFor(user) : []
    },

    /** In one transaction, the answer is written, and the session begins or the sign-in waits for the next step. */
    answer: async <Step extends LastStep>(token: string, step: Step, given: LastAnswer[Step], visit: Visit) => {
      const challenge = await challenges.find(token)
      if (!challenge) return refuse('challenge_over')
      if (!challenge.proof || challenge.kind !== step) return refuse('other_step')
      const { userId, by, proof } = challenge
      const outcome = await commitUnlessRefused(database, async (sql) => {
        const user = await users.lockEnabled(sql, userId)
        if (!user || !(await challenges.lock(sql, token))) return refuse('challenge_over')
        const result = await lastSteps.answer(sql, user, step, given)
        if ('refused' in result) return result
        await accountChanges.bySignIn(sql, { user, client: visit.client }, result.changes)
        return (await newSessions.begin(sql, user, { by, proof, token, done: step }, visit)) ?? refuse('challenge_over')
      })
      if (!('refused' in outcome)) await newSessions.record(outcome, by, visit)
      return outcome
    },
  }
}
