import { Type } from 'typebox'
import { isRefused } from '../contract/outcome.js'
import { byProvider, type ProviderId, providerPath } from '../contract/providers.js'
import { NoContent } from '../contract/schemas.js'

import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { AttemptCookies } from '../http/tab-cookies.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'

import { type PendingLinkCookie, withCookies, withHeaders } from '../sign-in/answers.js'

import type { createLink } from './link.js'
import type { createUnlink } from './unlink.js'

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

type Dependencies = {
  guards: Guards
  link: ReturnType<typeof createLink>
  unlink: ReturnType<typeof createUnlink>
  attemptCookies: AttemptCookies
  pendingLinkCookie: PendingLinkCookie
  callers: Callers
  /** The redirect URI of each configured provider. */
  redirectUris: Readonly<Record<ProviderId, string>>
}

export const linkedProvidersRoutes = (server: Server, deps: Dependencies) => {
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
