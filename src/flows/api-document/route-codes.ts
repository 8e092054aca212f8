import type { LimitCode } from '../../contract/limits.js'
import { isRefusalCode, type RefusalCode, refusalCodes } from '../../contract/refusals.js'
import type { ServiceScope } from '../../domain/service-keys/service-keys.js'
import { routeRefusals } from '../../http/route-refusals.js'

/** What stands in front of the handler of a route. */
export type RouteFacts = {
  method: string
  url: string
  byAccessToken: boolean
  byCsrfToken: boolean
  /** What the key of another program must be for; undefined if the route takes no such key. */
  serviceScope: ServiceScope | undefined
  /** The answers of its limiters. */
  limits: readonly LimitCode[]
  /** What a request from another site's page gets. */
  crossSite: RefusalCode
  /** Called by load balancers. It answers whatever state the stores are in. */
  isProbe: boolean
}

const isSafe = ({ method }: RouteFacts) => method === 'GET' || method === 'HEAD'

/** What any request can get: the document says it once for all operations. */
export const anyRequest: readonly RefusalCode[] = [
  'https_required',
  'not_found',
  'method_not_allowed',
  'too_large',
  'unsupported_media_type',
  'expectation_failed',
  'unknown_host',
  'headers_too_large',
  'internal',
]

/** The refusals of what stands in front of the handler, whether the route names them or not. */
const codesOfGates = (facts: RouteFacts): RefusalCode[] => [
  'bad_request',
  ...(!isSafe(facts) || facts.url.startsWith('/api/') ? [facts.crossSite] : []),
  ...(facts.byAccessToken || facts.serviceScope ? (['not_authenticated'] as const) : []),
  ...(facts.byCsrfToken ? (['invalid_csrf_token'] as const) : []),
  ...(facts.serviceScope ? (['scope_required', 'too_many_requests', 'too_many_logins'] as const) : []),
  ...(facts.url.includes('/:') ? (['not_found'] as const) : []),
  ...facts.limits,
  ...(facts.isProbe ? [] : (['unavailable'] as const)),
]

export type Responses = Readonly<
  Record<string, { readonly 'x-response-description'?: string; readonly headers?: object }>
>

/** The codes of an answer, from its description. */
export const codesIn = (description: string | undefined): RefusalCode[] =>
  (description ?? '').split(', ').filter(isRefusalCode)

/** The responses that a route names, with the refusals of its gates among its own. */
export const completeResponses = (named: Responses, facts: RouteFacts) => {
  const own = Object.values(named).flatMap((response) => codesIn(response['x-response-description']))
  const codes = new Set([...own, ...codesOfGates(facts)])
  // In the order of the table, so that answers with the same codes are equal.
  const { responses } = routeRefusals(...refusalCodes.filter((code) => codes.has(code)))
  const refused: Readonly<Record<string, object>> = responses
  const kept = Object.entries(named).map(([status, each]) => {
    const isRefusal = codesIn(each['x-response-description']).length > 0
    return [status, isRefusal ? { ...refused[status], ...(each.headers && { headers: each.headers }) } : each] as const
  })
  return { ...refused, ...Object.fromEntries(kept) }
}
