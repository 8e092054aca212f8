import { expect, it } from 'vitest'
import { wordMarkSize } from './brand.js'

it.each([
  ['a usual one has the height of the mark', 500, 100, 160, 32],
  ['a long one is 14 rem wide, and no wider', 2000, 200, 224, 22],
  ['one of two lines is higher', 400, 200, 96, 48],
  ['a square one is 3 rem high, and no higher', 10, 10, 48, 48],
  ['a tall one keeps its form', 100, 200, 24, 48],
])('%s', (_, width, height, shownWidth, shownHeight) => {
  expect(wordMarkSize({ width, height })).toEqual({ width: shownWidth, height: shownHeight })
})
