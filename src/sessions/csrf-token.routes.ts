import { Type } from 'typebox'
import { refuse } from '../contract/outcome.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import { withHeaders } from '../sign-in/responses.js'
import type { Csrf } from './csrf.js'

const { responses, sendRefusal } = routeRefusals('bad_request', 'cross_site', 'unavailable')

const schema = {
  tags: ['request forgery'],
  summary: 'The token to send as X-CSRF-Token, and the cookie that it belongs to',
  querystring: Type.Object({
    for: Type.Optional(
      Type.Literal('challenge', {
        description: 'A token for the sign-in that waits for its next step, even if this browser has a session',
      }),
    ),
  }),
  response: {
    200: withHeaders(Type.Object({ csrfToken: Type.String() }), { 'Set-Cookie': 'csrf_secret, if there was none' }),
    ...responses,
  },
}

export const csrfTokenRoutes = (server: Server, { csrf }: { csrf: Csrf }) => {
  const config = { unlimited: 'Every form needs one, and the answer needs no store' }
  server.get('/api/auth/csrf-token', { schema, config, exposeHeadRoute: false }, async (request, reply) => {
    // `csrf_secret` is SameSite=Strict, so a navigation from another site comes without it. A new secret would replace the one in use.
    if (request.headers['sec-fetch-site'] === 'cross-site') return sendRefusal(reply, refuse('cross_site'))
    return reply.send({ csrfToken: csrf.issue(request, reply, request.query.for !== undefined) })
  })
}
