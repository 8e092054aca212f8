import type { LimitCode } from '../contract/refusals.js'
import type { Limit } from '../platform/cache/cache.js'
import { type LimiterName, limiters } from './limiters.js'

export type Limiter = {
  name: LimiterName
  limit: Limit
  code: LimitCode
  refundsSuccess?: true
  /** Only an attempt that the service could not answer (5xx) is given back, by `refundFailure` of the route. */
  refundsFailure?: true
  /** Only a refusal has the headers of this limiter. Other answers keep the headers of another limiter of the route, such as `login`. */
  silent?: true
  /** A refusal says how long this limiter really waits, in `Retry-After` and in the body, instead of the fixed words of its code. */
  tellsWait?: true
  /** The sentence for programs, instead of the one for users. */
  protocolMessage?: string
}

/** The limits that come from the settings of the same names. */
export type RouteLimits = { login: Limit; general: Limit; sensitive: Limit }

export type RouteLimiters = ReturnType<typeof routeLimitersFor>

/** The limiters of the hooks in front of routes. The limiters of passwords and of successful sign-ins stand beside their hooks. */
export const routeLimitersFor = ({ login, general, sensitive }: RouteLimits) =>
  ({
    login: { name: 'login', limit: login, code: 'too_many_logins', refundsSuccess: true },
    confirm: { name: 'confirm', limit: login, code: 'too_many_requests', refundsSuccess: true },
    general: { name: 'general', limit: general, code: 'too_many_requests' },
    session: { name: 'session', limit: general, code: 'too_many_requests' },
    logout: { name: 'logout', limit: general, code: 'too_many_requests' },
    sensitive: { name: 'sensitive', limit: sensitive, code: 'too_many_attempts', refundsFailure: true },
    mailed_codes: { name: 'mailed_codes', limit: limiters.mailed_codes.limit, code: 'too_many_requests' },
    email_changes: { name: 'email_changes', limit: limiters.email_changes.limit, code: 'too_many_requests' },
    client_failures: {
      name: 'client_failures',
      limit: login,
      code: 'too_many_requests',
      protocolMessage:
        'Too many wrong secrets or ids of clients came from this network. Correct them: a right secret works at once',
    },
    administrators: { name: 'administrators', limit: limiters.administrators.limit, code: 'too_many_requests' },
    authorization_requests: {
      name: 'authorization_requests',
      limit: limiters.authorization_requests.limit,
      code: 'too_many_requests',
    },
    service: { name: 'service', limit: limiters.service.limit, code: 'too_many_requests' },
    service_revocations: {
      name: 'service_revocations',
      limit: limiters.service_revocations.limit,
      code: 'too_many_requests',
    },
    service_tokens: { name: 'service_tokens', limit: limiters.service_tokens.limit, code: 'too_many_requests' },
  }) as const satisfies Readonly<Record<string, Limiter>>
