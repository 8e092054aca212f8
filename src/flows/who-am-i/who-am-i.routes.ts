import { type TSchema, Type } from 'typebox'
import type { Users } from '../../domain/users/users.js'
import type { Callers } from '../../http/caller.js'
import { answers, ErrorBody, sendAnswer } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import { NoContent } from '../../http/no-content.js'
import type { Server } from '../../http/server.js'

const Provider = Type.Union([Type.Literal('provider_a'), Type.Literal('provider_b')])
const Nullable = <Each extends TSchema>(each: Each) => Type.Union([each, Type.Null()])

const meSchema = {
  tags: ['who am I'],
  summary: 'Who the caller is, from the access token alone',
  response: {
    200: Type.Object({
      user: Type.Object({ id: Type.String({ format: 'uuid' }), username: Type.String() }),
      sessionId: Type.String({ format: 'uuid' }),
      expiresAt: Type.String({ format: 'date-time' }),
    }),
    401: ErrorBody,
  },
}
const verifySchema = {
  tags: ['who am I'],
  summary: 'The same for a reverse proxy: 204 with X-Auth-User-Id and X-Auth-Username, or 401',
  response: { 204: NoContent, 401: ErrorBody },
}
const accountSchema = {
  tags: ['who am I'],
  summary: 'The stored user',
  response: {
    200: Type.Object({
      user: Type.Object({
        id: Type.String({ format: 'uuid' }),
        email: Type.String(),
        username: Type.String(),
        name: Nullable(Type.String()),
        provider: Nullable(Provider),
        providers: Type.Array(Provider),
        hasPassword: Type.Boolean(),
        createdAt: Type.String({ format: 'date-time' }),
      }),
    }),
    401: ErrorBody,
    429: ErrorBody,
    503: ErrorBody,
  },
}

type Deps = { callers: Callers; users: Users; limits: Limits }

export const whoAmIRoutes = (server: Server, { callers, users, limits }: Deps) => {
  const quiet = { quiet: true }
  // To a proxy, a request from another site is one without cookies: it leads the person to the sign-in page.
  const verifyConfig = { quiet: true, crossSite: answers.notAuthenticated }

  server.get('/api/auth/me', { schema: meSchema, onRequest: callers.required, config: quiet }, async (request) => {
    const { userId, username, sessionId, expiresAt } = callers.of(request)
    return { user: { id: userId, username }, sessionId, expiresAt: expiresAt.toISOString() }
  })

  server.get(
    '/api/auth/verify',
    { schema: verifySchema, onRequest: callers.required, config: verifyConfig },
    async (request, reply) => {
      const { userId, username } = callers.of(request)
      // A header carries bytes and no letters beyond Latin: other names travel percent-encoded.
      return reply
        .headers({ 'X-Auth-User-Id': userId, 'X-Auth-Username': encodeURIComponent(username) })
        .status(204)
        .send()
    },
  )

  server.get(
    '/api/auth/account',
    { schema: accountSchema, onRequest: [callers.required, limits.caller] },
    async (request, reply) => {
      const user = await users.findById(callers.of(request).userId)
      if (!user || user.disabled) return sendAnswer(reply, answers.notAuthenticated)
      const { id, email, username, name, provider, providers } = user
      const hasPassword = user.passwordHash !== undefined
      return reply.send({
        user: { id, email, username, name, provider, providers, hasPassword, createdAt: user.createdAt.toISOString() },
      })
    },
  )
}
