import { Type } from 'typebox'
import { OneOf } from '../contract/refusal-bodies.js'
import type { Server } from '../http/server.js'
import type { createHealth } from './health.js'

const CheckValue = OneOf(['ok', 'error', 'checking'])
const Health = Type.Object(
  {
    status: OneOf(['healthy', 'unhealthy']),
    checks: Type.Object({ server: CheckValue, database: CheckValue, cache: CheckValue }),
    timestamp: Type.String({ format: 'date-time' }),
  },
  { title: 'Health' },
)
const Ready = Type.Object({ status: Type.Literal('ready') })
const NotReady = Type.Object({ status: OneOf(['starting', 'draining']) })
const Live = Type.Object({ status: Type.Literal('live') })

const schema = {
  tags: ['health'],
  summary: 'Whether the server, the database and the cache work',
  response: { 200: Health, 503: Health },
}
const readySchema = {
  tags: ['health'],
  summary: 'Whether this instance should get traffic: 200 unless it is starting or shutting down',
  response: { 200: Ready, 503: NotReady },
}
const liveSchema = { tags: ['health'], summary: 'Whether this process serves at all', response: { 200: Live } }

export const healthRoutes = (server: Server, { health }: { health: ReturnType<typeof createHealth> }) => {
  const config = { quiet: true, probe: true, unlimited: 'Probes ask often, and share one check of the stores' }

  server.get('/health', { schema, config }, async (_request, reply) => {
    const result = await health.full()
    return reply.status(result.status === 'healthy' ? 200 : 503).send(result)
  })
  server.get('/health/ready', { schema: readySchema, config }, async (_request, reply) => {
    const status = health.readiness()
    return status === 'ready' ? reply.status(200).send({ status }) : reply.status(503).send({ status })
  })
  server.get('/health/live', { schema: liveSchema, config }, async () => ({ status: 'live' as const }))
}
