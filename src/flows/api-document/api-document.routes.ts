import swagger from '@fastify/swagger'
import type { Server } from '../../http/server.js'
import { withNamedSchemas } from './named-schemas.js'

const document = {
  openapi: '3.1.0',
  info: {
    title: 'Latchkey',
    version: '1',
    description:
      'A self-hosted authentication service. Tokens travel in cookies that no script can read; unsafe methods take JSON from our own pages only.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
}

/** Must come before the other routes: the document is made of those that are registered after it. */
export const apiDocumentRoutes = async (server: Server) => {
  await server.register(swagger, { openapi: document })
  server.get('/api/openapi.json', { schema: { hide: true } }, async () => withNamedSchemas(server.swagger()))
}
