import { clientNetwork } from '../client.js'
import type { CountedRequests } from './counted-requests.js'
import { limitHook } from './limit-hooks.js'
import type { RouteLimiters } from './limiter.js'

type Dependencies = { countedRequests: Pick<CountedRequests, 'count'>; routeLimiters: RouteLimiters }

/** In front of a new request of an application, which stores a row for any visitor. */
export const createAuthorizationLimit = ({ countedRequests, routeLimiters }: Dependencies) => {
  const limiter = routeLimiters.authorization_requests
  return limitHook({ names: [limiter.name], code: limiter.code }, (request, reply) =>
    countedRequests.count(limiter, clientNetwork(request), request, reply),
  )
}
