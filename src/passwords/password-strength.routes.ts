import { Type } from 'typebox'
import { Strength } from '../contract/schemas.js'
import { clientOf } from '../http/request-origin.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Limits } from '../sessions/guards.js'
import type { Passwords } from './passwords.js'

const Chosen = Type.Object({
  // The schema allows more than a password may have, so that the rules answer for a password that is too long.
  password: Type.String({ maxLength: 1024 }),
  username: Type.Optional(Type.String({ maxLength: 254 })),
  email: Type.Optional(Type.String({ maxLength: 254 })),
  name: Type.Optional(Type.String({ maxLength: 254 })),
})

export const passwordStrengthRoutes = (
  server: Server,
  { passwords, limits }: { passwords: Passwords; limits: Limits },
) =>
  route(server, 'POST /api/auth/password-strength', {
    guard: [limits.byNetwork],
    tag: 'passwords',
    summary: 'How strong a password is, and which rules it breaks, before it is chosen',
    body: Chosen,
    refuses: ['bad_request', 'cross_site', 'too_many_requests', 'busy', 'unavailable'],
    answers: { 200: Strength },
    handle: async ({ body: { password, ...person }, request }) => passwords.check(password, person, clientOf(request)),
  })
