import { type Answer, jsonAnswer } from './answers.js'
import { type ApplicationTokenOptions, createApplicationTokens } from './application-tokens.js'
import { headerOf } from './cookies.js'
import type { BearerCheck, Incoming } from './guard.js'
import type { Verification, Verifier } from './verifier.js'

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

const checkWith =
  (verify: (token: string, verifier: Verifier) => Promise<Verification>): BearerCheck =>
  async (request, verifier) => {
    const token = tokenIn(request)
    if (token === undefined) return undefined
    const verified = await verify(token, verifier)
    if (verified.ok) return verified
    return { answer: verified.code === 'unavailable' ? jsonAnswer('unavailable') : refusedAnswer }
  }

/** Access tokens of Latchkey, as browsers have them in a cookie. */
export const accessTokens = () => checkWith((token, verifier) => verifier.verifyToken(token))

/** Access tokens that native applications got for their users, such as a command-line program by the device flow. */
export const applicationTokens = (options: ApplicationTokenOptions) => {
  const check = createApplicationTokens(options)
  return checkWith(check)
}
