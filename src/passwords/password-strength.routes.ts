import { Type } from 'typebox'
import { Strength } from '../contract/schemas.js'
import { clientOf } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Limits } from '../sessions/guards.js'
import type { Passwords } from './passwords.js'

const { responses, answer } = routeRefusals('bad_request', 'cross_site', 'too_many_requests', 'busy', 'unavailable')

const schema = {
  tags: ['passwords'],
  summary: 'How strong a password is, and which rules it breaks, before it is chosen',
  body: Type.Object({
    // The schema allows more than a password may have, so that the rules answer for a password that is too long.
    password: Type.String({ maxLength: 1024 }),
    username: Type.Optional(Type.String({ maxLength: 254 })),
    email: Type.Optional(Type.String({ maxLength: 254 })),
    name: Type.Optional(Type.String({ maxLength: 254 })),
  }),
  response: { 200: Strength, ...responses },
}

export const passwordStrengthRoutes = (
  server: Server,
  { passwords, limits }: { passwords: Passwords; limits: Limits },
) => {
  server.post('/api/auth/password-strength', { schema, onRequest: limits.byNetwork }, async (request, reply) => {
    const { password, ...person } = request.body
    return answer(reply, await passwords.check(password, person, clientOf(request)))
  })
}
