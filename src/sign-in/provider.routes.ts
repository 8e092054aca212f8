import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import {
  callbackFailed,
  linkingParameter,
  type PublicReason,
  providerParameter,
  publicReasons,
  signInFailed,
} from '../contract/pages.js'
import { providerPath, signInPath } from '../contract/provider-paths.js'
import { byProvider, type ProviderId } from '../contract/providers.js'
import { safeReturnTo } from '../contract/return-to.js'
import { type Client, clientOf } from '../http/request-origin.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { fingerprint } from '../lib/random.js'
import { StoreUnavailable } from '../platform/database/database.js'
import { type Attempt, type Linker, type Purpose, toSignIn } from '../providers/attempts.js'
import type { ResolvedAccount, ResolvingRefusal } from '../providers/identities.js'
import type { Profile, Provider, ProviderRefusal } from '../providers/provider.js'
import type { App } from '../service/open-http.js'
import { comesFromAnotherSite } from '../sessions/session-cookies.js'
import { type Browser, type Visit, wholeFacts } from '../sessions/session-facts.js'
import type { Email } from '../users/names.js'
import type { AttemptCookies } from './browser-cookies.js'
import type { SignInOutcome } from './new-sessions.js'

type SocialRefusal = ProviderRefusal['refused'] | ResolvingRefusal | 'too_many_requests' | 'used_before'

/**
 * Either signed in, or a second proof is needed, or an identity was proven: then the session that began the link has to
 * finish it.
 */
type Finished = SignInOutcome | { profile: Profile; linker: Linker }

type Outcome = Finished | Refused<SocialRefusal> | (Refused<'callback_failed'> & { error: unknown })

type CallbackVisit = Browser & {
  provider: Provider
  callback: URL
  attempt: Attempt
  mayCreate: (email: Email) => Promise<boolean>
}

/** Records an answer without an attempt of this browser, or a provider that could not be reached. */
const noteFailure = ({ events }: App, provider: ProviderId, cause: string, client: Client) =>
  events.record({ kind: 'sign_in_failed', provider, triedBy: provider, reason: cause }, client)

const recordFailure = async (
  app: App,
  { provider, client }: CallbackVisit,
  refused: SocialRefusal,
  cause: string = refused,
) => {
  await noteFailure(app, provider.id, cause, client)
  return refuse(refused)
}

const signIn = async (
  { events, signIns }: App,
  { provider, client, ...browser }: CallbackVisit,
  purpose: Extract<Purpose, { kind: 'sign_in' }>,
  { subject, provenAt }: Profile,
  resolved: ResolvedAccount,
) => {
  const { user, how, waitingLink, usedInvitation } = resolved
  if (usedInvitation) await events.record({ kind: 'invitation_used', userId: user.id, provider: provider.id }, client)
  const identity = { provider: provider.id, subject }
  const isLinkWaiting = waitingLink !== undefined
  const visit: Visit = {
    client,
    trustedDevices: browser.trustedDevices,
    facts: wholeFacts(purpose.facts),
    // If the provider is on the same site, the browser sends its cookies, which are newer than the copies in the attempt.
    knownDevices: browser.knownDevices?.length ? browser.knownDevices : (purpose.knownDevices ?? undefined),
    earlierSession: browser.earlierSession ?? purpose.earlierSession ?? undefined,
  }
  return signIns.byProvider(user, { identity, provenAt, isNew: how === 'create', isLinkWaiting }, visit)
}

/** The second half of a sign-in at a provider: the browser is back with an answer. */
const finish = async (app: App, visit: CallbackVisit): Promise<Finished | Refused<SocialRefusal>> => {
  const { provider, callback, attempt, client, mayCreate } = visit
  // The attempt is marked as used before the code is exchanged, so that only one of several answers to it continues.
  const isFirst = await app.oneTimeTokens.useOnce('provider_attempt', fingerprint(attempt.state), attempt.expiresAt)
  if (!isFirst) return recordFailure(app, visit, 'used_before')
  const profile = await provider.finish(callback, attempt)
  if (isRefused(profile)) return recordFailure(app, visit, profile.refused, profile.cause)
  const { purpose } = attempt
  if (purpose.kind === 'link') {
    const { userId, sessionId } = purpose
    // The browser sends no Strict cookies from the provider's site, so the session is not known here.
    return { profile, linker: { userId, sessionId } }
  }
  const resolved = await app.identities.resolve({
    provider: provider.id,
    profile,
    client,
    mustWait: app.signIns.needsSecondStep,
    mayCreate,
  })
  return isRefused(resolved)
    ? recordFailure(app, visit, resolved.refused)
    : signIn(app, visit, purpose, profile, resolved)
}

/**
 * A failure at the provider is a refusal, a failure on our side is `callback_failed`. No exception is thrown, so that the browser always
 * gets a page.
 */
const finishSafely = (app: App, visit: CallbackVisit): Promise<Outcome> =>
  finish(app, visit).catch((error: unknown) => refuse('callback_failed', { error }))

const publicReasonOf = (refused: SocialRefusal): PublicReason | undefined =>
  publicReasons.find((reason) => reason === refused)

const failureUrl = (page: string, provider: ProviderId, reason?: PublicReason) =>
  `${page}?error=${signInFailed(provider)}${reason === undefined ? '' : `&reason=${reason}`}`

/** The sign-in page with the button of this provider in focus. */
const loginWithProvider = (provider: ProviderId, returnTo: string | undefined) => {
  const query = new URLSearchParams({ [providerParameter]: providerPath(provider) })
  if (returnTo !== undefined) query.set('returnTo', returnTo)
  return `/login?${query}`
}

const secondFactorPage = (returnTo: string) => `/second-factor?returnTo=${encodeURIComponent(returnTo)}`

/** The page at the end of a sign-in. */
const redirectFor = (outcome: Outcome, { provider, purpose, returnTo }: Attempt): string => {
  const isLinking = purpose.kind === 'link'
  const page = isLinking ? returnTo : '/login'
  if (isRefused(outcome))
    return outcome.refused === 'callback_failed'
      ? `${page}?error=${callbackFailed}`
      : failureUrl(page, provider, publicReasonOf(outcome.refused))
  if ('issued' in outcome) return returnTo
  if ('pending' in outcome) return secondFactorPage(returnTo)
  // The page finishes the link with a request of its own, which carries the session cookie.
  return `${page}?${linkingParameter}=${provider}`
}

const Redirected = withHeaders(Type.Null({ description: 'To the provider, or to one of our pages' }), {
  'Set-Cookie':
    'attempt_… on the way to the provider; on the way back access_token and refresh_token, or challenge if the account asks for a second proof',
})

const beginQuery = Type.Object({
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
})

type CallbackRoute = { id: ProviderId; redirectUri: string }

/** These answer with redirects to pages, also when they refuse. */
export const socialSignInRoutes = (server: Server, app: App) => {
  const { limits, noteReturnTo } = app
  for (const [id, redirectUri] of byProvider(app.redirectUris)) {
    const path = signInPath(id)
    const shared = {
      guard: [limits.beforeSignIn.provider],
      tag: 'social sign-in',
      answers: { 303: Redirected },
      onSend: redirectLimited({ id, redirectUri }, app.attemptCookies),
      // The callback uses up the attempt, which a HEAD request must not do.
      exposeHeadRoute: false,
    }
    route(server, `GET ${path}`, {
      ...shared,
      summary: 'Go to the provider to sign in',
      query: beginQuery,
      refuses: ['bad_request', 'too_many_requests'],
      handle: async ({ query, request, reply }) => {
        noteReturnTo(request)
        if (comesFromAnotherSite(request)) return askFirst(id, app, reply, query.returnTo)
        return begin(id, app, request, reply, query)
      },
    })
    route(server, `GET ${path}/callback`, {
      ...shared,
      summary: 'Come back from the provider',
      refuses: ['too_many_requests'],
      config: { countsIn: ['total_registrations'] },
      handle: async ({ request, reply }) => handleCallback({ id, redirectUri }, app, request, reply),
    })
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
const askFirst = (id: ProviderId, { config }: App, reply: FastifyReply, returnTo: string | undefined) =>
  goTo(reply, loginWithProvider(id, safeReturnTo(returnTo, config.allowedOrigins)))

const begin = async (
  id: ProviderId,
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  { returnTo, fresh }: { returnTo?: string; fresh?: 'true' },
) => {
  const { config, providers, attempts, attemptCookies, signInCookies } = app
  const destination = safeReturnTo(returnTo, config.allowedOrigins) ?? config.afterSignIn
  const attempt = attempts.begin(id, destination, toSignIn(signInCookies.visitOf(request, {})))
  const address =
    (await providers[id]?.begin(attempt, { asksAgain: fresh === 'true' })) ??
    refuse('failed', { cause: 'switched_off' })
  if (isRefused(address)) {
    await noteFailure(app, id, address.cause, clientOf(request))
    return goTo(reply, failureUrl('/login', id))
  }
  attemptCookies.keep(request, reply, attempt)
  return goTo(reply, address.href)
}

const handleCallback = async (
  { id, redirectUri }: CallbackRoute,
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
) => {
  const { providers, attemptCookies, signInCookies, pendingLinkCookie, cookies, ceilings } = app
  const browser = { ...signInCookies.browserOf(request), knownDevices: signInCookies.knownDevicesIn(request) }
  const callback = callbackOf(request, redirectUri)
  const attempt = attemptOf(request, callback, attemptCookies)
  const provider = providers[id]
  // An attempt at one provider is never finished with the answer of another.
  if (!provider || !attempt || attempt.provider !== id) {
    await noteFailure(app, id, 'no_attempt', browser.client)
    return goTo(reply, failureUrl('/login', id))
  }
  const mayCreate = async (email: Email) => (await ceilings.findExcessOfProven(email, request)) === undefined
  const outcome = await finishSafely(app, {
    ...browser,
    provider,
    callback,
    attempt,
    mayCreate,
  })
  if (isRefused(outcome)) {
    if (outcome.refused === 'callback_failed') logFault(request, outcome.error)
  } else if ('issued' in outcome) cookies.setNewSession(reply, outcome.issued)
  else if ('pending' in outcome) signInCookies.setChallenge(reply, outcome.pending)
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
