import { fingerprint } from '../../lib/random.js'
import { epochSeconds } from '../../sessions/issue-tokens.js'
import type { TokenExchangeParts } from './token-exchange-parts.js'
import * as store from './tokens.store.js'

/**
 * The holder of an access token of an application, as claims of an access token of Latchkey. `gen` is the oldest generation that is valid.
 * So programs learn from the list of ended sessions, after a change of groups or a sign-out, that these claims are too old.
 */
export const createHolderOf =
  ({ database, clock, moments }: Pick<TokenExchangeParts, 'database' | 'clock' | 'moments'>) =>
  async (accessToken: string) => {
    const [row] = await store.selectHolder(database, fingerprint(accessToken), moments())
    if (!row) return undefined
    const { scopes, name, second_factor_at: secondFactorAt } = row
    return {
      applicationId: row.application_id,
      scopes,
      claims: {
        userId: row.user_id,
        sid: row.sid,
        iat: epochSeconds(clock.now()),
        exp: epochSeconds(row.expires_at),
        gen: row.oldest_generation,
        auth_time: epochSeconds(row.authenticated_at),
        amr: row.methods,
        ...(secondFactorAt && { mfa_time: epochSeconds(secondFactorAt) }),
        // As at UserInfo, each scope shares its claims about the person.
        ...(scopes.includes('profile') && { username: row.username, ...(name !== null && { name }) }),
        ...(scopes.includes('email') && { email: row.email }),
        ...(scopes.includes('groups') && { groups: row.groups }),
      },
    }
  }
