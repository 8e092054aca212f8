import { expect, it } from 'vitest'
import { loadConfig } from './config.js'

it.each(['SESSION_MAX_AGE', 'HEALTH_TIMEOUT'])('%s is longer than 0', (name) => {
  expect(() => loadConfig({ [name]: '0s' })).toThrow(`${name}: must be longer than 0`)
})
