import { Type } from 'typebox'
import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { byProvider, type ProviderId, providerPath } from '../contract/providers.js'
import { NoContent } from '../contract/schemas.js'
import type { Passkeys } from '../factors/passkeys.js'
import type { Client } from '../http/request-origin.js'
import { guardRefusals, routeRefusals, withCookies, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { fingerprint } from '../lib/random.js'
import type { Events } from '../messages/events.js'
import type { OneTimeTokens } from '../messages/one-time-tokens.js'
import type { Attempts, PendingLink } from '../providers/attempts.js'
import type { Identities, ResolvingRefusal } from '../providers/identities.js'
import type { IdentityLinks } from '../providers/identity-links.js'
import type { Providers } from '../providers/providers.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { SessionCaller } from '../sessions/sessions.js'
import type { AttemptCookies, PendingLinkCookie } from '../sign-in/answers.js'
import type { Users } from '../users/users.js'

type LinkDependencies = {
  providers: Providers
  attempts: Attempts
  users: Users
  sessionLookups: SessionLookups
  identities: Identities
  oneTimeTokens: OneTimeTokens
  events: Events
}
type BeginRequest = { provider: ProviderId | undefined; caller: SessionCaller; returnTo: string }
type WaitingRequest = { provider: ProviderId | undefined; caller: SessionCaller; link: PendingLink | undefined }
type FinishRequest = { link: PendingLink; caller: SessionCaller; client: Client }

/** Links an account at a provider to the caller's account. Only the session that began the link can finish it. */
export const createLink = (deps: LinkDependencies) => {
  const { providers, attempts, users, sessionLookups, identities, oneTimeTokens, events } = deps

  /** Returns the attempt, which the browser keeps, and the address to which the browser goes. */
  const begin = async ({ provider: id, caller, returnTo }: BeginRequest) => {
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

  /** The pending link of this browser, if the caller may finish it. */
  const findWaiting = async ({ provider, caller, link }: WaitingRequest) => {
    if (!(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
    return link && link.provider === provider ? link : refuse('nothing_to_link')
  }

  const noteFailure = ({ link, client }: FinishRequest, reason: string) =>
    events.record({ kind: 'sign_in_failed', provider: link.provider, triedBy: link.provider, reason }, client)

  const refuseLink = async (request: FinishRequest, reason: ResolvingRefusal | 'used_before') => {
    await noteFailure(request, reason)
    return reason === 'invitation_required' || reason === 'email_domain_not_allowed'
      ? refuse('link_registration_closed')
      : refuse(`link_${reason}`)
  }

  const finish = async (request: FinishRequest) => {
    const { link, caller, client } = request
    const { provider, profile, state, linker, expiresAt } = link
    // A cookie that an attacker planted names the attacker's session.
    if (linker.sessionId !== caller.sessionId || linker.userId !== caller.userId) {
      await noteFailure(request, 'signed_out')
      return refuse('link_of_another_session')
    }
    const isFirst = await oneTimeTokens.useOnce('provider_attempt', fingerprint(`link ${state}`), expiresAt)
    if (!isFirst) return refuseLink(request, 'used_before')
    const resolved = await identities.resolve({ provider, profile, linkingTo: { caller, client }, client })
    if (!isRefused(resolved)) return undefined
    return resolved.refused === 'too_many_requests' ? resolved : refuseLink(request, resolved.refused)
  }

  return { begin, findWaiting, finish }
}

type UnlinkDependencies = {
  accountChanges: AccountChanges
  identityLinks: IdentityLinks
  passkeys: Passkeys
  providers: Providers
}

/** Removes a linked provider, unless it is the last way to sign in. */
export const createUnlink = ({ accountChanges, identityLinks, passkeys, providers }: UnlinkDependencies) => {
  const isConfigured = (id: ProviderId) => providers[id] !== undefined

  return async (context: CallerContext, provider: ProviderId | undefined) => {
    if (!provider) return refuse('not_found')
    return accountChanges.byCaller(context, 'provider_unlinked', async (sql, user) => {
      const hasPasskey = (await passkeys.countUsable(sql, user.id)) > 0
      const refused = await identityLinks.unlinkProvider(sql, user, provider, { hasPasskey, isConfigured })
      if (refused) return refused.refused === 'not_linked' ? refuse('not_found') : refused
      const mail = { providerName: providers[provider]?.name ?? provider }
      return { changes: { provider_unlinked: { mail, event: { provider } } } }
    })
  }
}

const linkRefusals = routeRefusals(
  ...guardRefusals,
  'fresh_sign_in_required',
  'bad_request',
  'not_found',
  'already_linked',
  'provider_unavailable',
)
const finishRefusals = routeRefusals(
  ...guardRefusals,
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
)
const unlinkRefusals = routeRefusals(
  ...guardRefusals,
  'fresh_sign_in_required',
  'bad_request',
  'not_found',
  'last_way_in',
)

/** The two addresses of the account page. The second is for hosts on which an application has its own /dashboard. */
const accountPages = ['/dashboard', '/api/auth/account-page'] as const

const clearsLink = 'Clears pending_link'

const schemasFor = (paths: readonly string[]) => {
  const params = Type.Object({ provider: Type.Union(paths.map((path) => Type.Literal(path))) })
  const tags = ['linked providers']
  return {
    link: {
      tags,
      summary: 'Begin to link an account at a provider; the page then goes to `location`',
      params,
      body: Type.Object({ returnTo: Type.Optional(Type.Union(accountPages.map((page) => Type.Literal(page)))) }),
      response: {
        200: withHeaders(Type.Object({ location: Type.String() }), {
          'Set-Cookie': 'attempt_…, which ties the attempt to this browser',
        }),
        ...linkRefusals.responses,
      },
    },
    finish: {
      tags,
      summary: 'Link the account that was proven at the provider; needs the session that began it',
      params,
      response: {
        204: withHeaders(NoContent, { 'Set-Cookie': clearsLink }),
        ...withCookies(finishRefusals.responses, { 401: clearsLink, 409: clearsLink }),
      },
    },
    unlink: {
      tags,
      summary: 'Remove a linked provider, unless it is the last way in',
      params,
      response: { 204: NoContent, ...unlinkRefusals.responses },
    },
  }
}

type LinkedProvidersRouteDependencies = {
  guards: Guards
  link: ReturnType<typeof createLink>
  unlink: ReturnType<typeof createUnlink>
  attemptCookies: AttemptCookies
  pendingLinkCookie: PendingLinkCookie
  callers: Callers
  /** The redirect URI of each configured provider. */
  redirectUris: Readonly<Record<ProviderId, string>>
}

export const linkedProvidersRoutes = (server: Server, deps: LinkedProvidersRouteDependencies) => {
  const { guards, link, unlink, attemptCookies, pendingLinkCookie, callers } = deps
  const ids = byProvider(deps.redirectUris).map(([id]) => id)
  const providerByPath = (path: string) => ids.find((id) => providerPath(id) === path)
  const schemas = schemasFor(ids.map(providerPath))
  const path = '/api/auth/providers/:provider'

  server.post(`${path}/link`, { schema: schemas.link, onRequest: guards.sensitive }, async (request, reply) => {
    const provider = providerByPath(request.params.provider)
    const returnTo = request.body.returnTo ?? '/dashboard'
    const linking = await link.begin({ provider, caller: callers.of(request), returnTo })
    if (isRefused(linking)) return linkRefusals.sendRefusal(reply, linking)
    attemptCookies.keep(request, reply, linking.attempt)
    return reply.send({ location: linking.location.href })
  })

  // No fresh session is needed here: only a fresh session could begin the link, a few minutes ago.
  server.post(`${path}/link/finish`, { schema: schemas.finish, onRequest: guards.change }, async (request, reply) => {
    const provider = providerByPath(request.params.provider)
    const caller = callers.of(request)
    const waiting = await link.findWaiting({ provider, caller, link: pendingLinkCookie.read(request) })
    if (isRefused(waiting)) return finishRefusals.sendRefusal(reply, waiting)
    pendingLinkCookie.clear(reply)
    const refusal = await link.finish({ link: waiting, ...callers.contextOf(request) })
    return finishRefusals.answer(reply, refusal, 204)
  })

  server.delete(path, { schema: schemas.unlink, onRequest: guards.sensitive }, async (request, reply) => {
    const provider = providerByPath(request.params.provider)
    const unlinked = await unlink(callers.contextOf(request), provider)
    return isRefused(unlinked) ? unlinkRefusals.sendRefusal(reply, unlinked) : reply.status(204).send()
  })
}
