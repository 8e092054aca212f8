import { createEndAuthorizations } from '../../applications/used-applications.js'
import type { Clock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'
import type { Events } from '../../messages/events.js'
import type { Database } from '../../platform/database/database.js'
import { createSessionLife, type SessionLimits } from '../../sessions/live-sessions.js'
import type { ProfileFields } from '../../users/profile-fields.js'
import { createGrantOf } from './grant.js'
import { createRefreshTokenTexts } from './refresh-token-texts.js'
import type { Moments } from './tokens.store.js'

type Options = SessionLimits & {
  database: Database
  clock: Clock
  events: Pick<Events, 'recordInside'>
  profileFields: Pick<ProfileFields, 'knownValues'>
  refreshTokens: RefreshTokenOptions
}

/** The first key signs refresh tokens. All of them verify. `grace` is `REFRESH_GRACE`. */
export type RefreshTokenOptions = { keys: readonly Buffer[]; grace: number }

/**
 * For this long after a rotation, or for `REFRESH_GRACE` if that is longer, the previous token is exchanged for the newest one again: an
 * answer may be lost, and two processes may refresh at once.
 */
const minGracePeriod = 30 * seconds

export type TokenExchangeParts = ReturnType<typeof createTokenExchangeParts>

/** The parts that exchange a code, a refresh token or the code of a device for new tokens. */
export const createTokenExchangeParts = (options: Options) => {
  const { database, clock, refreshTokens, profileFields } = options
  const { liveNow } = createSessionLife(options)
  return {
    database,
    clock,
    refreshTokens: createRefreshTokenTexts(refreshTokens.keys),
    gracePeriod: Math.max(minGracePeriod, refreshTokens.grace),
    /** The times that the statements compare with. */
    moments: (): Moments => ({ live: liveNow(), clockOffset: clock.offset() }),
    /** Ends an authorization whose code or refresh token was used again after the time in which a retry is allowed. */
    endReused: createEndAuthorizations(options).endReused,
    grantOf: createGrantOf(profileFields),
  }
}
