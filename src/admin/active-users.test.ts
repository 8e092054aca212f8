import { expect, it } from 'vitest'
import { minutes } from '../lib/durations.js'
import type { Database } from '../platform/database/database.js'
import { createActiveUsers } from './stats.js'

it('does not begin a count that has failed again before ten minutes have passed', async () => {
  let asked = 0
  const query = async () => {
    asked += 1
    if (asked === 1) throw new Error('canceling statement due to statement timeout')
    return [{ day: 1, week: 2, month: 3 }]
  }
  let now = new Date('2026-11-17T16:00Z')
  const clock = { now: () => now, offset: () => 0 }
  const { recent } = createActiveUsers({ database: { query } as unknown as Database, clock })

  await expect(recent()).rejects.toThrow('timeout')
  await expect(recent()).rejects.toThrow('timeout')
  expect(asked).toBe(1)
  now = new Date(now.getTime() + 10 * minutes)
  expect(await recent()).toEqual({ day: 1, week: 2, month: 3 })
})
