import type { Sql } from '../../platform/database/database.js'
import type { Events } from '../events/events.js'
import type { Mails } from '../mails/mails.js'
import type { Users } from '../users/users.js'
import type { AbandonedChallenge, Challenges } from './challenges.js'

type Dependencies = {
  challenges: Pick<Challenges, 'takeExpired'>
  users: Pick<Users, 'findById'>
  events: Pick<Events, 'hasSignedIn'>
  mails: Pick<Mails, 'queue'>
}

/**
 * Sign-ins whose second step was never finished. The owner gets a mail: someone knows the password. None if the same browser has
 * signed in since, by another attempt; and at most one a day for an account (see the ceilings of mails).
 */
export const createUnfinishedSignIns = ({ challenges, users, events, mails }: Dependencies) => {
  const tell = async (sql: Sql, { userId, client, begunAt: at }: AbandonedChallenge) => {
    const user = await users.findById(userId, sql)
    if (!user || user.disabled || (await events.hasSignedIn(sql, userId, client, at))) return
    const values = { username: user.username }
    await mails.queue(sql, { to: user.email, userId, template: 'sign-in-unfinished', values, client, at })
  }

  return {
    purge: async (sql: Sql, limit: number) => {
      const { count, abandoned } = await challenges.takeExpired(sql, limit)
      for (const challenge of abandoned) await tell(sql, challenge)
      return count
    },
  }
}
