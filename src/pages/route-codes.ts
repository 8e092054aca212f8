import { isRefusalCode, type RefusalCode, refusalCodes } from '../contract/refusals.js'
import { routeRefusals } from '../http/route.js'
import type { RouteFacts } from '../sessions/guards.js'

const isSafe = ({ method }: RouteFacts) => method === 'GET' || method === 'HEAD'

/** Refusals that any request can get: the document has them once for all operations. */
export const anyRequestCodes: readonly RefusalCode[] = [
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

/** The refusals of the guards in front of the handler, whether the route names them or not. */
export const codesOfGuards = (facts: RouteFacts): RefusalCode[] => [
  'bad_request',
  ...(!isSafe(facts) || facts.url.startsWith('/api/') ? [facts.crossSite] : []),
  ...((facts.byAccessToken && !facts.adminRole) || facts.byEnrolment || facts.serviceScope
    ? (['not_authenticated'] as const)
    : []),
  ...(facts.adminRole ? (['not_found', 'fresh_sign_in_required'] as const) : []),
  ...(facts.adminRole === 'admin' ? (['group_required'] as const) : []),
  ...(facts.byCsrfToken || facts.byEnrolment ? (['invalid_csrf_token'] as const) : []),
  ...(facts.isSensitive ? (['fresh_sign_in_required'] as const) : []),
  ...(facts.serviceScope ? (['scope_required', 'too_many_requests', 'too_many_logins'] as const) : []),
  ...(facts.url.includes('/:') ? (['not_found'] as const) : []),
  ...facts.limitCodes,
  ...(facts.isProbe ? [] : (['unavailable'] as const)),
]

export type Responses = Readonly<
  Record<string, { readonly 'x-response-description'?: string; readonly headers?: object }>
>

/** The codes of an answer, from its description. */
export const codesIn = (description: string | undefined): RefusalCode[] =>
  (description ?? '').split(', ').filter(isRefusalCode)

/** The refusals that a route names. */
export const refusalsOf = (ownResponses: Responses) =>
  Object.values(ownResponses).flatMap((response) => codesIn(response['x-response-description']))

/** The responses that a route names, with the refusals of its guards among its own. */
export const completeResponses = (ownResponses: Responses, facts: RouteFacts) => {
  const codes = new Set([...refusalsOf(ownResponses), ...codesOfGuards(facts)])
  // The codes are in the order of the table, so that answers with the same codes are equal.
  const { responses } = routeRefusals(...refusalCodes.filter((code) => codes.has(code)))
  const refusalResponses: Readonly<Record<string, object>> = responses
  const completed = Object.entries(ownResponses).map(([status, each]) => {
    const isRefusal = codesIn(each['x-response-description']).length > 0
    return [
      status,
      isRefusal ? { ...refusalResponses[status], ...(each.headers && { headers: each.headers }) } : each,
    ] as const
  })
  return { ...refusalResponses, ...Object.fromEntries(completed) }
}
