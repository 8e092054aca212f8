import { fastify, type RouteOptions } from 'fastify'
import type { Callers } from '../../http/caller.js'
import type { Csrf } from '../../http/csrf.js'
import { compileSchemasWhenNeeded } from '../../http/schema-compilers.js'
import type { Server } from '../../http/server.js'
import type { ServiceCallers } from '../../http/service-callers.js'
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
      serviceKey: { type: 'http', scheme: 'bearer', description: 'From latchkey service-key add NAME' },
    },
  },
} as const

type Dependencies = { callers: Callers; csrf: Csrf; serviceCallers: ServiceCallers }

/**
 * The library collects routes while they are registered, so it gets a server of its own, to which the routes are added again
 * without their handlers. It is loaded and does its work when the document is first asked for.
 */
const createDocument = async (routes: readonly RouteOptions[], { callers, csrf, serviceCallers }: Dependencies) => {
  const { default: swagger } = await import('@fastify/swagger')
  const server = fastify({ exposeHeadRoutes: false })
  compileSchemasWhenNeeded(server)
  await server.register(swagger, {
    openapi: { ...document, servers: [...document.servers] },
    transform: ({ schema, url, route }) => {
      if (schema?.hide) return { schema, url }
      const gates = [route.onRequest ?? []].flat()
      const gated = {
        byAccessToken: gates.includes(callers.required),
        byCsrfToken: gates.includes(csrf.required),
        byServiceKey: gates.includes(serviceCallers.required),
      }
      return { schema: { security: securityOf(gated), operationId: operationId(route), ...schema }, url }
    },
  })
  for (const { method, url, schema = {}, onRequest = [] } of routes)
    server.route({ method, url, schema, onRequest, handler: () => undefined })
  await server.ready()
  return withNamedSchemas(server.swagger())
}

/** Must come before the other routes: the document is made of those that are registered after it. */
export const apiDocumentRoutes = (server: Server, dependencies: Dependencies) => {
  const routes: RouteOptions[] = []
  server.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') routes.push(route)
  })
  let created: ReturnType<typeof createDocument> | undefined
  server.get('/api/openapi.json', { schema: { hide: true } }, () => {
    created ??= createDocument(routes, dependencies)
    return created
  })
}
