import { describe, expect, it } from 'vitest'
import { type FeedbackId, inSentences } from '../contract/password-rules.js'

import { unusableReason, validate } from './passwords.js'

const strong = { score: 4, feedback: [], isStrong: true }
const weak = { score: 1, feedback: ['add_words', 'dates'] satisfies FeedbackId[], isStrong: false }

const length = 'Password must be at least 8 characters'
const lowercase = 'Password must contain lowercase letters'
const uppercase = 'Password must contain uppercase letters'
const numbers = 'Password must contain numbers'
const special = 'Password must contain special characters'

describe('the rules of a password', () => {
  it.each([
    ['aB3$efgh', []],
    ['aB3$efg', [length]],
    ['', [length, lowercase, uppercase, numbers, special]],
    ['AB3$EFGH', [lowercase]],
    ['ab3$efgh', [uppercase]],
    ['aBc$efgh', [numbers]],
    ['aB3defgh', [special]],
    ['ABCDEFGH', [lowercase, numbers, special]],
    // Letters and digits of any script, and a space is as special as anything else.
    ['żÓłta 3x', []],
    ['пароль Ж9', []],
    ['aB٣ efgh', []],
    ['aBcd efg', [numbers]],
    ['密码密码密码密码', [lowercase, uppercase, numbers, special]],
    // An accent is part of its letter, in both of its spellings.
    ['aB3defghe\u0301', [special]],
    ['aB3defgh\u00e9', [special]],
    // Length counts code points: an emoji is one character, however many units it takes.
    ['aB3😀😀😀😀', [length]],
    ['aB3😀😀😀😀😀', []],
    ['aB3👩‍👩‍👧', []],
    ['a\nB3\n$x\ny', []],
  ])('%j breaks %j', (password, errors) => {
    expect(inSentences(validate(password, strong))).toEqual({ errors, feedback: [] })
  })

  it('says last why a password is weak, with the advice behind it', () => {
    const feedback = ['Add more words that are less common.', 'Dates are easy to guess.']
    const errors = [numbers, special, `Password is too weak. ${feedback.join(' ')}`]
    expect(inSentences(validate('Abcdefgh', weak))).toEqual({ errors, feedback })
  })

  it('says only that it is weak when there is no advice', () => {
    expect(inSentences(validate('aB3$efgh', { ...weak, feedback: [] })).errors).toEqual(['Password is too weak.'])
  })
})

describe('what cannot be a password', () => {
  it.each([
    ['a NUL', 'aB3$\0efgh', 'Password contains characters that cannot be used'],
    ['half a character', 'aB3$\ud83defgh', 'Password contains characters that cannot be used'],
    ['the other half', 'aB3$efgh\ude00', 'Password contains characters that cannot be used'],
    ['257 characters', 'aB3$'.padEnd(257, 'x'), 'Password must be at most 256 characters'],
    ['257 emoji', '😀'.repeat(257), 'Password must be at most 256 characters'],
  ])('%s', (_, password, message) => {
    const error = unusableReason(password)
    expect(inSentences({ errors: error ? [error] : [], feedback: [] }).errors).toEqual([message])
  })

  it.each([
    ['256 emoji', '😀'.repeat(256)],
    ['64 emoji', '😀'.repeat(64)],
    ['a tab and a line break', '\t\r\n'],
    ['nothing at all, which is merely too short', ''],
  ])('but not %s', (_, password) => {
    expect(unusableReason(password)).toBeUndefined()
  })
})
