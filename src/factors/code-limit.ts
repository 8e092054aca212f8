import { refuse } from '../contract/outcome.js'
import { limiterKey, limiters, userSubject } from '../http/limiters.js'
import type { Clock } from '../lib/clock.js'
import type { Cache, CounterWindow } from '../platform/cache/cache.js'
import { type Database, type Sql, undefinedIfUnavailable } from '../platform/database/database.js'
import * as store from './code-limit.store.js'

/** After this many wrong codes in a day the owner gets a mail, and no second mail on that day. */
const wrongBeforeMail = 3

/** The counter in which a code was counted. */
type CodeReservation = { at: 'account' } | { at: 'device'; key: string; window: CounterWindow }

export type CodeLimit = ReturnType<typeof createCodeLimit>

/**
 * Limits the wrong codes of an account, from all clients together. The known devices of an account share a limit of their own, so that
 * guesses of others do not make their user wait. When it is used up, they count as unknown. Passwords are counted elsewhere.
 */
export const createCodeLimit = ({ database, cache, clock }: { database: Database; cache: Cache; clock: Clock }) => ({
  /** Counts the code as wrong until `giveBack`, so that parallel requests can try no more codes than requests one after another. */
  reserve: async (userId: string, device: string | undefined) => {
    if (device !== undefined) {
      const key = limiterKey('device_codes', userSubject(userId))
      const { granted, window } = await cache.reserve(key, limiters.device_codes.limit)
      if (granted) return { at: 'device', key, window } satisfies CodeReservation
    }
    const [countedRow] = await store.reserve(database, userId, clock.offset())
    if (countedRow) return { at: 'account' } satisfies CodeReservation
    const [row] = await store.selectWait(database, userId, clock.offset())
    return refuse('too_many_codes', { retryAfter: Math.max(1, Math.ceil(row?.seconds ?? 1)) })
  },
  /** If the store cannot do it, the code stays counted. A sign-in that has just been made must not fail because of that. */
  giveBack: async (userId: string, reservation: CodeReservation) => {
    if (reservation.at === 'device') await cache.refund([reservation])
    else await store.giveBack(database, userId).catch(undefinedIfUnavailable)
  },
  /** Counts a wrong code of the day. Returns whether the owner has to be told, and whether the account must wait from now on. */
  noteWrong: async (userId: string, isTotp: boolean) => {
    const [row] = await store.noteWrong(database, userId, clock.offset(), isTotp)
    return { shouldTellOwner: row?.wrong === wrongBeforeMail, mustWait: isTotp && row?.waits === true }
  },
  forget: async (sql: Sql, userId: string) => {
    await store.forget(sql, userId)
  },
})
