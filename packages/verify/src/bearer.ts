import { type Answer, jsonAnswer } from './answers.js'
import { type ApplicationTokenOptions, createApplicationTokens } from './application-tokens.js'
import type { Verified } from './claims.js'
import { headerOf } from './cookies.js'
import type { BearerCheck, Incoming } from './guard.js'
import type { Verifier, VerifyRefusal } from './verifier.js'

export type { ApplicationTokenOptions } from './application-tokens.js'
export type { BearerCheck } from './guard.js'

/** RFC 6750, 2.1. If there are two headers, Node keeps the first. If they were joined with a comma, neither counts. */
const bearerShape = /^Bearer +([\w.~+/-]+=*)$/i
/** Finds bearer tokens with odd spaces, too: a request that means one must not be identified by its cookie. */
const bearerIntent = /(?:^|,)[^\w]*Bearer\b/i

/** The token in the header, or an empty text if it has the wrong form. A header of another scheme, such as Basic, is ignored. */
const tokenIn = (request: Incoming) => {
  const header = headerOf(request, 'authorization')
  if (header === undefined || !bearerIntent.test(header)) return undefined
  return bearerShape.exec(header)?.[1] ?? ''
}

const refusedAnswer: Answer = jsonAnswer('not_authenticated', { 'www-authenticate': 'Bearer error="invalid_token"' })

type Refusal = { readonly ok: false; readonly code: VerifyRefusal | 'insufficient_scope' }

/** RFC 6750, 3.1. The service does not know this refusal, because only the API knows what it needs. */
const insufficientScope = (neededScopes: readonly string[]): Answer => {
  const words = { error: 'Insufficient scope', message: 'This program must ask its user for more' }
  const challenge = `Bearer error="insufficient_scope", scope="${neededScopes.join(' ')}"`
  return {
    ...jsonAnswer('group_required', { 'www-authenticate': challenge }),
    body: JSON.stringify({ code: 'insufficient_scope', ...words }),
  }
}

const answerTo = ({ code }: Refusal, neededScopes: readonly string[]) => {
  if (code === 'unavailable') return jsonAnswer(code)
  return code === 'insufficient_scope' ? insufficientScope(neededScopes) : refusedAnswer
}

const checkWith =
  (
    verify: (token: string, verifier: Verifier) => Promise<Verified | Refusal>,
    neededScopes: readonly string[] = [],
  ): BearerCheck =>
  async (request, verifier) => {
    const token = tokenIn(request)
    if (token === undefined) return undefined
    const verified = await verify(token, verifier)
    return verified.ok ? verified : { answer: answerTo(verified, neededScopes) }
  }

/** Access tokens of Latchkey, as browsers have them in a cookie. */
export const accessTokens = () => checkWith((token, verifier) => verifier.verifyToken(token))

/**
 * Access tokens that applications got for their users, such as a command-line program by the device flow. The application must have asked
 * for `profile`.
 */
export const applicationTokens = (options: ApplicationTokenOptions) => {
  const { check, neededScopes } = createApplicationTokens(options)
  return checkWith(check, neededScopes)
}
