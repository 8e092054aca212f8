import { describe, expect, it } from 'vitest'
import { exactWait, roundedWait } from './waits.js'

describe('a wait', () => {
  it.each([
    [17, '17 s', '17 seconds'],
    [557, '9 min 17 s', '10 minutes'],
    [600, '10 min', '10 minutes'],
    [899, '15 min', '15 minutes'],
    [3_599, '1 h', '1 hour'],
    [5_300, '1 h 29 min', '89 minutes'],
  ])('of %i seconds is shown as %s and said as %s', (seconds, shown, said) => {
    expect(exactWait(seconds).replaceAll('\u00a0', ' ')).toBe(shown)
    expect(roundedWait(seconds, 'en')).toBe(said)
  })
})
