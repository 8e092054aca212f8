import { Type } from 'typebox'
import type { Server } from '../../http/server.js'
import type { createHealth } from './health.js'

const CheckValue = Type.Union([Type.Literal('ok'), Type.Literal('error'), Type.Literal('checking')])
const Health = Type.Object({
  status: Type.Union([Type.Literal('healthy'), Type.Literal('unhealthy')]),
  checks: Type.Object({ server: CheckValue, database: CheckValue, cache: CheckValue }),
  timestamp: Type.String({ format: 'date-time' }),
})
const Live = Type.Object({ status: Type.Literal('live') })

const schema = {
  tags: ['health'],
  summary: 'Whether this instance should get traffic',
  response: { 200: Health, 503: Health },
}
const liveSchema = { tags: ['health'], summary: 'Whether this process serves at all', response: { 200: Live } }

export const healthRoutes = (server: Server, { health }: { health: ReturnType<typeof createHealth> }) => {
  server.get('/health', { schema, config: { quiet: true } }, async (_request, reply) => {
    const result = await health()
    return reply.status(result.status === 'healthy' ? 200 : 503).send(result)
  })
  server.get('/health/live', { schema: liveSchema, config: { quiet: true } }, async () => ({ status: 'live' as const }))
}
