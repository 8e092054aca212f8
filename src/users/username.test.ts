import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isRefused } from '../contract/outcome.js'
import { imitatedKey, readChosenUsername, readUsername, usernameFrom, usernameKey, withSuffix } from './names.js'

const anyLetter = fc.nat(0x10_ffff).map((codePoint) => String.fromCodePoint(codePoint))

/** The unit `binary` of fast-check is the same, but makes a table of a million letters first. */
const textsOfAnyLetters = (options: { maxLength?: number } = {}) =>
  fc.oneof(fc.string({ ...options, unit: anyLetter }), fc.string({ ...options, unit: 'grapheme' }))

describe('usernames that mean one person', () => {
  it.each([
    ['upper case', 'ADMIN'],
    ['mixed case', 'Admin'],
    ['fullwidth letters', 'ａｄｍｉｎ'],
    ['a dotless i', 'admın'],
    ['a dotted capital I', 'admİn'],
    ['Cyrillic throughout', 'аdміп'],
  ])('%s has the key of "admin"', (_, name) => {
    expect(usernameKey(name)).toBe(usernameKey('admin'))
  })

  it.each([
    ['the Kelvin sign', '\u212Aelvin', 'kelvin'],
    ['the long s', 'me\u017F\u017Fage', 'message'],
    ['the sharp s', 'straße', 'STRASSE'],
    ['an accent in two ways', 'e\u0301ve', '\u00e9ve'],
    ['a Greek look-alike', 'ορα', 'opa'],
    ['a palochka for an L', 'раураӏ', 'paypal'],
    ['a capital i for an L', 'paypaI', 'paypal'],
    ['a one for an L', 'paypa1', 'paypal'],
    ['a Latin iota', 'ɩnfo', 'info'],
    ['small capitals', 'pᴀyᴘᴀʟ', 'paypal'],
    ['a dash for a hyphen', 'no\u2013reply', 'no-reply'],
  ])('%s is folded', (_, one, other) => {
    expect(usernameKey(one)).toBe(usernameKey(other))
  })
})

describe('names that imitate a reserved one', () => {
  it.each([
    ['in small capitals', 'ᴀᴅᴍɪɴ', 'admin'],
    ['in Lisu', 'ꓮꓓꓟꓲꓠ', 'admin'],
    ['in Lisu, with L', 'ꓮꓡꓡ', 'all'],
    ['in Cherokee', 'ᎪᎢᎠᎷᎬᎡ', 'atdmer'],
    ['with a hyphen', 'ɴᴏ-ʀᴇᴘʟʏ', 'no-reply'],
    ['not at all', 'ada', 'ada'],
  ])('%s', (_, name, imitated) => {
    expect(imitatedKey(usernameKey(name))).toBe(usernameKey(imitated))
  })
})

describe('usernames that are refused', () => {
  it.each([
    ['nothing', ''],
    ['65 characters', 'a'.repeat(65)],
    ['an @', 'ada@home'],
    ['a fullwidth @', 'ada＠home'],
    ['a space', 'ada lovelace'],
    ['a zero-width space', 'ad\u200Ba'],
    ['a right-to-left mark', '\u202Eada'],
    ['a control character', 'ada\u0007'],
    ['a Hangul filler', 'ada\u3164'],
    ['a blank Braille pattern', 'ada\u2800'],
    ['a lone surrogate', 'ada\uD800'],
    ['a leading combining mark', '\u0301ada'],
    ['Latin with one Cyrillic letter', 'аdmin'],
    ['Latin with one Greek letter', 'adminα'],
  ])('%s', (_, name) => {
    expect(readUsername(name)).toHaveProperty('refused')
  })
})

describe('spaces around a username', () => {
  it('mean nothing', () => {
    expect(readUsername(' ada\u00a0')).toEqual({ username: 'ada', key: 'ada' })
    expect(usernameKey(' Ada\n')).toBe('ada')
  })
})

describe('usernames that are accepted', () => {
  it.each(['a', 'ada.lovelace', 'x'.repeat(64), '😀'.repeat(64), 'Łukasz', '张伟', 'Ольга', 'δαίμων'])(
    '%s, if it exists already',
    (name) => {
      expect(readUsername(name)).toMatchObject({ username: name.normalize('NFKC') })
    },
  )

  // biome-ignore format: a list of names
  it.each([
    'a', '7', 'ada.lovelace', 'ada_l-2', 'a..b', 'x'.repeat(64), 'Łukasz', '张伟', 'Ольга', 'δαίμων', 'ダーク', '山田はなこ', '김민준',
    'नमस्ते', 'สมชาย', 'محمد-٣', 'שרה', 'Ａｄａ', 'e\u0301ve',
    'Zoë', 'Đặng', 'D\u0307ang', 'Ярослав', 'Ελένη', 'ऋषि', 'محمد', 'مُحَمَّد', '山田太郎', 'Ħəsən', 'Ɓala', 'İpek', 'ırmak', 'Strauß', 'สุดา', 'דָּוִד', 'が',
  ])('%s, if it is chosen', (name) => {
    expect(readChosenUsername(name)).toMatchObject({ username: name.normalize('NFKC') })
  })
})

describe('usernames that cannot be chosen', () => {
  it.each([
    [
      'username_characters',
      '../x',
      "a'--",
      '<b>',
      'a b',
      'a/b',
      'a\\b',
      'a%2e',
      'a+b',
      'a&b',
      'a;b',
      'a"b',
      'a`b',
      'ａ／b',
      '😀',
      'aʼb',
    ],
    ['username_characters', `a${'\u0327'.repeat(5)}`, '\u0301ada', 'ad\u200Ba', 'ada\u3164', 'a\u2044b', '½a'],
    ['username_characters', "O'Brien", 'paypalǃ', 'ꞌpaypalꞌ', 'payǀpal', 'paypaꞁ', 'pᴀyᴘᴀʟ', 'pɑypɑl', 'ʔa', 'محـمد'],
    [
      'username_characters',
      'paypal\u0338',
      'paypal\u20dd',
      'p\u0332aypal',
      'root\u0359',
      'paypal\u064b',
      'paypal\u3099',
    ],
    ['username_characters', 'paypal\u0902', 'Ольга\u0488', 'Ελένη\u0332', 'me\u0334', 'a1\u20dd'],
    ['username_alphabets', 'محمد\u0332', 'ऋषि\u20dd', '山田\u0332', 'สมชาย\u064b'],
    ['username_edges', '.ada', 'ada.', '-ada', 'ada_', '..', '-'],
    ['username_alphabets', 'аdmin', 'adminα', 'ada張', 'Ольгаx', 'ada٣'],
    ['username_at_sign', 'ada@home', 'ada＠home'],
    ['username_length', '', ' ', 'a'.repeat(65)],
  ])('%s', (code, ...names) => {
    for (const name of names) expect([name, readChosenUsername(name)]).toEqual([name, { refused: code }])
  })

  it('are a subset of all others, whatever the text, and have no sign of paths, queries or pages', () => {
    fc.assert(
      fc.property(textsOfAnyLetters(), (text) => {
        const chosen = readChosenUsername(text)
        if (isRefused(chosen)) return true
        const { username } = chosen
        return (
          !isRefused(readUsername(text)) && !/[^\p{L}\p{M}\p{Nd}._-]/u.test(username) && !/^[._-]|[._-]$/.test(username)
        )
      }),
    )
  })
})

describe('a name that a provider gave', () => {
  it.each([
    ['keeps what is allowed', 'ada.lovelace', 'ada.lovelace'],
    ['loses what is not', 'ada @\u200Blovelace', 'adalovelace'],
    ['loses signs, and dots at both ends', "..<o'brien+news>.", 'obriennews'],
    ['loses marks that decorate it', 'p\u0332aypal\u20dd', 'paypal'],
    ['becomes a plain word when nothing is left', ' \u200B', 'user'],
    ['becomes a plain word when only signs are left', '._-+', 'user'],
    ['becomes a plain word when it mixes alphabets', 'аdmin', 'user'],
  ])('%s', (_, given, expected) => {
    expect(usernameFrom(given).username).toBe(expected)
  })

  it('can be chosen, with any suffix, whatever the text was', () => {
    const texts = textsOfAnyLetters({ maxLength: 200 })
    fc.assert(
      fc.property(texts, (text) => !isRefused(readChosenUsername(withSuffix(usernameFrom(text), 499).username))),
    )
    const { username } = withSuffix(usernameFrom('x'.repeat(200)), 499)
    expect(readChosenUsername(username)).not.toHaveProperty('refused')
  })
})
