import type { OperatorContext } from '../account-changes/account-changes.js'
import { refuse } from '../contract/outcome.js'
import type { createCodeWaits } from '../factors/prove-code.js'
import { deviceKeyPrefixes, limiterKey, limitersOf, sessionSubject, userSubject } from '../http/limiters.js'
import type { Events } from '../messages/events.js'
import type { Database } from '../platform/database/database.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { User, Users } from '../users/users.js'
import type { Counter, Counters, SignInLimits } from './reached-limits.js'

type Dependencies = {
  database: Database
  users: Pick<Users, 'findById'>
  sessionLookups: Pick<SessionLookups, 'list'>
  codeWaits: Pick<ReturnType<typeof createCodeWaits>, 'forget'>
  limits: SignInLimits
  events: Pick<Events, 'checkActor' | 'recordInside'>
}

/** The counters of a user: under the names, in known browsers, and for the account and its sessions. */
export type CountedForUser = { names: Counter[]; devices: Counter[]; accountAndSessions: Counter[] }

/** False if all attempts of the counter were given back. */
const isUsed = ({ used }: Counter) => used > 0

export type ClearLimits = ReturnType<typeof createClearLimits>

/**
 * Lets a user try again now. The counters of networks stay, because they may count the guesses of others. The counters are in no
 * transaction, so they are removed after the event is written: an administrator who is none any more clears no limit.
 */
export const createClearLimits = (deps: Dependencies) => {
  const { database, users, sessionLookups, codeWaits, limits, events } = deps

  const countedFor = async (counters: Counters, { id, username, email }: User): Promise<CountedForUser> => {
    const sessions = await sessionLookups.list(id)
    const keysOfUser = [
      ...limitersOf('user').map((name) => limiterKey(name, userSubject(id))),
      ...sessions.flatMap((session) =>
        limitersOf('session').map((name) => limiterKey(name, sessionSubject(session.id))),
      ),
    ]
    // Only the cookies of the browsers have the names of the devices, so their counters are found by the prefix of their keys.
    const keysOfDevices = (await Promise.all(deviceKeyPrefixes(id).map(counters.keys))).flat()
    return {
      names: (
        await counters.read([...[username, email].flatMap(limits.keysOfName), ...limits.keysOfMailbox(email)])
      ).filter(isUsed),
      devices: (await counters.read(keysOfDevices)).filter(isUsed),
      accountAndSessions: (await counters.read(keysOfUser)).filter(isUsed),
    }
  }

  /** Records the event. Also ends the wait after wrong codes, which is in the database. */
  const record = ({ userId, client }: OperatorContext, keys: readonly string[]) =>
    database.transaction(async (sql) => {
      await events.checkActor(sql, client)
      const hadWrongCodes = await codeWaits.forget(sql, userId)
      const clearedLimits = new Set([
        ...(hadWrongCodes ? ['codes'] : []),
        ...keys.map((key) => key.slice(0, key.indexOf(':'))),
      ])
      const reason = `user: ${[...clearedLimits].join(' ') || 'nothing was counted'}`
      await events.recordInside(sql, { kind: 'limits_cleared', reason, userId }, client)
      return hadWrongCodes
    })

  return async (actor: OperatorContext) => {
    const user = await users.findById(actor.userId)
    if (!user) return refuse('no_user')
    const counters = await limits.openCounters()
    try {
      const counted = await countedFor(counters, user)
      const keys = [...counted.names, ...counted.devices, ...counted.accountAndSessions].map(({ key }) => key)
      const hadWrongCodes = await record(actor, keys)
      await counters.remove(keys)
      return { ...counted, hadWrongCodes }
    } finally {
      await counters.close()
    }
  }
}
