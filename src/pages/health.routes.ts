import { Type } from 'typebox'
import { OneOf } from '../contract/refusal-bodies.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import { reasonOf } from '../lib/caught.js'
import type { Clock } from '../lib/clock.js'
import { withTimeout } from '../lib/timing.js'
import { proveTables } from '../platform/database/open.js'
import type { App } from '../service/open-http.js'
import { writableTables } from '../service/tables.js'

type CheckResult = 'ok' | 'error' | 'checking'
export type Check = () => Promise<void>
type CheckOutcome = { result: CheckResult; reason?: string }
type Log = Record<'info' | 'warn', (details: object, message: string) => void>

const failureOf = (error: unknown): CheckOutcome => ({
  result: 'error',
  reason: reasonOf(error),
})

/** Runs a check with its own timeout. A check that has not finished by then is reported as `checking`, and delays no other. */
const runCheck = (check: Check, deadline: number): Promise<CheckOutcome> => {
  const result = check().then((): CheckOutcome => ({ result: 'ok' }), failureOf)
  return withTimeout(result, deadline, (): CheckOutcome => ({ result: 'checking', reason: 'no answer in time' }))
}

/** The answer of a health check does not say why a store failed. The log says it, once for each change. */
const createReport = (log: Log) => {
  const failing = new Set<string>()
  return (check: string, { result, reason }: CheckOutcome) => {
    if (result === 'ok') {
      if (failing.delete(check)) log.info({ check }, 'a health check succeeds again')
    } else if (!failing.has(check)) {
      failing.add(check)
      log.warn({ check, reason }, 'a health check fails')
    }
    return result
  }
}

/**
 * How long a result is reused, in milliseconds. Anyone can call `/health`, which writes to both stores: so an instance checks them at
 * most four times a second. A probe comes at most once a second, so it never sees an old result.
 */
const resultLifetime = 250

/** One run serves all requests that come while it is under way, and for a moment after. */
const coalesced = <Value>(run: () => Promise<Value>) => {
  let current: Promise<Value> | undefined
  const forget = () => {
    current = undefined
  }
  return () => {
    current ??= run().finally(() => setTimeout(forget, resultLifetime).unref())
    return current
  }
}

export const createHealth = (options: {
  clock: Clock
  deadline: number
  database: Check
  cache: Check
  log: Log
  isStarting: () => boolean
  isDraining: () => boolean
}) => {
  const { clock, deadline, log, isStarting, isDraining } = options
  const report = createReport(log)
  const run = async (check: 'database' | 'cache') => report(check, await runCheck(options[check], deadline))
  const checkStores = coalesced(async () => {
    const [database, cache] = await Promise.all([run('database'), run('cache')])
    return { checks: { server: 'ok' as const, database, cache }, timestamp: clock.now().toISOString() }
  })

  return {
    full: async () => {
      const { checks, timestamp } = await checkStores()
      // Draining is not part of the reused result, so an instance that shuts down says it at once.
      const isHealthy = !isDraining() && checks.database === 'ok' && checks.cache === 'ok'
      return { status: isHealthy ? ('healthy' as const) : ('unhealthy' as const), checks, timestamp }
    },
    /** Says whether this instance should get traffic. No store is asked, because a store that is down is down for every instance. */
    readiness: () => {
      if (isDraining()) return 'draining' as const
      return isStarting() ? ('starting' as const) : ('ready' as const)
    },
  }
}

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

export const healthRoutes = (server: Server, { config: { healthTimeout }, ...app }: App) => {
  const health = createHealth({
    ...app,
    deadline: healthTimeout,
    database: async () => {
      await app.database.ping()
      await proveTables(app.database, writableTables)
    },
    cache: app.cache.ping,
  })
  const config = { quiet: true, probe: true, unlimited: 'Probes ask often, and share one check of the stores' }

  const probe = { guard: [], tag: 'health', refuses: [], config } as const

  route(server, 'GET /health', {
    ...probe,
    summary: 'Whether the server, the database and the cache work',
    answers: { 200: Health, 503: Health },
    handle: async ({ reply }) => {
      const result = await health.full()
      reply.status(result.status === 'healthy' ? 200 : 503)
      return result
    },
  })
  route(server, 'GET /health/ready', {
    ...probe,
    summary: 'Whether this instance should get traffic: 200 unless it is starting or shutting down',
    answers: { 200: Ready, 503: NotReady },
    handle: async ({ reply }) => {
      const status = health.readiness()
      if (status === 'ready') return { status }
      reply.status(503)
      return { status }
    },
  })
  route(server, 'GET /health/live', {
    ...probe,
    summary: 'Whether this process serves at all',
    answers: { 200: Live },
    handle: async () => ({ status: 'live' as const }),
  })
}
