import swagger from '@fastify/swagger'
import type { Callers } from '../../http/caller.js'
import type { Csrf } from '../../http/csrf.js'
import type { Server } from '../../http/server.js'
import { withNamedSchemas } from './named-schemas.js'
import { operationId, securityOf } from './operations.js'

const document = {
  openapi: '3.1.0',
  info: {
    title: 'Latchkey',
    version: '1',
    description:
      'A self-hosted authentication service. Tokens travel in cookies that no script can read; unsafe methods take JSON from our own pages only.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'PUBLIC_URL of the installation' }],
  components: {
    securitySchemes: {
      accessToken: { type: 'apiKey', in: 'cookie', name: 'access_token', description: 'Set by every sign-in' },
      refreshToken: { type: 'apiKey', in: 'cookie', name: 'refresh_token', description: 'Set by every sign-in' },
      csrfToken: {
        type: 'apiKey',
        in: 'header',
        name: 'X-CSRF-Token',
        description: 'From GET /api/auth/csrf-token, which also sets the cookie that it belongs to',
      },
    },
  },
} as const

type Dependencies = { callers: Callers; csrf: Csrf }

/** Must come before the other routes: the document is made of those that are registered after it. */
export const apiDocumentRoutes = async (server: Server, { callers, csrf }: Dependencies) => {
  await server.register(swagger, {
    openapi: { ...document, servers: [...document.servers] },
    transform: ({ schema, url, route }) => {
      if (schema?.hide) return { schema, url }
      const gates = [route.onRequest ?? []].flat()
      const gated = { byAccessToken: gates.includes(callers.required), byCsrfToken: gates.includes(csrf.required) }
      return { schema: { security: securityOf(gated), operationId: operationId(route), ...schema }, url }
    },
  })
  server.get('/api/openapi.json', { schema: { hide: true } }, async () => withNamedSchemas(server.swagger()))
}
