import type { Clock } from '../lib/clock.js'
import { withTimeout } from '../lib/timing.js'

type CheckResult = 'ok' | 'error' | 'checking'
export type Check = () => Promise<void>
type CheckOutcome = { result: CheckResult; reason?: string }
type Log = Record<'info' | 'warn', (details: object, message: string) => void>

const failureOf = (error: unknown): CheckOutcome => ({
  result: 'error',
  reason: error instanceof Error ? error.message : 'unknown failure',
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
