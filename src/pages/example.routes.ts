import { Type } from 'typebox'
import { refuse } from '../contract/outcome.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Callers } from '../sessions/callers.js'
import type { Csrf } from '../sessions/csrf.js'
import type { Guards } from '../sessions/guards.js'
import type { Content } from './content.js'

const Summary = Type.Object({
  slug: Type.String(),
  title: Type.String(),
  updatedAt: Type.String({ format: 'date-time' }),
})
const Page = Type.Object({ ...Summary.properties, body: Type.String() })

const listRefusals = routeRefusals('not_authenticated', 'too_many_requests', 'unavailable')
const pageRefusals = routeRefusals('not_authenticated', 'not_found', 'too_many_requests', 'unavailable')

const listSchema = {
  tags: ['content'],
  summary: 'The protected content, without bodies',
  response: { 200: Type.Object({ content: Type.Array(Summary) }), ...listRefusals.responses },
}
const pageSchema = {
  tags: ['content'],
  summary: 'One page of the protected content',
  params: Type.Object({ slug: Type.String({ minLength: 1, maxLength: 200 }) }),
  response: { 200: Page, ...pageRefusals.responses },
}

type Dependencies = { guards: Guards; content: Content }

export const contentRoutes = (server: Server, { guards, content }: Dependencies) => {
  const onRequest = guards.read

  server.get('/api/content', { schema: listSchema, onRequest }, async () => {
    const pages = await content.list()
    return {
      content: pages.map(({ slug, title, updatedAt }) => ({ slug, title, updatedAt: updatedAt.toISOString() })),
    }
  })

  server.get('/api/content/:slug', { schema: pageSchema, onRequest }, async (request, reply) => {
    const found = await content.find(request.params.slug)
    if (!found) return pageRefusals.sendRefusal(reply, refuse('not_found'))
    const { slug, title, body, updatedAt } = found
    return reply.send({ slug, title, body, updatedAt: updatedAt.toISOString() })
  })
}

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
