import { describe, expect, it } from 'vitest'
import { readEmail } from './names.js'

describe('email addresses', () => {
  it.each(['ada@example.com', 'Ada.Lovelace+news@sub.example.co.uk', "o'brien@example.org", 'a@b.xn--p1ai'])(
    'takes %s',
    (text) => {
      expect(readEmail(text)).toEqual({ email: text, key: text.toLowerCase() })
    },
  )

  it('ignores spaces around it', () => {
    expect(readEmail(' Ada@example.com\n')).toEqual({ email: 'Ada@example.com', key: 'ada@example.com' })
  })

  it.each([
    ['no @', 'ada.example.com'],
    ['two @', 'ada@home@example.com'],
    ['no dot in the domain', 'ada@localhost'],
    ['a dot at the start', '.ada@example.com'],
    ['two dots', 'ada..l@example.com'],
    ['a space', 'ada l@example.com'],
    ['a line break', 'ada@example.com\r\nBcc: all@example.com'],
    ['a list', 'ada@example.com,eve@example.com'],
    ['a display name', 'Ada <ada@example.com>'],
    ['the Kelvin sign', '\u212Aelvin@example.com'],
    ['letters beyond ASCII in the domain', 'ada@exämple.com'],
    ['a hyphen at the end of a label', 'ada@example-.com'],
    ['more than 254 characters', `ada@${'a.'.repeat(126)}com`],
  ])('refuses %s', (_, text) => {
    expect(readEmail(text)).toHaveProperty('refused')
  })
})
