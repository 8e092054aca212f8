import { expect, it } from 'vitest'
import { deviceName } from '#contract/device-names.js'
import { catalogue } from './catalogue.js'

it.each([
  ['Firefox', 'Linux', 'Firefox unter Linux'],
  ['Chrome', 'Android', 'Chrome unter Android'],
  ['Safari', 'iPhone', 'Safari auf dem iPhone'],
  ['Safari', 'iPad', 'Safari auf dem iPad'],
  ['curl', null, 'curl'],
  [null, null, 'Unbekanntes Gerät'],
])('%s, %s is in German: %s', (browser, system, name) => {
  expect(deviceName({ browser, system }, catalogue.de.dashboard)).toBe(name)
})
