import { describe, expect, it } from 'vitest'
import { translateFeedback, translateMessage } from './passwords.js'
import { providerErrorFor, sentenceFor } from './refusals.js'
import { de } from './words/de.js'
import { en } from './words/en.js'

const refusal = (status: number, error = '') => ({ status, error, errors: [], retryAfter: undefined })
const providers = [
  { id: 'provider_a' as const, name: 'Google', path: '/a' },
  { id: 'provider_b' as const, name: 'GitHub', path: '/b' },
]

describe('a refusal in words', () => {
  it.each([
    [refusal(0, 'offline'), en.common.refusals.offline],
    [refusal(401, 'Invalid credentials'), 'Username or password is incorrect.'],
    [refusal(429, 'Too many login attempts'), 'Too many sign-in attempts.'],
    [refusal(429, 'Something new'), en.common.refusals.unavailable],
    [refusal(503, 'Busy'), en.common.refusals.unavailable],
    [refusal(500, 'Internal error'), en.common.refusals.unexpected],
    [refusal(400, 'toString'), en.common.refusals.unexpected],
  ])('%j', (given, expected) => {
    expect(sentenceFor(given, en.common)).toBe(expected)
  })
})

describe('a failed sign-in with a provider', () => {
  const words = (code: string, reason?: string) => providerErrorFor(code, reason, providers, en.common)

  it('is told with the name of the provider', () => {
    expect(words('provider_a_auth_failed')).toContain('Google')
    expect(words('provider_b_auth_failed')).toContain('GitHub')
    expect(words('provider_b_auth_failed', 'no_email')).toContain('No email came from GitHub')
    expect(words('callback_failed')).toBe(en.common.providerErrors.callback)
  })

  it('is a plain sentence for a code we do not know, which is not repeated', () => {
    expect(words('<img src=x onerror=alert(1)>')).toBe(en.common.providerErrors.unknown)
    expect(words('constructor', 'constructor')).toBe(en.common.providerErrors.unknown)
  })
})

describe('what is wrong with a password', () => {
  const weak = 'Password is too weak. This is a commonly used password. Add more words that are less common.'

  it('stays as it is in English', () => {
    expect(translateMessage(weak, en.password)).toBe(weak)
    expect(translateMessage('Password must contain numbers', en.password)).toBe('Password must contain numbers')
  })

  it('is translated sentence by sentence', () => {
    expect(translateMessage(weak, de.password)).toBe(
      'Das Passwort ist zu schwach. Dieses Passwort ist weit verbreitet. Fügen Sie weitere, seltenere Wörter hinzu.',
    )
    expect(translateFeedback('Dates are easy to guess.', de.password)).toBe('Datumsangaben sind leicht zu erraten.')
  })

  it('is shown as it comes when we have no words for it', () => {
    expect(translateMessage('Password must rhyme', de.password)).toBe('Password must rhyme')
    expect(translateFeedback('It must rhyme.', de.password)).toBe('It must rhyme.')
  })
})
