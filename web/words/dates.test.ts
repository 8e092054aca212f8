import { describe, expect, it } from 'vitest'
import { dateWithZone, isNow, timeAgo } from './dates.js'
import { localeInRegion } from './format.js'

const now = Date.parse('2026-11-15T12:00:00Z')
const earlier = (seconds: number) => new Date(now - seconds * 1_000).toISOString()

describe('how long ago', () => {
  it.each([
    [5, 'now'],
    [59, 'now'],
    [60, '1 minute ago'],
    [3_599, '59 minutes ago'],
    [7_200, '2 hours ago'],
    [86_400, 'yesterday'],
    [40 * 86_400, 'last month'],
    [-30, 'now'],
  ])('%i seconds', (seconds, expected) => {
    expect(timeAgo(earlier(seconds), 'en', now)).toBe(expected)
    expect(isNow(earlier(seconds), now)).toBe(expected === 'now')
  })

  it('is told in the language of the page', () => {
    expect(timeAgo(earlier(180), 'de', now)).toBe('vor 3 Minuten')
  })
})

it('a date in a sentence of administrators names its zone', () => {
  const zone = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' })
    .formatToParts(now)
    .find(({ type }) => type === 'timeZoneName')
  expect(dateWithZone(new Date(now).toISOString(), 'en-GB')).toMatch(
    new RegExp(`^1[456] Nov 2026, \\d\\d:\\d\\d ${zone?.value}$`),
  )
})

describe('the region of a visitor', () => {
  it('is taken from a preferred language that is the language of the page', () => {
    expect(localeInRegion('en', ['de-AT', 'en-GB'])).toBe('en-GB')
    expect(localeInRegion('fr', ['de-AT', 'en-GB'])).toBe('fr')
  })
})
