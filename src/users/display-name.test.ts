import { expect, it } from 'vitest'
import { displayName } from './names.js'

it.each([
  ['Ada Lovelace', 'Ada Lovelace'],
  ['  Ada\n\tLovelace\u2028', 'Ada Lovelace'],
  ['\u001b[31mAda\u001b[0m\u0007', '[31mAda[0m'],
  ['Ada\u202egro.live\u202c\u2066\u200b', 'Adagro.live'],
  ['می\u200cخواهم علی\u200cرضا', 'می\u200cخواهم علی\u200cرضا'],
  ['क्\u200dष', 'क्\u200dष'],
  ['The 👩\u200d👩🏽\u200d👧 👩\u200d❤\ufe0f\u200d👩', 'The 👩\u200d👩🏽\u200d👧 👩\u200d❤\ufe0f\u200d👩'],
  // A joiner that changes nothing would make two names that look alike.
  ['A\u200dd\u200ca \u200dА\u200dда \u200c', 'Ada Ада'],
  ['علی\u200c \u200c\u200cرضا\u200d', 'علی رضا'],
  [`${'ی'.repeat(199)}\u200cی`, 'ی'.repeat(199)],
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
