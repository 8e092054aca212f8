import { createHmac } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../contract/outcome.js'
import type { Cookies } from '../http/cookies.js'
import { sendRefusal } from '../http/errors.js'
import { guardHook } from '../http/route.js'
import { equalInConstantTime, type Key, randomToken } from '../lib/random.js'
import type { Callers } from './callers.js'
import type { SignInCookies } from './session-cookies.js'

const cookieName = 'csrf_secret'
const secretShape = /^[\w-]{43}$/
const tokenShape = /^([\w-]{43})\.([\w-]{43})$/

export type Csrf = ReturnType<typeof createCsrf>

/**
 * A token is a nonce and an HMAC over it, the secret in its own cookie and the session, or the sign-in that waits. A sibling
 * host that plants a secret does not have our key, and a token of one session is not valid in another.
 */
export const createCsrf = (keys: readonly Key[], cookies: Cookies, callers: Callers, signInCookies: SignInCookies) => {
  const challengeBindingOf = (request: FastifyRequest) => {
    const challenge = signInCookies.challengeOf(request)
    return challenge === undefined ? undefined : `challenge ${challenge}`
  }
  const bindingOf = (request: FastifyRequest) => callers.sessionOf(request) ?? challengeBindingOf(request) ?? ''

  const secretOf = (request: FastifyRequest) => {
    const secret = cookies.read(request, cookieName)
    return secret && secretShape.test(secret) ? secret : undefined
  }

  const signature = (key: Key, binding: string, secret: string, nonce: string) =>
    createHmac('sha256', key).update(`${nonce}.${secret}.${binding}`).digest()

  const isValid = (request: FastifyRequest, binding = bindingOf(request)) => {
    const secret = secretOf(request)
    const header = request.headers['x-csrf-token']
    const [, nonce, mac] = tokenShape.exec(typeof header === 'string' ? header : '') ?? []
    if (!secret || !nonce || !mac) return false
    const macBytes = Buffer.from(mac, 'base64url')
    return keys.some((key) => equalInConstantTime(signature(key, binding, secret, nonce), macBytes))
  }

  return {
    /**
     * A token for this browser's secret, which is created if there is none yet. The token is bound to the session. With `forChallenge`,
     * or without a session, it is bound to the sign-in that waits.
     */
    issue: (request: FastifyRequest, reply: FastifyReply, forChallenge: boolean) => {
      const binding = (forChallenge ? challengeBindingOf(request) : undefined) ?? bindingOf(request)
      const existing = secretOf(request)
      const secret = existing ?? randomToken()
      if (!existing) cookies.set(reply, cookieName, secret)
      const nonce = randomToken()
      const [newest] = keys
      if (!newest) throw new Error('There is no key to sign CSRF tokens with')
      return `${nonce}.${signature(newest, binding, secret, nonce).toString('base64url')}`
    },
    required: guardHook({ byCsrfToken: true }, ['invalid_csrf_token', 'cross_site'], async (request, reply) =>
      isValid(request) ? undefined : sendRefusal(reply, refuse('invalid_csrf_token')),
    ),
    /** Whether the request has a token that is bound to its session. */
    isOfSession: (request: FastifyRequest) => {
      const session = callers.sessionOf(request)
      return session !== undefined && isValid(request, session)
    },
    /** Whether the request has a token that is bound to its sign-in that waits. */
    isOfChallenge: (request: FastifyRequest) => {
      const binding = challengeBindingOf(request)
      return binding !== undefined && isValid(request, binding)
    },
  }
}
