import { Type } from 'typebox'
import { refuse } from '../contract/outcome.js'
import { route } from '../http/route.js'
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

type Dependencies = { guards: Guards; content: Content }

export const contentRoutes = (server: Server, { guards, content }: Dependencies) => {
  route(server, 'GET /api/content', {
    guard: guards.read,
    tag: 'content',
    summary: 'The protected content, without bodies',
    refuses: [],
    answers: { 200: Type.Object({ content: Type.Array(Summary) }) },
    handle: async () => {
      const pages = await content.list()
      return {
        content: pages.map(({ slug, title, updatedAt }) => ({ slug, title, updatedAt: updatedAt.toISOString() })),
      }
    },
  })

  route(server, 'GET /api/content/:slug', {
    guard: guards.read,
    tag: 'content',
    summary: 'One page of the protected content',
    params: Type.Object({ slug: Type.String({ minLength: 1, maxLength: 200 }) }),
    refuses: ['not_found'],
    answers: { 200: Page },
    handle: async ({ params }) => {
      const found = await content.find(params.slug)
      if (!found) return refuse('not_found')
      const { slug, title, body, updatedAt } = found
      return { slug, title, body, updatedAt: updatedAt.toISOString() }
    },
  })
}

export const csrfExampleRoutes = (server: Server, { callers, csrf }: { callers: Callers; csrf: Csrf }) =>
  route(server, 'POST /api/sensitive', {
    guard: [callers.required, csrf.required],
    tag: 'request forgery',
    summary: "The specification's example of a route that checks the CSRF token: it echoes who called",
    refuses: ['unavailable'],
    answers: {
      200: Type.Object({ user: Type.Object({ id: Type.String({ format: 'uuid' }), username: Type.String() }) }),
    },
    config: { unlimited: 'An example that asks no store' },
    handle: async ({ request }) => {
      const { userId, username } = callers.of(request)
      return { user: { id: userId, username } }
    },
  })
