import { describe, expect, it } from 'vitest'
import type { Language } from '#contract/languages.js'
import type { Session } from '#contract/schemas.js'
import { catalogue } from '../words/catalogue.js'
import { endSessionLabel, proofText } from './session-facts.js'

const session = {
  id: '1',
  device: 'Firefox on Linux',
  browser: 'Firefox',
  system: 'Linux',
  userAgent: '',
  ip: '192.0.2.1',
  createdAt: '2026-11-14T09:30:00Z',
  lastUsedAt: '2026-11-15T12:00:00Z',
  current: false,
  methods: ['pwd', 'otp', 'from_a_later_release'],
  provider: null,
  administers: false,
  bound: false,
  application: null,
}

describe('the button that ends a session', () => {
  it.each(Object.entries(catalogue))('has another name for each session of one browser (%s)', (_, words) => {
    const labels = ['2026-11-14T09:30:00Z', '2026-11-14T09:30:07Z'].map((createdAt) =>
      endSessionLabel({ ...session, createdAt }, words.dashboard, 'en-GB'),
    )
    expect(new Set(labels).size).toBe(2)
    expect(labels[0]).toContain('14 Nov 2026, 09:30')
    // So that voice control finds it, the name begins with the visible words.
    expect(labels[0]?.startsWith(words.dashboard.endSession)).toBe(true)
  })
})

describe('how the user signed in', () => {
  const providers = [{ id: 'provider_a', name: 'Google' }]
  const proofsIn = (language: Language, given: Partial<Session>) =>
    proofText({ ...session, ...given }, providers, catalogue[language].dashboard, language)

  it('is said in the words of the page, with the name of the provider, without ways that it does not know', () => {
    expect(proofsIn('en', {})).toBe('password and code from the app')
    expect(proofsIn('de', {})).toBe('Passwort und Code aus der App')
    expect(proofsIn('fr', {})).toBe('mot de passe et code de l’application')
    expect(proofsIn('en', { methods: ['provider'], provider: 'provider_a' })).toBe('Google')
    expect(proofsIn('en', { methods: ['provider'], provider: 'gone' })).toBe('a provider')
    expect(proofsIn('en', { methods: [] })).toBe('')
  })
})
