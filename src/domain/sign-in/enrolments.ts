import { isRefused, refuse } from '../../contract/outcome.js'
import { commitUnlessRefused } from '../../platform/database/commit-unless-refused.js'
import type { Database } from '../../platform/database/database.js'
import type { Events } from '../events/events.js'
import type { MailedCodes } from '../mailed-codes/mailed-codes.js'
import type { Client } from '../sessions/client.js'
import type { Users } from '../users/users.js'
import type { Challenges } from './challenges.js'
import { isOpenedByMail } from './ways-to-sign-in.js'

type Dependencies = {
  database: Database
  challenges: Challenges
  mailedCodes: MailedCodes
  users: Pick<Users, 'findById' | 'findEnabled'>
  events: Pick<Events, 'record'>
}

const codeOf = (challengeId: string) => ({ mail: 'enrolment-code', boundTo: challengeId }) as const

export type Enrolments = ReturnType<typeof createEnrolments>

/**
 * Sign-ins that go on when their user has added a second factor. Before that the user enters a code that was mailed to the
 * account's address: a stolen password alone must not be enough to add the thief's factor.
 */
export const createEnrolments = ({ database, challenges, mailedCodes, users, events }: Dependencies) => {
  const find = async (token: string) => {
    const challenge = await challenges.find(token)
    if (!challenge) return refuse('challenge_over')
    return challenge.kind === 'enrolment' ? challenge : refuse('not_enrolling')
  }

  return {
    find,

    /** The sign-in and its user, once a factor may be added. A challenge of another kind opens nothing here. */
    findOpen: async (token: string) => {
      const challenge = await find(token)
      if (isRefused(challenge))
        return refuse(challenge.refused === 'not_enrolling' ? 'not_authenticated' : 'challenge_over')
      if (!challenge.mailProven) return refuse('mailed_code_required')
      const user = await users.findEnabled(challenge.userId)
      return user ? { challenge, user } : refuse('challenge_over')
    },

    mailCode: async ({ id, userId }: { id: string; userId: string }, client: Client) => {
      const user = await users.findById(userId)
      if (user) await mailedCodes.send(codeOf(id), user, client)
    },

    /** A wrong code uses up a try of the sign-in, also if another mail was sent meanwhile. */
    enterMailedCode: async (token: string, code: string, client: Client) => {
      const found = await find(token)
      if (isRefused(found)) return found
      const challenge = await challenges.reserveTry(token)
      if (!challenge || !isOpenedByMail(challenge.by)) return refuse('challenge_over')
      const checked = await mailedCodes.check(codeOf(challenge.id), challenge.userId, code)
      if (isRefused(checked)) {
        const reason = checked.refused === 'wrong_mailed_code' ? 'mailed_code' : 'mailed_code_void'
        await events.record({ kind: 'second_factor_failed', userId: challenge.userId, reason }, client)
        return challenge.triesLeft > 0 ? checked : refuse('challenge_over')
      }
      return commitUnlessRefused(database, async (sql) => {
        if (!(await mailedCodes.take(sql, checked.id))) return refuse('mailed_code_void')
        return (await challenges.proveMail(sql, token)) ? challenge : refuse('challenge_over')
      })
    },
  }
}
