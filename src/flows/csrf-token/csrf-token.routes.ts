import { Type } from 'typebox'
import { refuse } from '../../contract/outcome.js'
import type { Csrf } from '../../http/csrf.js'
import { ErrorBody, sendRefusal } from '../../http/errors.js'
import type { Server } from '../../http/server.js'

const schema = {
  tags: ['request forgery'],
  summary: 'The token to send as X-CSRF-Token, and the cookie that it belongs to',
  response: { 200: Type.Object({ csrfToken: Type.String() }), 403: ErrorBody },
}

export const csrfTokenRoutes = (server: Server, { csrf }: { csrf: Csrf }) => {
  server.get('/api/auth/csrf-token', { schema, exposeHeadRoute: false }, async (request, reply) => {
    // A navigation from another site comes without the Strict cookie: a new secret would replace the one in use.
    if (request.headers['sec-fetch-site'] === 'cross-site') return sendRefusal(reply, refuse('cross_site'))
    return reply.send({ csrfToken: csrf.issue(request, reply) })
  })
}
