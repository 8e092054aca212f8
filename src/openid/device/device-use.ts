import type { Clock } from '../../lib/clock.js'
import { hours } from '../../lib/durations.js'
import type { Database } from '../../platform/database/database.js'
import { epochSeconds, fromEpochSeconds } from '../../sessions/issue-tokens.js'
import type { SessionLimits } from '../../sessions/live-sessions.js'
import * as store from '../token/tokens.store.js'

/** A use is written at most this often. That is enough, because a session lasts for weeks without any use. */
const writeInterval = 1 * hours

type Options = SessionLimits & { database: Database; clock: Clock }

/**
 * Notes that a device was used. No browser refreshes the session of a device, so the session goes on as long as the application refreshes
 * its own tokens.
 */
export const createNoteDeviceUse =
  ({ database, clock, lifetimes }: Options) =>
  async (sid: string) => {
    const now = fromEpochSeconds(epochSeconds(clock.now()))
    await store.noteDeviceUse(database, {
      sid,
      now,
      writeInterval,
      limits: { idle: lifetimes.refreshToken, age: lifetimes.session },
    })
  }
