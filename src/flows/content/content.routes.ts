import { Type } from 'typebox'
import { refuse } from '../../contract/outcome.js'
import type { Content } from '../../domain/content/content.js'
import type { Callers } from '../../http/caller.js'
import { ErrorBody, sendRefusal } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import type { Server } from '../../http/server.js'

const Summary = Type.Object({
  slug: Type.String(),
  title: Type.String(),
  updatedAt: Type.String({ format: 'date-time' }),
})
const Page = Type.Object({ ...Summary.properties, body: Type.String() })

const failures = { 401: ErrorBody, 429: ErrorBody, 503: ErrorBody }
const listSchema = {
  tags: ['content'],
  summary: 'The protected content, without bodies',
  response: { 200: Type.Object({ content: Type.Array(Summary) }), ...failures },
}
const pageSchema = {
  tags: ['content'],
  summary: 'One page of the protected content',
  params: Type.Object({ slug: Type.String({ minLength: 1, maxLength: 200 }) }),
  response: { 200: Page, 404: ErrorBody, ...failures },
}

type Dependencies = { content: Content; callers: Callers; limits: Limits }

export const contentRoutes = (server: Server, { content, callers, limits }: Dependencies) => {
  const onRequest = [callers.required, limits.caller]

  server.get('/api/content', { schema: listSchema, onRequest }, async () => {
    const rows = await content.list()
    return {
      content: rows.map(({ slug, title, updated_at }) => ({ slug, title, updatedAt: updated_at.toISOString() })),
    }
  })

  server.get('/api/content/:slug', { schema: pageSchema, onRequest }, async (request, reply) => {
    const page = await content.find(request.params.slug)
    if (!page) return sendRefusal(reply, refuse('not_found'))
    const { slug, title, body, updated_at } = page
    return reply.send({ slug, title, body, updatedAt: updated_at.toISOString() })
  })
}
