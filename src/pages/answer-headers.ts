import { type RefusalCode, refusals } from '../contract/refusals.js'
import type { RouteFacts } from '../sessions/guards.js'

/** The headers that several answers have, under the names by which the document refers to them. */
const sharedHeaders = {
  RequestId: ['X-Request-Id', 'The id of the request in the log of the service', 'string'],
  RetryAfter: ['Retry-After', 'Seconds to wait before the next try', 'integer'],
  RateLimit: [
    'RateLimit',
    'What is left of the limit, and the seconds until it is whole again: "login";r=4;t=900',
    'string',
  ],
  RateLimitPolicy: ['RateLimit-Policy', 'The limit and its window in seconds: "login";q=5;w=900', 'string'],
  RateLimitLimit: ['RateLimit-Limit', 'The limit', 'integer'],
  RateLimitRemaining: ['RateLimit-Remaining', 'What is left of the limit', 'integer'],
  RateLimitReset: ['RateLimit-Reset', 'Seconds until the limit is whole again', 'integer'],
  SessionCookies: ['Set-Cookie', 'access_token and refresh_token, both HttpOnly and SameSite=Strict', 'string'],
  Location: ['Location', 'The address to go to', 'string'],
  WwwAuthenticate: [
    'WWW-Authenticate',
    'Bearer; with the missing scope if the key is right but may not do this',
    'string',
  ],
} as const satisfies Record<string, readonly [header: string, description: string, type: string]>

type HeaderName = keyof typeof sharedHeaders

export const headerComponents = Object.fromEntries(
  Object.entries(sharedHeaders).map(([name, [, description, type]]) => [name, { description, schema: { type } }]),
)

const limitHeaderNames: HeaderName[] = [
  'RateLimit',
  'RateLimitPolicy',
  'RateLimitLimit',
  'RateLimitRemaining',
  'RateLimitReset',
]

type AnswerFacts = { status: number; signsIn: boolean; codes: readonly RefusalCode[] }

const headerNamesFor = (facts: RouteFacts, { status, signsIn, codes }: AnswerFacts): HeaderName[] => {
  const hasRetryAfter =
    status === 429 || codes.some((code) => code === 'too_many_mails' || 'retryAfter' in refusals[code])
  return [
    ...(signsIn ? (['SessionCookies'] as const) : []),
    ...(status >= 300 && status < 400 ? (['Location'] as const) : []),
    ...(hasRetryAfter ? (['RetryAfter'] as const) : []),
    ...(status === 429 ? limitHeaderNames : []),
    ...((status === 401 || status === 403) && facts.serviceScope ? (['WwwAuthenticate'] as const) : []),
  ]
}

/** References to the headers of an answer that follow from its route and its status. */
export const headersFor = (facts: RouteFacts, answer: AnswerFacts) =>
  Object.fromEntries(
    headerNamesFor(facts, answer).map((name) => [sharedHeaders[name][0], { $ref: `#/components/headers/${name}` }]),
  )
