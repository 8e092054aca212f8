import { type Resource, scopeNames } from './resource.js'

/** What the author of a server pastes, with `@latchkey/verify`. The values are JSON, which JavaScript reads as it is. */
export const guardLines = (resource: Resource, publicUrl: string) => {
  const { pathname } = new URL(resource.address)
  const paths = pathname === '/' ? '' : `[${JSON.stringify(pathname)}, guard.metadataPath], `
  return `import { resourceAuthOf, resourceGuard } from '@latchkey/verify/resource'

const guard = resourceGuard({
  publicUrl: ${JSON.stringify(publicUrl)},
  resource: ${JSON.stringify(resource.address)},
  scopes: ${JSON.stringify(scopeNames(resource))},
  // The key: latchkey service-key add mcp --scope revocations:read
  revocations: { serviceKey: process.env.LATCHKEY_SERVICE_KEY },
})
// For Express. guard.node, guard.hono, guard.fastify, guard.fetch and guard.next(handler) are the same.
app.use(${paths}guard.express)
// resourceAuthOf(request) has the user, the program and its scopes.`
}
