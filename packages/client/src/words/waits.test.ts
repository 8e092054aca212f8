import { expect, it } from 'vitest'
import { exactWait } from './waits.js'

it.each([
  [17, '17 s'],
  [557, '9 min 17 s'],
  [600, '10 min'],
  [899, '15 min'],
  [3_599, '1 h'],
  [5_300, '1 h 29 min'],
])('a wait of %i seconds is shown as %s', (seconds, shown) => {
  expect(exactWait(seconds).replaceAll('\u00a0', ' ')).toBe(shown)
})
