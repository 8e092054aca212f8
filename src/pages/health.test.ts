import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { systemClock } from '../lib/clock.js'
import { createHealth } from './health.routes.js'

// On a busy machine, the moment for which a result is used again would be over in the middle of a test.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const setUp = () => {
  const runs = { database: 0, cache: 0 }
  const state = { isStarting: false, isDraining: false, isFull: false }
  const lines: unknown[] = []
  const health = createHealth({
    clock: systemClock,
    deadline: 2_000,
    database: async () => {
      runs.database += 1
      await nextTurn()
      if (state.isFull) throw new Error('No space left on device')
    },
    cache: async () => {
      runs.cache += 1
    },
    log: { warn: (...line) => lines.push(line), info: (...line) => lines.push(line) },
    isStarting: () => state.isStarting,
    isDraining: () => state.isDraining,
  })
  return { runs, state, lines, health }
}

it('checks the stores once for all who ask at the same time, and for a moment after', async () => {
  const { runs, health } = setUp()
  const results = await Promise.all(Array.from({ length: 200 }, () => health.full()))
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['healthy']))
  await health.full()
  expect(runs).toEqual({ database: 1, cache: 1 })
  vi.advanceTimersByTime(400)
  await health.full()
  expect(runs).toEqual({ database: 2, cache: 2 })
})

it('shows at once that the instance shuts down, also beside a result that is used again', async () => {
  const { state, health } = setUp()
  expect((await health.full()).status).toBe('healthy')
  state.isDraining = true
  expect((await health.full()).status).toBe('unhealthy')
  expect(health.readiness()).toBe('draining')
})

it('is ready unless it is starting or shutting down', () => {
  const { state, health } = setUp()
  expect(health.readiness()).toBe('ready')
  state.isStarting = true
  expect(health.readiness()).toBe('starting')
})

it('says in the log why a check fails, once for each change', async () => {
  const { state, lines, health } = setUp()
  const look = async () => {
    vi.advanceTimersByTime(300)
    return (await health.full()).checks.database
  }
  state.isFull = true
  expect([await look(), await look()]).toEqual(['error', 'error'])
  state.isFull = false
  expect([await look(), await look()]).toEqual(['ok', 'ok'])
  expect(lines).toEqual([
    [{ check: 'database', reason: 'No space left on device' }, 'a health check fails'],
    [{ check: 'database' }, 'a health check succeeds again'],
  ])
})
