import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { providerPath } from '../contract/provider-paths.js'
import { byProvider, type ProviderId } from '../contract/providers.js'
import { NoContent } from '../contract/schemas.js'
import type { Client } from '../http/request-origin.js'
import { route, type Server, withHeaders } from '../http/route.js'
import { fingerprint } from '../lib/random.js'
import type { PendingLink } from '../providers/attempts.js'
import type { ResolvingRefusal } from '../providers/identities.js'
import type { App } from '../service/open-http.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionCaller } from '../sessions/sessions.js'

/** Begins a link. Returns the attempt, which the browser keeps, and the address to which the browser goes. */
const beginLink = async (
  { providers, attempts, users, sessionLookups }: App,
  id: ProviderId | undefined,
  caller: SessionCaller,
  returnTo: string,
) => {
  const provider = id && providers[id]
  if (!provider) return refuse('not_found')
  // An access token is valid for some minutes after its session has ended. Only a valid session may add a way to sign in.
  if (!(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
  const { userId, sessionId } = caller
  const user = await users.findEnabled(userId)
  if (!user) return refuse('not_authenticated')
  if (user.providers.includes(provider.id)) return refuse('already_linked')
  const attempt = attempts.begin(provider.id, returnTo, { kind: 'link', userId, sessionId })
  const location = await provider.begin(attempt)
  return isRefused(location) ? refuse('provider_unavailable') : { attempt, location }
}

type FinishRequest = { link: PendingLink; caller: SessionCaller; client: Client }

const noteFailure = ({ events }: App, { link, client }: FinishRequest, reason: string) =>
  events.record({ kind: 'sign_in_failed', provider: link.provider, triedBy: link.provider, reason }, client)

const refuseLink = async (app: App, request: FinishRequest, reason: ResolvingRefusal | 'used_before') => {
  await noteFailure(app, request, reason)
  return reason === 'invitation_required' || reason === 'email_domain_not_allowed'
    ? refuse('link_registration_closed')
    : refuse(`link_${reason}`)
}

/** Links an account at a provider to the caller's account. Only the session that began the link can finish it. */
const finishLink = async (app: App, request: FinishRequest) => {
  const { identities, oneTimeTokens } = app
  const { link, caller, client } = request
  const { provider, profile, state, linker, expiresAt } = link
  // A cookie that an attacker planted names the attacker's session.
  if (linker.sessionId !== caller.sessionId || linker.userId !== caller.userId) {
    await noteFailure(app, request, 'signed_out')
    return refuse('link_of_another_session')
  }
  const isFirst = await oneTimeTokens.useOnce('provider_attempt', fingerprint(`link ${state}`), expiresAt)
  if (!isFirst) return refuseLink(app, request, 'used_before')
  const resolved = await identities.resolve({ provider, profile, linkingTo: { caller, client }, client })
  if (!isRefused(resolved)) return undefined
  return resolved.refused === 'too_many_requests' ? resolved : refuseLink(app, request, resolved.refused)
}

/** Removes a linked provider, unless it is the last way to sign in. */
const unlink = async (
  { accountChanges, identityLinks, passkeys, providers }: App,
  context: CallerContext,
  provider: ProviderId | undefined,
) => {
  if (!provider) return refuse('not_found')
  const isConfigured = (id: ProviderId) => providers[id] !== undefined
  return accountChanges.byCaller(context, 'provider_unlinked', async (sql, user) => {
    const hasPasskey = (await passkeys.countUsable(sql, user.id)) > 0
    const refused = await identityLinks.unlinkProvider(sql, user, provider, { hasPasskey, isConfigured })
    if (refused) return refused.refused === 'not_linked' ? refuse('not_found') : refused
    const mail = { providerName: providers[provider]?.name ?? provider }
    return { changes: { provider_unlinked: { mail, event: { provider } } } }
  })
}

/** The two addresses of the account page. The second is for hosts on which an application has its own /dashboard. */
const accountPages = ['/dashboard', '/api/auth/account-page'] as const

const clearsLink = { 'Set-Cookie': 'Clears pending_link' }

export const linkedProvidersRoutes = (server: Server, app: App) => {
  const { guards, attemptCookies, pendingLinkCookie, callers, sessionLookups } = app
  const ids = byProvider(app.redirectUris).map(([id]) => id)
  const providerByPath = (path: string) => ids.find((id) => providerPath(id) === path)
  const params = Type.Object({ provider: Type.Union(ids.map((id) => Type.Literal(providerPath(id)))) })
  const tag = 'linked providers'

  route(server, 'POST /api/auth/providers/:provider/link', {
    guard: guards.sensitive,
    tag,
    summary: 'Begin to link an account at a provider; the page then goes to `location`',
    params,
    body: Type.Object({ returnTo: Type.Optional(Type.Union(accountPages.map((page) => Type.Literal(page)))) }),
    refuses: ['bad_request', 'not_found', 'already_linked', 'provider_unavailable'],
    answers: {
      200: withHeaders(Type.Object({ location: Type.String() }), {
        'Set-Cookie': 'attempt_…, which ties the attempt to this browser',
      }),
    },
    handle: async ({ body, params: { provider }, request, reply }) => {
      const returnTo = body.returnTo ?? '/dashboard'
      const linking = await beginLink(app, providerByPath(provider), callers.of(request), returnTo)
      if (isRefused(linking)) return linking
      attemptCookies.keep(request, reply, linking.attempt)
      return { location: linking.location.href }
    },
  })

  // No fresh session is needed here: only a fresh session could begin the link, a few minutes ago.
  route(server, 'POST /api/auth/providers/:provider/link/finish', {
    guard: guards.change,
    tag,
    summary: 'Link the account that was proven at the provider; needs the session that began it',
    params,
    refuses: [
      'bad_request',
      'not_found',
      'nothing_to_link',
      'link_of_another_session',
      'link_used_before',
      'link_disabled',
      'link_other_identity',
      'link_identity_taken',
      'link_email_taken',
      'link_registration_closed',
    ],
    refusalHeaders: { 401: clearsLink, 409: clearsLink },
    answers: { 204: withHeaders(NoContent, clearsLink) },
    handle: async ({ params: { provider }, request, reply }) => {
      const context = callers.contextOf(request)
      if (!(await sessionLookups.isLive(context.caller))) return refuse('not_authenticated')
      const link = pendingLinkCookie.read(request)
      if (!link || link.provider !== providerByPath(provider)) return refuse('nothing_to_link')
      pendingLinkCookie.clear(reply)
      return finishLink(app, { link, ...context })
    },
  })

  route(server, 'DELETE /api/auth/providers/:provider', {
    guard: guards.sensitive,
    tag,
    summary: 'Remove a linked provider, unless it is the last way in',
    params,
    refuses: ['bad_request', 'not_found', 'last_way_in'],
    answers: { 204: NoContent },
    handle: async ({ params: { provider }, request }) => {
      const unlinked = await unlink(app, callers.contextOf(request), providerByPath(provider))
      return isRefused(unlinked) ? unlinked : undefined
    },
  })
}
