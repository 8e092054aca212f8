import { Type } from 'typebox'
import { isRefused, refuse } from '../../contract/outcome.js'
import { providerByPath, providerIds, providerPath } from '../../contract/providers.js'
import type { Events } from '../../domain/events/events.js'
import { languageFrom } from '../../domain/mails/languages.js'
import type { Attempts } from '../../domain/providers/attempt.js'
import type { Providers } from '../../domain/providers/providers.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { Users } from '../../domain/users/users.js'
import type { AttemptCookies } from '../../http/attempt-cookies.js'
import type { Callers } from '../../http/caller.js'
import { clientOf } from '../../http/client.js'
import type { Csrf } from '../../http/csrf.js'
import { ErrorBody, sendRefusal } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import type { PendingLinkCookie } from '../../http/pending-link-cookie.js'
import type { Server } from '../../http/server.js'
import type { FinishLink } from './finish-link.js'

/** Both are the account page. An application on the same host may have a /dashboard of its own. */
const accountPages = ['/dashboard', '/api/auth/account-page'] as const

const params = Type.Object({
  provider: Type.Union(providerIds.map((id) => Type.Literal(providerPath(id)))),
})
const refused = { 400: ErrorBody, 401: ErrorBody, 403: ErrorBody, 404: ErrorBody, 409: ErrorBody }
const response = { ...refused, 429: ErrorBody, 503: ErrorBody }

const linkSchema = {
  tags: ['linked providers'],
  summary: 'Begin to link an account at a provider; the page goes to the location',
  params,
  body: Type.Object({ returnTo: Type.Optional(Type.Union(accountPages.map((page) => Type.Literal(page)))) }),
  response: { 200: Type.Object({ location: Type.String() }), ...response },
}
const finishSchema = {
  tags: ['linked providers'],
  summary: 'Link the account that was proven at the provider; needs the session that began it',
  params,
  response: { 204: Type.Null(), ...response },
}
const unlinkSchema = {
  tags: ['linked providers'],
  summary: 'Remove a linked provider, unless it is the last way in',
  params,
  response: { 204: Type.Null(), ...response },
}

type Dependencies = {
  providers: Providers
  attempts: Attempts
  attemptCookies: AttemptCookies
  pendingLink: PendingLinkCookie
  finishLink: FinishLink
  users: Users
  sessions: Sessions
  events: Events
  callers: Callers
  csrf: Csrf
  limits: Limits
}

export const linkedProvidersRoutes = (server: Server, deps: Dependencies) => {
  const { providers, attempts, attemptCookies, pendingLink, finishLink } = deps
  const { users, sessions, events, callers, csrf, limits } = deps
  const onRequest = [callers.required, csrf.required, limits.caller]

  server.post('/api/auth/providers/:provider/link', { schema: linkSchema, onRequest }, async (request, reply) => {
    const id = providerByPath(request.params.provider)
    const provider = id && providers[id]
    if (!provider) return sendRefusal(reply, refuse('not_found'))
    const caller = callers.of(request)
    const { userId, sessionId } = caller
    // An access token outlives its session by minutes; a new way in may be added by a living session only.
    if (!(await sessions.isLive(caller))) return sendRefusal(reply, refuse('not_authenticated'))
    const user = await users.findById(userId)
    if (!user || user.disabled) return sendRefusal(reply, refuse('not_authenticated'))
    if (user.providers.includes(provider.id)) return sendRefusal(reply, refuse('already_linked'))
    const attempt = attempts.begin(provider.id, request.body.returnTo ?? '/dashboard', {
      kind: 'link',
      userId,
      sessionId,
    })
    const begun = await provider.begin(attempt)
    if (!(begun instanceof URL)) return sendRefusal(reply, refuse('provider_unavailable'))
    attemptCookies.keep(request, reply, attempt)
    return reply.send({ location: begun.href })
  })

  const finishPath = '/api/auth/providers/:provider/link/finish'
  server.post(finishPath, { schema: finishSchema, onRequest }, async (request, reply) => {
    const link = pendingLink.read(request)
    const caller = callers.of(request)
    if (!(await sessions.isLive(caller))) return sendRefusal(reply, refuse('not_authenticated'))
    if (!link || link.provider !== providerByPath(request.params.provider))
      return sendRefusal(reply, refuse('nothing_to_link'))
    pendingLink.clear(reply)
    const language = languageFrom(request.headers['accept-language'])
    const linked = await finishLink({ link, caller, client: clientOf(request), language })
    return isRefused(linked) ? sendRefusal(reply, linked) : reply.status(204).send(null)
  })

  server.delete('/api/auth/providers/:provider', { schema: unlinkSchema, onRequest }, async (request, reply) => {
    const id = providerByPath(request.params.provider)
    if (!id) return sendRefusal(reply, refuse('not_found'))
    const caller = callers.of(request)
    const { userId, sessionId } = caller
    if (!(await sessions.isLive(caller))) return sendRefusal(reply, refuse('not_authenticated'))
    const unlinked = await users.unlinkProvider(userId, id)
    if (unlinked !== true)
      return sendRefusal(reply, refuse(unlinked.refused === 'last_way_in' ? 'last_way_in' : 'not_found'))
    await events.record({ kind: 'provider_unlinked', userId, sessionId, reason: id }, clientOf(request))
    return reply.status(204).send(null)
  })
}
