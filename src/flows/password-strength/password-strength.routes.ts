import { Type } from 'typebox'
import { refuse } from '../../contract/outcome.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import { ErrorBody, sendRefusal } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import type { Server } from '../../http/server.js'

const schema = {
  tags: ['passwords'],
  summary: 'How strong a password is, and which rules it breaks, before it is chosen',
  body: Type.Object({
    // Longer than any password may be, so that one that is too long is told so in the words of the rules.
    password: Type.String({ maxLength: 1024 }),
    username: Type.Optional(Type.String({ maxLength: 254 })),
    email: Type.Optional(Type.String({ maxLength: 254 })),
    name: Type.Optional(Type.String({ maxLength: 254 })),
  }),
  response: {
    200: Type.Object({
      strength: Type.Object({
        score: Type.Integer({ minimum: 0, maximum: 4 }),
        feedback: Type.Array(Type.String()),
        isStrong: Type.Boolean(),
      }),
      validation: Type.Object({ valid: Type.Boolean(), errors: Type.Array(Type.String()) }),
    }),
    400: ErrorBody,
    403: ErrorBody,
    429: ErrorBody,
    503: ErrorBody,
  },
}

export const passwordStrengthRoutes = (
  server: Server,
  { passwords, limits }: { passwords: Passwords; limits: Pick<Limits, 'open'> },
) => {
  server.post('/api/auth/password-strength', { schema, onRequest: limits.open }, async (request, reply) => {
    const { password, ...person } = request.body
    const checked = await passwords.check(password, person)
    return 'refused' in checked ? sendRefusal(reply, refuse('busy')) : reply.send(checked)
  })
}
