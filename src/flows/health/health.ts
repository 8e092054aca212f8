import type { Clock } from '../../lib/clock.js'

export type CheckResult = 'ok' | 'error' | 'checking'
export type Check = () => Promise<void>

/** Runs a check under its own deadline: one that has not finished by then is still `checking`, and holds up no other. */
const runCheck = (check: Check, deadline: number) =>
  new Promise<CheckResult>((resolve) => {
    const timer = setTimeout(() => resolve('checking'), deadline)
    check()
      .then(
        () => resolve('ok'),
        () => resolve('error'),
      )
      .finally(() => clearTimeout(timer))
  })

export const createHealth = (options: {
  clock: Clock
  deadline: number
  database: Check
  cache: Check
  isDraining: () => boolean
}) => {
  const { clock, deadline, isDraining } = options
  return async () => {
    const [database, cache] = await Promise.all([
      runCheck(options.database, deadline),
      runCheck(options.cache, deadline),
    ])
    const checks = { server: 'ok' as const, database, cache }
    const isHealthy = !isDraining() && database === 'ok' && cache === 'ok'
    const status = isHealthy ? ('healthy' as const) : ('unhealthy' as const)
    return { status, checks, timestamp: clock.now().toISOString() }
  }
}
