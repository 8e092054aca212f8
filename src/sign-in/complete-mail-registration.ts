import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { commitUnlessRefused, type Database, isUniqueViolation } from '../platform/database/database.js'
import type { GateRefusal, Invitations } from '../registration/invitations.js'

import type { NewUser, NewUsers } from '../users/new-users.js'
import type { Terms } from '../users/terms.js'
import type { User, Users } from '../users/users.js'
import type { MailSignIns } from './mail-sign-ins.js'

type ChosenData = Omit<NewUser, 'passwordHash' | 'emailProven'>
type CompletionResult =
  | { user: User; usedInvitation: boolean }
  | Refused<'challenge_over' | 'already_registered' | 'username_taken' | GateRefusal>

type Dependencies = {
  database: Database
  users: Pick<Users, 'lockUsersOfAddress'>
  newUsers: Pick<NewUsers, 'create'>
  invitations: Pick<Invitations, 'admit'>
  terms: Pick<Terms, 'agree'>
  mailSignIns: Pick<MailSignIns, 'takeProven'>
}

export type CompleteMailRegistration = ReturnType<typeof createCompleteMailRegistration>

/**
 * Creates the account of an address that a mailed code has proven, without a password. This works once, because the proof is used up. The
 * gate is asked again, because registration may have been closed since.
 */
export const createCompleteMailRegistration =
  ({ database, users, newUsers, invitations, terms, mailSignIns }: Dependencies) =>
  async (browserToken: string, chosenData: ChosenData, agreedTerms: string | undefined): Promise<CompletionResult> => {
    const completion = commitUnlessRefused(database, async (sql): Promise<CompletionResult> => {
      // Users are locked before the row of the proof. A deletion locks in the same order, so the two cannot deadlock.
      await users.lockUsersOfAddress(sql, chosenData.email.email)
      if (!(await mailSignIns.takeProven(sql, browserToken))) return refuse('challenge_over')
      const account = { ...chosenData, passwordHash: null, emailProven: true }
      const admitted = await invitations.admit(sql, { email: chosenData.email }, () => newUsers.create(sql, account))
      if (isRefused(admitted)) return admitted
      const { created, usedInvitation } = admitted
      if (isRefused(created)) return refuse(created.refused === 'email_taken' ? 'already_registered' : 'username_taken')
      if (agreedTerms !== undefined) await terms.agree(sql, created.id, agreedTerms)
      return { user: created, usedInvitation }
    })
    return completion.catch((error: unknown) => {
      if (isUniqueViolation(error)) return refuse('username_taken')
      throw error
    })
  }
