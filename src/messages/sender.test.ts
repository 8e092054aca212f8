import { describe, expect, it } from 'vitest'
import { days, hours, minutes } from '../lib/durations.js'
import { delayAfter } from './mails.js'

describe('the pause before the next attempt', () => {
  it('begins at a minute, doubles, and never exceeds a few hours', () => {
    const pauses = Array.from({ length: 20 }, (_, at) => delayAfter(at + 1, 0.5))
    expect(pauses.slice(0, 4)).toEqual([1 * minutes, 2 * minutes, 4 * minutes, 8 * minutes])
    expect(Math.max(...pauses)).toBe(4 * hours)
  })

  it('differs from mail to mail, so that a backlog does not come back all at once', () => {
    expect(delayAfter(3, 0)).toBeCloseTo(4 * minutes * 0.8)
    expect(delayAfter(3, 1)).toBeCloseTo(4 * minutes * 1.2)
  })

  it('leaves some twenty attempts within two days', () => {
    let attempts = 1
    for (let elapsed = 0; elapsed < 2 * days; elapsed += delayAfter(attempts, 0.5)) attempts += 1
    expect(attempts).toBeGreaterThan(15)
    expect(attempts).toBeLessThan(30)
  })
})
