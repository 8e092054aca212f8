import type { RouteOptions } from 'fastify'
import { adminRoleOf } from '../admin/admin-guard.js'
import type { AdminRole } from '../contract/admin/admin-bodies.js'
import type { LimitCode, RefusalCode } from '../contract/refusals.js'

import type { Freshness } from '../factors/freshness.js'
import type { LimiterName } from '../http/limiters.js'
import { limitersOfHook } from '../http/limits.js'

import type { ServiceCallers } from '../programs/service-callers.js'
import type { ServiceScope } from '../programs/service-keys.js'
import type { Enrolling } from '../sign-in/enrolling.js'
import type { Callers } from './caller.js'
import type { Csrf } from './csrf.js'
import type { Limits } from './limits.js'

/** The guards in front of the handler of a route: the API document and docs/api.md are made of them. */
export type RouteFacts = {
  method: string
  url: string
  /** Whether the route needs an access token. */
  byAccessToken: boolean
  /** Whether the route needs a CSRF token. */
  byCsrfToken: boolean
  /** Whether a sign-in that has to add a factor may call the route, too. */
  byEnrolment: boolean
  /** Whether the session must be fresh. */
  isSensitive: boolean
  /** The role that may call the route; undefined if it is no route of administrators. */
  adminRole: AdminRole | undefined
  /** The scope that the key of another program must have; undefined if the route takes no such key. */
  serviceScope: ServiceScope | undefined
  limiters: readonly LimiterName[]
  /** The reason why there are no limiters. */
  unlimited: string | undefined
  /** The refusals of the limiters among the hooks. */
  limitCodes: readonly LimitCode[]
  /** The refusal of a request from another site's page. */
  crossSite: RefusalCode
  /** Whether load balancers call the route. It answers in any state of the stores. */
  isProbe: boolean
}

export type Guards = ReturnType<typeof createGuards>

type Dependencies = {
  callers: Callers
  csrf: Csrf
  limits: Limits
  freshness: Freshness
  enrolling: Enrolling
  serviceCallers: ServiceCallers
}

/** The hooks of a route by one word. Those that ask a store come last, behind the limiter. */
export const createGuards = ({ callers, csrf, limits, freshness, enrolling, serviceCallers }: Dependencies) => {
  const changeLimitedBy = (limiter: Limits['bySession']) => [callers.required, csrf.required, limiter]
  const read = [callers.required, limits.bySession]
  const change = changeLimitedBy(limits.bySession)

  const factsOf = ({ method, url, onRequest = [], preHandler, config = {} }: RouteOptions): RouteFacts => {
    const hooks: unknown[] = [onRequest, preHandler ?? []].flat()
    const scope = hooks.map(serviceCallers.scopeOf).find((found) => found !== undefined)
    const hookLimiters = hooks.flatMap((hook) => limitersOfHook(hook) ?? [])
    const adminRole = adminRoleOf({ onRequest })
    const serviceLimiters: readonly LimiterName[] = scope ? [serviceCallers.limiterFor(scope), 'login'] : []
    return {
      method: String([method].flat()[0]),
      url,
      byAccessToken: hooks.includes(callers.required) || adminRole !== undefined,
      byCsrfToken: hooks.includes(csrf.required),
      byEnrolment: hooks.includes(enrolling.required),
      isSensitive: hooks.includes(freshness.required) || hooks.includes(enrolling.fresh),
      adminRole,
      serviceScope: scope,
      limiters: [
        ...new Set([...hookLimiters.flatMap(({ names }) => names), ...serviceLimiters, ...(config.countsIn ?? [])]),
      ],
      unlimited: config.unlimited,
      limitCodes: hookLimiters.map(({ code }) => code),
      crossSite: config.crossSite?.refused ?? 'cross_site',
      isProbe: config.probe ?? false,
    }
  }

  return {
    /** A signed-in user looks at something. */
    read,
    /** A signed-in user looks at something that a stolen session must not see. */
    sensitiveRead: [...read, freshness.required],
    /** A signed-in user changes something. */
    change,
    /** A signed-in user changes something, with another limiter than the general one. */
    changeLimitedBy,
    /** A change that a stolen session must not make. */
    sensitive: [...change, freshness.required],
    /** A factor is added, by a signed-in user or at a sign-in that cannot go on without one. */
    enrol: [enrolling.required, limits.bySessionOrNetwork, enrolling.fresh],
    /** Another program, with a key that has this scope. */
    service: serviceCallers.withScope,
    factsOf,
  }
}
