import { expect, it } from 'vitest'
import { timeSpan } from './time-spans.js'

const minutes = 60
const hours = 60 * minutes
const days = 24 * hours

it.each([
  [0.01, 'en', '1 second'],
  [17, 'en', '17 seconds'],
  [557, 'en', '10 minutes'],
  [30 * minutes, 'en', '30 minutes'],
  [1 * hours - 1, 'en', '1 hour'],
  [5_300, 'en', '89 minutes'],
  [1 * days, 'de', '24 Stunden'],
  [2 * days, 'fr', '2\u00a0jours'],
  [30 * days, 'de', '30 Tage'],
])('%d seconds in %s: %s', (seconds, language, said) => {
  expect(timeSpan(seconds * 1_000, language)).toBe(said)
})
