import type { Clock } from '../../lib/clock.js'
import type { Database } from '../../platform/database/database.js'
import type { Client } from '../sessions/client.js'
import type { GrantOf } from './grant.js'
import type { RefreshTokenTexts } from './refresh-token-texts.js'
import type { Moments } from './tokens.store.js'

/** What it takes to exchange a code or a refresh token for new tokens. */
export type TokenExchangeParts = {
  database: Database
  clock: Clock
  refreshTokens: RefreshTokenTexts
  /** The times that the statements compare with. */
  moments: () => Moments
  /** Ends an authorization whose code or refresh token was used again, later than a repeated request may come. */
  endReused: (authorizationId: string, client: Client) => Promise<void>
  grantOf: GrantOf
}
