import { expect, it } from 'vitest'
import { displayName } from './display-name.js'

it.each([
  ['Ada Lovelace', 'Ada Lovelace'],
  ['  Ada\n\tLovelace\u2028', 'Ada Lovelace'],
  ['\u001b[31mAda\u001b[0m\u0007', '[31mAda[0m'],
  ['Ada\u202egro.live\u202c\u2066\u200b', 'Adagro.live'],
  ['Ada\ud800', 'Ada\ufffd'],
  ['田中 さくら', '田中 さくら'],
  ['x'.repeat(300), 'x'.repeat(200)],
  [' \u0000\u202e ', null],
  ['\u3164\u115f', null],
  ['', null],
  [undefined, null],
  [17, null],
])('shows %j as %j', (given, shown) => {
  expect(displayName(given)).toBe(shown)
})
