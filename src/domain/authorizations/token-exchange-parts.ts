import type { Clock } from '../../lib/clock.js'
import type { Database } from '../../platform/database/database.js'
import type { Client } from '../sessions/client.js'
import type { GrantOf } from './grant.js'
import type { RefreshTokenTexts } from './refresh-token-texts.js'
import type { Moments } from './tokens.store.js'

/** What a code or a refresh token is exchanged with. */
export type TokenExchangeParts = {
  database: Database
  clock: Clock
  refreshTokens: RefreshTokenTexts
  moments: () => Moments
  /** Ends an authorization whose code or refresh token was used a second time. */
  endReused: (authorizationId: string, client: Client) => Promise<void>
  grantOf: GrantOf
}
