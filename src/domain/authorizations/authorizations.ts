import type { Clock } from '../../lib/clock.js'
import { fingerprint } from '../../lib/random.js'
import type { Database } from '../../platform/database/database.js'
import type { Application } from '../applications/application.js'
import type { Events } from '../events/events.js'
import type { ProfileFields } from '../profile-fields/profile-fields.js'
import { createSessionLife, type SessionLimits } from '../sessions/live-sessions.js'
import type { Sessions, TokenHolder } from '../sessions/sessions.js'
import type { Users } from '../users/users.js'
import { createEndAuthorizations } from './end-authorizations.js'
import { createExchangeRefreshToken } from './exchange-refresh-token.js'
import { createGrantOf } from './grant.js'
import { createIssueCode, type Requested } from './issue-code.js'
import { createRedeemCode } from './redeem-code.js'
import { createRefreshTokenTexts } from './refresh-token-texts.js'
import * as tokenStore from './tokens.store.js'

export type { RefreshFault } from './exchange-refresh-token.js'
export type { Requested } from './issue-code.js'
export type { CodeFault } from './judge-code.js'

export type Authorizations = ReturnType<typeof createAuthorizations>

type Options = SessionLimits & {
  database: Database
  clock: Clock
  events: Pick<Events, 'recordInside'>
  users: Pick<Users, 'lockEnabled'>
  profileFields: Pick<ProfileFields, 'known'>
  sessions: Pick<Sessions, 'lockOfHolder'>
  /** The first signs refresh tokens, all of them verify. */
  refreshTokenKeys: readonly Buffer[]
}

/** Which application may act for which session, and the codes and tokens of that. To end one, its row is deleted. */
export const createAuthorizations = (options: Options) => {
  const { database, clock } = options
  const issueCodeInside = createIssueCode(options)
  const { liveNow } = createSessionLife(options)
  const moments = () => ({ live: liveNow(), clockOffset: clock.offset() })
  const refreshTokens = createRefreshTokenTexts(options.refreshTokenKeys)

  const { endReused } = createEndAuthorizations(options)
  const grantOf = createGrantOf(options.profileFields)
  const parts = { database, clock, refreshTokens, moments, endReused, grantOf }

  return {
    issueCode: (holder: TokenHolder, requested: Requested) =>
      database.transaction((sql) => issueCodeInside(sql, holder, requested)),
    /** In a transaction that holds no row but the user's. */
    issueCodeInside,

    redeem: createRedeemCode(parts),
    refresh: createExchangeRefreshToken(parts),

    /** What UserInfo answers; undefined if the access token has expired or what it stands for has ended. */
    subjectOf: async (accessToken: string) => {
      const [row] = await tokenStore.selectByAccessToken(database, fingerprint(accessToken), moments())
      return row && grantOf(row, accessToken, row.scopes)
    },

    /** A refresh token with all access tokens that came with it, or one access token. That of another application stays. */
    revoke: async (application: Pick<Application, 'id'>, token: string) => {
      const claims = refreshTokens.read(token)
      if (claims) await tokenStore.deleteTokens(database, claims.tid, application.id)
      else await tokenStore.deleteAccessToken(database, fingerprint(token), application.id)
    },
  }
}
