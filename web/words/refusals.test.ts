import { describe, expect, it } from 'vitest'
import type { ClientRefusalCode } from '#client/client.js'
import type { PasswordFindings } from '#contract/password-rules.js'
import { errorsOf, feedbackOf } from '../components/new-password.js'
import { de } from './de.js'
import { en } from './en.js'
import { asksForHelp, providerErrorFor, reasonAsksForHelp, refusalSentence } from './refusals.js'

const refusal = (status: number, code = 'unknown') => ({ status, refused: code as ClientRefusalCode })
const providers = [
  { id: 'provider_a' as const, name: 'Google', path: '/a' },
  { id: 'provider_b' as const, name: 'GitHub', path: '/b' },
]

describe('a refusal in words', () => {
  it.each([
    [refusal(401, 'invalid_credentials'), 'Username, email or password is incorrect.'],
    [refusal(429, 'too_many_logins'), 'Too many sign-in attempts.'],
    [refusal(503, 'busy'), en.refusals.busy],
    [refusal(500, 'internal'), en.refusals.internal],
  ])('has a sentence of its own: %j', (given, expected) => {
    expect(refusalSentence(given, en)).toBe(expected)
  })

  it.each([
    ['no answer at all', refusal(0, 'no_answer'), en.common.failures.offline],
    ['the error page of a proxy', refusal(502), en.common.failures.unavailable],
    ['a proxy that is overloaded', refusal(503), en.common.failures.unavailable],
    ['a status without a code', refusal(418), en.common.failures.unexpected],
    ['a code that this page does not know', refusal(400, 'something_new'), en.common.failures.unexpected],
    ['a word that every object knows', refusal(400, 'toString'), en.common.failures.unexpected],
  ])('is a general one for %s', (_, given, expected) => {
    expect(refusalSentence(given, en)).toBe(expected)
  })

  it('has a reference for the support after a failure on our side', () => {
    const failed = { ...refusal(500, 'internal'), requestId: '5f0c3a52-7d1e-4b8a-9c36-e2f40d715a98' }
    expect(refusalSentence(failed, en)).toBe(`${en.refusals.internal} (Reference: 5f0c3a52)`)
    expect(refusalSentence(failed, de)).toMatch(/\(Kennung: 5f0c3a52\)$/)
  })

  it('names the provider', () => {
    expect(refusalSentence(refusal(409, 'already_linked'), en, { provider: 'GitHub' })).toContain(
      'Another GitHub account',
    )
  })
})

describe('a sentence that tells to ask the administrator', () => {
  it('has a link to help below it, and no other sentence has', () => {
    const telling = (sentences: Record<string, string>) =>
      Object.keys(sentences).filter((code) => /ask (your administrator|for a new one)/i.test(sentences[code] ?? ''))
    const { reasons } = en.common.providerErrors
    expect(Object.keys(en.refusals).filter(asksForHelp)).toEqual(telling(en.refusals))
    expect(Object.keys(reasons).filter(reasonAsksForHelp)).toEqual(telling(reasons))
  })
})

describe('a failed sign-in with a provider', () => {
  const words = (code: string, reason?: string) => providerErrorFor(code, reason, providers, en.common)

  it('is told with the name of the provider', () => {
    expect(words('provider_a_auth_failed')).toContain('Google')
    expect(words('provider_b_auth_failed')).toContain('GitHub')
    expect(words('provider_b_auth_failed', 'no_email')).toContain('GitHub did not give us a confirmed email address')
    expect(words('callback_failed')).toBe(en.common.providerErrors.callback)
  })

  it('is a plain sentence for a code we do not know, which is not repeated', () => {
    expect(words('<img src=x onerror=alert(1)>')).toBe(en.common.providerErrors.unknown)
    expect(words('constructor', 'constructor')).toBe(en.common.providerErrors.unknown)
  })
})

describe('what is wrong with a password', () => {
  // The service sends the advice first.
  const weak: PasswordFindings = {
    errors: ['uppercase', 'digit', 'too_weak'],
    feedback: ['add_words', 'commonly_used'],
  }

  it('is one sentence for all rules, which names what is missing', () => {
    expect(errorsOf(weak, en.password)).toEqual([
      'Still missing: an uppercase letter, a number, a strength of “Good” or better.',
    ])
    expect(errorsOf({ ...weak, errors: ['digit', 'unusable_characters'] }, en.password)).toHaveLength(2)
  })

  it('is the estimate when no rule is broken: the reason first, then the advice', () => {
    expect(errorsOf({ ...weak, errors: ['too_weak'] }, en.password)).toEqual([
      'This password is too weak. This is a commonly used password. Add more words that are less common.',
    ])
  })

  it('is said in the language of the page', () => {
    expect(errorsOf({ ...weak, errors: ['too_weak'] }, de.password)).toEqual([
      'Das Passwort ist zu schwach. Dieses Passwort ist weit verbreitet. Fügen Sie weitere, seltenere Wörter hinzu.',
    ])
    expect(feedbackOf({ errors: [], feedback: ['dates'] }, de.password)).toEqual([
      'Datumsangaben sind leicht zu erraten.',
    ])
  })

  it('leaves out what this page has no words for', () => {
    const newer = { errors: ['rhyme', 'too_weak'], feedback: ['rhyme', 'toString'] } as unknown as PasswordFindings
    expect(errorsOf(newer, de.password)).toEqual(['Das Passwort ist zu schwach.'])
    expect(feedbackOf(newer, de.password)).toEqual([])
  })
})
