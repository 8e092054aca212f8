import { expect, it } from 'vitest'
import { axisFor } from './plot-scale.js'

it.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [7, [0, 2, 4, 6, 8]],
  [100, [0, 50, 100]],
  [101, [0, 50, 100, 150]],
  [123_456, [0, 50_000, 100_000, 150_000]],
])('the axis for %i has the steps %j, and room for it', (largest, ticks) => {
  expect(axisFor(largest)).toEqual({ ticks, end: ticks.at(-1) })
})
