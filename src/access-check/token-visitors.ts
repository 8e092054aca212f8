import type { ProtectedApplication } from '../applications/protected-applications.js'
import type { AccessClaims } from '../contract/access-claims.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { fixedLimiter, limiterKey } from '../http/limiters.js'
import type { Clock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'
import type { KnownToken } from '../personal-tokens/known-tokens.js'
import { takesTokens } from '../personal-tokens/personal-tokens.js'
import { type GivenToken, tokenIn } from '../personal-tokens/token-text.js'
import { createMemoryCache } from '../platform/cache/memory.js'
import { entryRefusal } from './entry.js'
import { identityOf } from './identity-headers.js'
import type { VisitorHeaders } from './visitor-headers.js'

export type TokenParts = {
  knownTokens: { find: (text: string) => Promise<KnownToken | undefined> }
  config: { personalTokens: 'on' | 'off' }
  clock: Clock
  metrics: { countRejection?: (limiter: string) => void } | undefined
}

/** A token is one proof, and never a fresh one. */
type TokenClaims = Pick<AccessClaims, 'userId' | 'username' | 'email' | 'sid' | 'amr' | 'auth_time'> &
  Partial<Pick<AccessClaims, 'name' | 'groups'>>

const claimsOf = ({ user: { id: userId, username, name, email, groups } }: KnownToken): TokenClaims => ({
  userId,
  username,
  ...(name !== null && { name }),
  email,
  groups,
  sid: '',
  amr: ['pwd'],
  auth_time: 0,
})

/** The one value of `Authorization`, and the token of ours in it. Of several values, one with a token refuses all. */
export const tokenAmong = (values: readonly string[]): GivenToken | undefined => {
  const given = values.map(tokenIn).find((each) => each !== undefined)
  return given && values.length > 1 ? { token: '', scheme: 'other' } : given
}

export const authorizationsIn = (rawHeaders: readonly string[]) =>
  rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'authorization')

/** Many programs send a password only when they are asked for one. In a browser the question would open a dialog. */
export const asksForToken = (application: ProtectedApplication, headers: VisitorHeaders, isOn: boolean) =>
  isOn &&
  takesTokens(application) &&
  !Object.keys(headers).some((name) => name.startsWith('sec-fetch-')) &&
  !String(headers.accept ?? '').includes('text/html')

const limiter = fixedLimiter('token_failures')
const maxNetworks = 10_000

/** Visitors of applications with a personal token. The token decides alone: a session beside it helps nobody in. */
export const createTokenVisitors = ({ knownTokens, config, clock, metrics }: TokenParts) => {
  const failures = createMemoryCache({ clock, maximumKeys: maxNetworks })

  const countFailure = async (network: string) => {
    const { granted, resetsIn } = await failures.reserve(limiterKey('token_failures', network), limiter.limit)
    if (granted) return refuse('not_authenticated')
    metrics?.countRejection?.('token_failures')
    return refuse('too_many_requests', { retryAfter: Math.max(1, Math.ceil(resetsIn / seconds)) })
  }

  return {
    isOn: config.personalTokens === 'on',
    /** Who enters with the token, as the values of the identity headers; or why nobody does. */
    judge: async (
      application: ProtectedApplication,
      { token: text, scheme }: GivenToken,
      { headers, network }: { headers: VisitorHeaders; network: string },
    ) => {
      if (config.personalTokens === 'off') return refuse('not_authenticated')
      // A browser adds a password by itself, also to requests that another site causes.
      if (scheme === 'basic' && headers['sec-fetch-site'] === 'cross-site') return refuse('not_authenticated')
      const token = await knownTokens.find(text)
      if (!token) return countFailure(network)
      if (!application.tokens || !token.applications.includes(application.id)) return refuse('token_refused')
      const claims = claimsOf(token)
      const refusal = entryRefusal(application, claims, clock.now())
      if (isRefused(refusal)) return refuse(refusal.refused)
      return { identity: [...identityOf(claims), token.id] }
    },
  }
}
