import type { ProtectedApplication } from '../applications/protected-applications.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Clock } from '../lib/clock.js'
import { minutes, seconds } from '../lib/durations.js'
import { fingerprint } from '../lib/random.js'
import { RecentMap } from '../lib/recent.js'
import type { OpenidProvider } from '../openid/openid-door.js'
import { metadataAddress, type ResourceAtHost, type ResourcesAtHosts } from '../openid/resources/resources-at-hosts.js'
import type { ResourceTokenClaims } from '../openid/token/access-tokens.js'
import type { ResourceUser } from '../openid/token/authorizations.js'
import { StoreUnavailable } from '../platform/database/database.js'
import type { EndedSessions } from '../sessions/ended-sessions.js'
import { entryRefusal } from './entry.js'
import { identityOf } from './identity-headers.js'

export type ResourceParts = {
  resourcesAtHosts: Pick<ResourcesAtHosts, 'isAny' | 'find'>
  openidProvider: Pick<OpenidProvider, 'open'>
  endedSessions: Pick<EndedSessions, 'refusesToken'>
  clock: Clock
}

/** A JWT as a bearer token. Other tokens are the application's. */
const signedToken = /^Bearer +(eyJ[\w-]+\.[\w-]+\.[\w-]+) *$/i

/** The signed token in the one value of `Authorization`. Of several values, one with such a token counts as a wrong one. */
export const signedTokenAmong = (values: readonly string[]) => {
  const given = values.map((value) => signedToken.exec(value)?.[1]).find((each) => each !== undefined)
  return given !== undefined && values.length > 1 ? '' : given
}

/** What a program is told that has no token, or a wrong one: where it can get one, and what to ask for (RFC 9728, 5.1; RFC 6750, 3). */
export const challengeOf = (resource: ResourceAtHost, error?: 'invalid_token' | 'insufficient_scope') =>
  [
    ...(error ? [`error="${error}"`] : []),
    `resource_metadata="${metadataAddress(resource)}"`,
    ...(resource.scopeNames.length > 0 ? [`scope="${resource.scopeNames.join(' ')}"`] : []),
  ].reduce((text, part, index) => `${text}${index === 0 ? ' ' : ', '}${part}`, 'Bearer')

type Known = { claims: ResourceTokenClaims; user: ResourceUser; askedAt: number }

const maxKnown = 10_000
const askAgainAfter = 1 * minutes

/**
 * Visitors of resources behind the proxy, with a token that we have signed for one resource. It decides alone: a session beside it helps
 * nobody in. Who its user is says the database, and then memory, for as long as the list of ended sessions has nothing about it.
 */
export const createResourceVisitors = ({ resourcesAtHosts, openidProvider, endedSessions, clock }: ResourceParts) => {
  const known = new RecentMap<string, Known>(maxKnown)
  const now = () => clock.now().getTime()

  const ask = async (token: string): Promise<Known | undefined> => {
    const askedAt = now()
    const openid = await openidProvider.open()
    const claims = await openid?.accessTokens.read(token)
    const user = claims && (await openid?.authorizations.userOfResourceToken(claims))
    return claims && user && { claims, user, askedAt }
  }

  const isOutdated = ({ claims: { sid, gen, sub: userId, iat, exp } }: Known) =>
    exp * seconds <= now() || endedSessions.refusesToken({ sid, gen, userId, iat })

  const find = async (token: string) => {
    const key = fingerprint(token).toString('base64')
    const remembered = known.get(key)
    if (remembered && isOutdated(remembered)) return undefined
    if (remembered && now() - remembered.askedAt < askAgainAfter) return remembered
    try {
      const found = await ask(token)
      if (found && !isOutdated(found)) known.set(key, found)
      else known.delete(key)
      return found && !isOutdated(found) ? found : undefined
    } catch (error) {
      if (remembered && error instanceof StoreUnavailable) return remembered
      throw error
    }
  }

  return {
    /** Whether signed tokens are ours to judge at this host. */
    isFor: (origin: string) => resourcesAtHosts.isAny(origin),
    resourceAt: resourcesAtHosts.find,
    /** Who enters with the token, as the values of the identity headers; or why nobody does. */
    judge: async (application: ProtectedApplication, resource: ResourceAtHost | undefined, token: string) => {
      const found = resource && token !== '' ? await find(token) : undefined
      if (!resource || !found || found.claims.aud !== resource.address)
        return refuse('not_authenticated', { challenge: resource && challengeOf(resource, 'invalid_token') })
      const { user, claims } = found
      const { scopes, client_id: clientId } = claims
      if (resource.scopeNames.length > 0 && !resource.scopeNames.some((scope) => scopes.includes(scope)))
        return refuse('token_refused', { challenge: challengeOf(resource, 'insufficient_scope') })
      // The program proves nothing by itself, so it is never fresh, and never two factors.
      const proof = { amr: ['pwd'], auth_time: 0 }
      const refusal = entryRefusal(application, { ...user, ...proof }, clock.now())
      if (isRefused(refusal)) return refuse(refusal.refused)
      return { identity: [...identityOf({ ...user, ...proof, sid: '' }), '', clientId, scopes.join(' ')] }
    },
  }
}
