import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { MadePersonalToken, NewPersonalToken, PersonalTokens } from '../contract/personal-tokens.js'
import { NoContent } from '../contract/schemas.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import { uuidPattern } from '../lib/uuid.js'
import type { App } from '../service/open-http.js'
import { personalTokenBody } from './personal-token-body.js'

const tag = 'account'

export const ownTokensRoutes = (server: Server, { guards, callers, personalTokens, users }: App) => {
  route(server, 'GET /api/auth/tokens', {
    guard: guards.read,
    tag,
    summary: 'The personal tokens of the caller, and the applications that a new one can open',
    refuses: ['not_authenticated'],
    answers: { 200: PersonalTokens },
    handle: async ({ request }) => {
      const user = await users.findEnabled(callers.of(request).userId)
      if (!user) return refuse('not_authenticated')
      const tokens = await personalTokens.list(user.id)
      return { tokens: tokens.map(personalTokenBody), applications: personalTokens.applicationsFor(user) }
    },
  })

  route(server, 'POST /api/auth/tokens', {
    guard: guards.sensitive,
    tag,
    summary: 'Make a token with which a program enters applications behind a proxy. It is shown once',
    body: NewPersonalToken,
    refuses: ['bad_request', 'too_many_tokens'],
    answers: { 201: MadePersonalToken },
    handle: ({ body, request }) => personalTokens.make(callers.contextOf(request), body),
  })

  route(server, 'DELETE /api/auth/tokens/:id', {
    guard: guards.change,
    tag,
    summary: 'End a personal token, within two seconds at every instance',
    params: Type.Object({ id: Type.String({ pattern: uuidPattern }) }),
    refuses: ['not_found'],
    answers: { 204: NoContent },
    handle: async ({ params: { id }, request }) => {
      const ended = await personalTokens.end(callers.contextOf(request), id)
      return isRefused(ended) ? ended : undefined
    },
  })
}
