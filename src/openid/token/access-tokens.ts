import { type Application, clientIdOf } from '../../applications/applications.js'
import { isGeneration, isId, isMoment } from '../../contract/access-claims.js'
import type { SignToken } from '../../keys/signed-token.js'
import type { Clock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'
import { randomToken } from '../../lib/random.js'
import { epochSeconds } from '../../sessions/issue-tokens.js'
import { type Grant, resourceTokenLifetime } from './grants.js'
import { userInfoOf } from './user-claims.js'

/** What a check needs of an access token for a resource. */
export type ResourceTokenClaims = {
  aud: string
  sub: string
  client_id: string
  sid: string
  gen: number
  iat: number
  exp: number
  scopes: readonly string[]
}

type Dependencies = {
  applicationKeys: { sign: SignToken; readAccess(token: string): Promise<Record<string, unknown> | undefined> }
  clock: Clock
  issuer: string
}

/**
 * Signed access tokens for one resource (RFC 9068). Whoever has the published keys can check them, and Latchkey itself accepts none: they
 * have other keys and another issuer than the tokens of sessions.
 */
export const createAccessTokens = ({ applicationKeys, clock, issuer }: Dependencies) => ({
  /** The token of a grant: signed for its resource, or the random one for UserInfo. */
  issue: async (
    client: Pick<Application, 'id' | 'document'>,
    { resource, subject, content, sid, oldestGeneration, accessToken }: Grant,
  ) => {
    if (!resource) return accessToken
    const { authTime, secondFactor, acr = secondFactor ? '2' : '1', scopes } = content
    const iat = epochSeconds(clock.now())
    const claims = {
      iss: issuer,
      aud: resource.address,
      ...userInfoOf(subject, { scopes }),
      client_id: clientIdOf(client),
      scope: scopes.join(' '),
      sid,
      gen: oldestGeneration,
      jti: randomToken(),
      iat,
      exp: iat + resourceTokenLifetime / seconds,
      ...(authTime !== undefined && { auth_time: authTime }),
      acr,
    }
    return applicationKeys.sign(resource.algorithm, { typ: 'at+jwt', claims })
  },

  /** The claims of a token that we have signed and that has not expired. Whom it is for, and whether its session lives, is not checked. */
  read: async (token: string): Promise<ResourceTokenClaims | undefined> => {
    const claims = await applicationKeys.readAccess(token)
    if (!claims || claims.iss !== issuer) return undefined
    const { aud, sub, client_id, sid, gen, iat, exp, scope } = claims
    if (typeof aud !== 'string' || typeof client_id !== 'string' || typeof scope !== 'string') return undefined
    if (!isId(sub) || !isId(sid) || !isGeneration(gen) || !isMoment(iat) || !isMoment(exp)) return undefined
    if (exp <= epochSeconds(clock.now())) return undefined
    return { aud, sub, client_id, sid, gen, iat, exp, scopes: scope.split(' ').filter(Boolean) }
  },
})
