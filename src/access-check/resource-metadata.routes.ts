import { Type } from 'typebox'
import { applicationIssuer } from '../applications/applications.js'
import { refuse } from '../contract/outcome.js'
import { createIsProxy } from '../http/errors.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { ResourcesAtHosts } from '../openid/resources/resources-at-hosts.js'
import { readOrigin } from './asked-request.js'

type MetadataParts = {
  resourcesAtHosts: Pick<ResourcesAtHosts, 'findDescribed'>
  config: { publicUrl: string; trustProxy: readonly string[] | undefined }
}

const Metadata = Type.Object(
  {
    resource: Type.String(),
    resource_name: Type.String(),
    authorization_servers: Type.Array(Type.String()),
    scopes_supported: Type.Array(Type.String()),
    bearer_methods_supported: Type.Array(Type.String()),
  },
  { title: 'ProtectedResourceMetadata' },
)

/**
 * The metadata of resources behind a proxy (RFC 9728), which leads these addresses of their hosts here: in a check, 200 would mean that
 * the visitor may enter. Any page may read them, and a program asks without a token.
 */
export const resourceMetadataRoutes = (server: Server, { resourcesAtHosts, config }: MetadataParts) => {
  const isProxy = createIsProxy(config.trustProxy)
  const shared = {
    hidden: true,
    guard: [],
    refuses: ['not_found'],
    config: { quiet: true, unlimited: 'Sent from memory', isAccessCheck: true, answersProxies: true },
  } as const

  for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/*'] as const) {
    route(server, `GET ${path}`, {
      ...shared,
      answers: { 200: Metadata },
      handle: async ({ request, reply }) => {
        const origin = isProxy(request.socket.remoteAddress) ? readOrigin(request.raw.rawHeaders) : undefined
        const { url = '' } = request.raw
        const asked = url.split('?', 1)[0] ?? ''
        const resource = origin === undefined ? undefined : resourcesAtHosts.findDescribed(origin, asked)
        if (!resource) return refuse('not_found')
        reply.headers({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'public, max-age=300' })
        return {
          resource: resource.address,
          resource_name: resource.name,
          authorization_servers: [applicationIssuer(config.publicUrl)],
          scopes_supported: [...resource.scopeNames],
          bearer_methods_supported: ['header'],
        }
      },
    })
    route(server, `OPTIONS ${path}`, {
      ...shared,
      answers: {},
      handle: async ({ reply }) =>
        reply
          .headers({
            'Access-Control-Allow-Origin': '*',
            'Access-Control-Allow-Methods': 'GET',
            'Access-Control-Allow-Headers': '*',
            'Access-Control-Max-Age': '600',
          })
          .status(204)
          .send(),
    })
  }
}
