import { type TSchema, Type } from 'typebox'
import { refuse } from '../../contract/outcome.js'
import { type ProviderId, providerIds } from '../../contract/providers.js'
import type { Users } from '../../domain/users/users.js'
import type { Callers } from '../../http/caller.js'
import { ErrorBody, sendRefusal } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import type { Server } from '../../http/server.js'

const Provider = Type.Unsafe<ProviderId>(Type.Union(providerIds.map((id) => Type.Literal(id))))
const Nullable = <Each extends TSchema>(each: Each) => Type.Union([each, Type.Null()])

const schema = {
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

type Dependencies = { callers: Callers; users: Users; limits: Limits }

export const accountRoutes = (server: Server, { callers, users, limits }: Dependencies) => {
  server.get('/api/auth/account', { schema, onRequest: [callers.required, limits.caller] }, async (request, reply) => {
    const user = await users.findById(callers.of(request).userId)
    if (!user || user.disabled) return sendRefusal(reply, refuse('not_authenticated'))
    const { id, email, username, name, provider, providers } = user
    const hasPassword = user.passwordHash !== undefined
    return reply.send({
      user: { id, email, username, name, provider, providers, hasPassword, createdAt: user.createdAt.toISOString() },
    })
  })
}
