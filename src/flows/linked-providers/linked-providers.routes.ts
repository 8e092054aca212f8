import { Type } from 'typebox'
import type { Events } from '../../domain/events/events.js'
import { languageFrom } from '../../domain/mails/languages.js'
import type { Attempts } from '../../domain/providers/attempt.js'
import type { Providers } from '../../domain/providers/providers.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import { providerIds, type Users } from '../../domain/users/users.js'
import type { AttemptCookies } from '../../http/attempt-cookies.js'
import type { Callers } from '../../http/caller.js'
import { clientOf } from '../../http/client.js'
import type { Csrf } from '../../http/csrf.js'
import { type Answer, answers, ErrorBody, sendAnswer } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import type { PendingLinkCookie } from '../../http/pending-link-cookie.js'
import type { Server } from '../../http/server.js'
import type { FinishLink, LinkRefusal } from './finish-link.js'

type UnlinkRefusal = Exclude<Awaited<ReturnType<Users['unlinkProvider']>>, true>['refused']

const refusals: Record<UnlinkRefusal, Answer> = {
  last_way_in: { status: 409, error: 'Last way in', message: 'Add another way to sign in before you remove this one' },
  not_linked: answers.notFound,
}

const alreadyLinked: Answer = {
  status: 409,
  error: 'Already linked',
  message: 'Remove the account that is linked at this provider first',
}
const unreachable: Answer = {
  status: 503,
  error: 'Provider unavailable',
  message: 'The provider cannot be reached. Try again in a moment.',
  retryAfter: 5,
}

const linkRefused = (code: LinkRefusal | 'no_link', message: string): Answer => ({
  status: 409,
  error: 'Not linked',
  code,
  message,
})

const linkRefusals: Record<LinkRefusal, Answer> = {
  signed_out: linkRefused('signed_out', 'Another session began this. Start again from the account page.'),
  used_before: linkRefused('used_before', 'This was finished before'),
  disabled: linkRefused('disabled', 'This account cannot be used'),
  other_identity: linkRefused('other_identity', 'Another account at this provider is linked already'),
  identity_taken: linkRefused('identity_taken', 'This account at the provider belongs to another user'),
  email_taken: linkRefused('email_taken', 'The email address of this account belongs to another user'),
  registration_closed: linkRefused('registration_closed', 'Registration is closed'),
}
const nothingToLink = linkRefused('no_link', 'Nothing waits to be linked. Start again from the account page.')

/** Both are the account page. An application on the same host may have a /dashboard of its own. */
const accountPages = ['/dashboard', '/api/auth/account-page'] as const

const params = Type.Object({
  provider: Type.Union(providerIds.map((id) => Type.Literal(id.replace('_', '-')))),
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
    const id = idOf(request.params.provider)
    const provider = id && providers[id]
    if (!provider) return sendAnswer(reply, answers.notFound)
    const caller = callers.of(request)
    const { userId, sessionId } = caller
    // An access token outlives its session by minutes; a new way in may be added by a living session only.
    if (!(await sessions.isLive(caller))) return sendAnswer(reply, answers.notAuthenticated)
    const user = await users.findById(userId)
    if (!user || user.disabled) return sendAnswer(reply, answers.notAuthenticated)
    if (user.providers.includes(provider.id)) return sendAnswer(reply, alreadyLinked)
    const attempt = attempts.begin(provider.id, request.body.returnTo ?? '/dashboard', {
      kind: 'link',
      userId,
      sessionId,
    })
    const begun = await provider.begin(attempt)
    if (!(begun instanceof URL)) return sendAnswer(reply, unreachable)
    attemptCookies.keep(request, reply, attempt)
    return reply.send({ location: begun.href })
  })

  const finishPath = '/api/auth/providers/:provider/link/finish'
  server.post(finishPath, { schema: finishSchema, onRequest }, async (request, reply) => {
    const link = pendingLink.read(request)
    const caller = callers.of(request)
    if (!(await sessions.isLive(caller))) return sendAnswer(reply, answers.notAuthenticated)
    if (!link || link.provider !== idOf(request.params.provider)) return sendAnswer(reply, nothingToLink)
    pendingLink.clear(reply)
    const language = languageFrom(request.headers['accept-language'])
    const linked = await finishLink({ link, caller, client: clientOf(request), language })
    return linked === true ? reply.status(204).send(null) : sendAnswer(reply, linkRefusals[linked.refused])
  })

  server.delete('/api/auth/providers/:provider', { schema: unlinkSchema, onRequest }, async (request, reply) => {
    const id = idOf(request.params.provider)
    if (!id) return sendAnswer(reply, answers.notFound)
    const caller = callers.of(request)
    const { userId, sessionId } = caller
    if (!(await sessions.isLive(caller))) return sendAnswer(reply, answers.notAuthenticated)
    const unlinked = await users.unlinkProvider(userId, id)
    if (unlinked !== true) return sendAnswer(reply, refusals[unlinked.refused])
    await events.record({ kind: 'provider_unlinked', userId, sessionId, reason: id }, clientOf(request))
    return reply.status(204).send(null)
  })
}

const idOf = (path: string) => providerIds.find((id) => id.replace('_', '-') === path)
