import { refuse } from '../../contract/outcome.js'
import { Caller, NoContent } from '../../contract/schemas.js'
import type { Callers } from '../../http/caller.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'

const { responses } = routeRefusals('not_authenticated')

const meSchema = {
  tags: ['who am I'],
  summary: 'Who the caller is, from the access token alone',
  response: { 200: Caller, ...responses },
}
const verifySchema = {
  tags: ['who am I'],
  summary: 'The same for a reverse proxy: 204 with X-Auth-User-Id and X-Auth-Username, or 401',
  response: { 204: NoContent, ...responses },
}

export const accessCheckRoutes = (server: Server, { callers }: { callers: Callers }) => {
  const quiet = { quiet: true }
  // For a proxy, a request from another site is one without cookies: the proxy then sends the user to the login page.
  const verifyConfig = { quiet: true, crossSite: refuse('not_authenticated') }

  server.get('/api/auth/me', { schema: meSchema, onRequest: callers.required, config: quiet }, async (request) => {
    const { userId, username, sessionId, expiresAt } = callers.of(request)
    return { user: { id: userId, username }, sessionId, expiresAt: expiresAt.toISOString() }
  })

  server.get(
    '/api/auth/verify',
    { schema: verifySchema, onRequest: callers.required, config: verifyConfig },
    async (request, reply) => {
      const { userId, username } = callers.of(request)
      // A header can hold only Latin-1 characters, so names are percent-encoded.
      return reply
        .headers({ 'X-Auth-User-Id': userId, 'X-Auth-Username': encodeURIComponent(username) })
        .status(204)
        .send()
    },
  )
}
