import { Type } from 'typebox'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Callers } from '../sessions/callers.js'
import type { Csrf } from '../sessions/csrf.js'

const { responses } = routeRefusals('not_authenticated', 'invalid_csrf_token', 'cross_site', 'unavailable')

const schema = {
  tags: ['request forgery'],
  summary: "The specification's example of a route that checks the CSRF token: it echoes who called",
  response: {
    200: Type.Object({ user: Type.Object({ id: Type.String({ format: 'uuid' }), username: Type.String() }) }),
    ...responses,
  },
}

export const csrfExampleRoutes = (server: Server, { callers, csrf }: { callers: Callers; csrf: Csrf }) => {
  const config = { unlimited: 'An example that asks no store' }
  server.post('/api/sensitive', { schema, config, onRequest: [callers.required, csrf.required] }, async (request) => {
    const { userId, username } = callers.of(request)
    return { user: { id: userId, username } }
  })
}
