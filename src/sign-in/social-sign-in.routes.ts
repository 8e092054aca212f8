import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { byProvider, type ProviderId, signInPath } from '../contract/providers.js'

import { safeReturnTo } from '../contract/return-to.js'
import type { Cookies } from '../http/cookies.js'
import { clientOf } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { AttemptCookies } from '../http/tab-cookies.js'
import { StoreUnavailable } from '../platform/database/database.js'
import type { Attempts } from '../providers/attempts.js'
import type { Providers } from '../providers/providers.js'

import type { Limits } from '../sessions/guards.js'
import { comesFromAnotherSite, type SignInCookies } from '../sessions/session-cookies.js'

import type { Email } from '../users/names.js'
import type { Ceilings } from './ceilings.js'
import type { PendingLinkCookie } from './pending-link-cookie.js'
import { failureUrl, loginWithProvider, redirectFor } from './redirects.js'
import { withHeaders } from './responses.js'
import type { ReturnToNotes } from './return-to-notes.js'
import type { SocialSignIn } from './social-sign-in.js'

const Redirected = withHeaders(Type.Null({ description: 'To the provider, or to one of our pages' }), {
  'Set-Cookie':
    'attempt_… on the way to the provider; on the way back access_token and refresh_token, or challenge if the account asks for a second proof',
})

const beginSchema = {
  tags: ['social sign-in'],
  summary: 'Go to the provider to sign in',
  querystring: Type.Object({
    returnTo: Type.Optional(
      Type.String({
        description: 'A path of this site or a page of ALLOWED_ORIGINS; otherwise AFTER_SIGN_IN',
      }),
    ),
    fresh: Type.Optional(
      Type.Literal('true', {
        description:
          'Whether the provider is asked that its user proves again who they are, so that the session is fresh',
      }),
    ),
  }),
  response: { 303: Redirected, ...routeRefusals('bad_request', 'too_many_requests').responses },
}
const callbackSchema = {
  tags: ['social sign-in'],
  summary: 'Come back from the provider',
  response: { 303: Redirected, ...routeRefusals('too_many_requests').responses },
}

type Dependencies = {
  providers: Providers
  attempts: Attempts
  attemptCookies: AttemptCookies
  pendingLinkCookie: PendingLinkCookie
  socialSignIn: SocialSignIn
  signInCookies: SignInCookies
  cookies: Cookies
  limits: Limits
  ceilings: Pick<Ceilings, 'findExcessOfProven'>
  /** The redirect URI of each provider. */
  redirectUris: Record<ProviderId, string>
  allowedOrigins: readonly string[]
  /** The page after a sign-in, if no other page was requested. */
  afterSignIn: string
  noteReturnTo: ReturnToNotes
}

type CallbackRoute = { id: ProviderId; redirectUri: string }

export const socialSignInRoutes = (server: Server, deps: Dependencies) => {
  for (const [id, redirectUri] of byProvider(deps.redirectUris)) {
    const path = signInPath(id)
    const options = {
      onRequest: deps.limits.beforeSignIn.provider,
      onSend: redirectLimited({ id, redirectUri }, deps.attemptCookies),
      // The callback uses up the attempt, which a HEAD request must not do.
      exposeHeadRoute: false,
    }
    server.get(path, { schema: beginSchema, ...options }, async (request, reply) => {
      deps.noteReturnTo(request)
      if (comesFromAnotherSite(request)) return askFirst(id, deps, reply, request.query.returnTo)
      return begin(id, deps, request, reply, request.query)
    })
    const config = { countsIn: ['total_registrations'] as const }
    server.get(`${path}/callback`, { schema: callbackSchema, config, ...options }, (request, reply) =>
      handleCallback({ id, redirectUri }, deps, request, reply),
    )
  }
}

const goTo = (reply: FastifyReply, destination: string) =>
  reply.header('cache-control', 'no-store').redirect(destination, 303)

/** A browser that the limiter refuses gets a redirect to a page, and not the JSON body for programs. */
const redirectLimited =
  ({ id, redirectUri }: CallbackRoute, attemptCookies: AttemptCookies) =>
  async (request: FastifyRequest, reply: FastifyReply, body: unknown) => {
    if (reply.statusCode !== 429 || !request.headers.accept?.includes('text/html')) return body
    const attempt = attemptOf(request, callbackOf(request, redirectUri), attemptCookies)
    const page = attempt?.purpose.kind === 'link' ? attempt.returnTo : '/login'
    reply.status(303).removeHeader('content-type')
    reply.headers({ location: failureUrl(page, id, 'too_many_requests'), 'cache-control': 'no-store' })
    return ''
  }

/**
 * A page of another site may lead here, and a provider at which the user is signed in asks nothing. The visitor would be signed in
 * without doing anything, so the login page asks for a press on the button.
 */
const askFirst = (
  id: ProviderId,
  { allowedOrigins }: Dependencies,
  reply: FastifyReply,
  returnTo: string | undefined,
) => goTo(reply, loginWithProvider(id, safeReturnTo(returnTo, allowedOrigins)))

const begin = async (
  id: ProviderId,
  { providers, attempts, attemptCookies, signInCookies, socialSignIn, afterSignIn, allowedOrigins }: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { returnTo, fresh }: { returnTo?: string; fresh?: 'true' },
) => {
  const destination = safeReturnTo(returnTo, allowedOrigins) ?? afterSignIn
  const attempt = attempts.begin(id, destination, { kind: 'sign_in' }, signInCookies.visitOf(request))
  const address =
    (await providers[id]?.begin(attempt, { asksAgain: fresh === 'true' })) ??
    refuse('failed', { cause: 'switched_off' })
  if (isRefused(address)) {
    await socialSignIn.noteFailure(id, address.cause, clientOf(request))
    return goTo(reply, failureUrl('/login', id))
  }
  attemptCookies.keep(request, reply, attempt)
  return goTo(reply, address.href)
}

const handleCallback = async (
  { id, redirectUri }: CallbackRoute,
  deps: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
) => {
  const { providers, attemptCookies, signInCookies, pendingLinkCookie, socialSignIn, cookies, ceilings } = deps
  const visit = signInCookies.visitOf(request)
  const callback = callbackOf(request, redirectUri)
  const attempt = attemptOf(request, callback, attemptCookies)
  const provider = providers[id]
  // An attempt at one provider is never finished with the answer of another.
  if (!provider || !attempt || attempt.provider !== id) {
    await socialSignIn.noteFailure(id, 'no_attempt', visit.client)
    return goTo(reply, failureUrl('/login', id))
  }
  // If the provider is on the same site, the browser sends the cookie of known devices, which is newer than the copy in the attempt.
  const sentDevices = signInCookies.knownDevicesIn(request)
  const knownDevices = sentDevices.length > 0 ? sentDevices : attempt.knownDevices
  const earlierSession = visit.earlierSession ?? attempt.earlierSession
  const mayCreate = async (email: Email) => (await ceilings.findExcessOfProven(email, request)) === undefined
  const outcome = await socialSignIn.finish({
    ...visit,
    knownDevices,
    earlierSession,
    provider,
    callback,
    attempt,
    mayCreate,
  })
  if (isRefused(outcome)) {
    if (outcome.refused === 'callback_failed') logFault(request, outcome.error)
  } else if ('issued' in outcome) cookies.setNewSession(reply, outcome.issued)
  else if ('challenge' in outcome) signInCookies.setChallenge(reply, outcome.challenge)
  else
    pendingLinkCookie.keep(reply, {
      provider: id,
      linker: outcome.linker,
      state: attempt.state,
      profile: outcome.profile,
    })
  attemptCookies.clear(reply, attempt)
  return goTo(reply, redirectFor(outcome, attempt))
}

/** The callback address that the provider knows, with the query of the request. Never from the `Host` header. */
const callbackOf = (request: FastifyRequest, redirectUri: string) => {
  const callback = new URL(redirectUri)
  const [, ...query] = request.url.split('?')
  callback.search = query.join('?')
  return callback
}

const attemptOf = (request: FastifyRequest, callback: URL, attemptCookies: AttemptCookies) => {
  const [state, ...furtherStates] = callback.searchParams.getAll('state')
  return state === undefined || furtherStates.length > 0 ? undefined : attemptCookies.find(request, state)
}

const logFault = (request: FastifyRequest, error: unknown) => {
  const level = error instanceof StoreUnavailable ? 'warn' : 'error'
  request.log[level]({ requestId: request.id, err: error }, 'a sign-in with a provider could not be completed')
}
