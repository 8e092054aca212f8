import { Type } from 'typebox'
import { refuse } from '../../contract/outcome.js'
import { Account } from '../../contract/schemas.js'
import type { Users } from '../../domain/users/users.js'
import type { Callers } from '../../http/caller.js'
import type { Limits } from '../../http/limits.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'

const { responses, sendRefusal } = routeRefusals('not_authenticated', 'too_many_requests', 'unavailable')

const schema = {
  tags: ['who am I'],
  summary: 'The stored user',
  response: { 200: Type.Object({ user: Account }), ...responses },
}

type Dependencies = { callers: Callers; users: Users; limits: Limits }

export const accountRoutes = (server: Server, { callers, users, limits }: Dependencies) => {
  server.get(
    '/api/auth/account',
    { schema, onRequest: [callers.required, limits.bySession] },
    async (request, reply) => {
      const user = await users.findById(callers.of(request).userId)
      if (!user || user.disabled) return sendRefusal(reply, refuse('not_authenticated'))
      const { id, email, username, name, provider, providers } = user
      const hasPassword = user.passwordHash !== undefined
      return reply.send({
        user: { id, email, username, name, provider, providers, hasPassword, createdAt: user.createdAt.toISOString() },
      })
    },
  )
}
