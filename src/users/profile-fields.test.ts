import { describe, expect, it } from 'vitest'
import type { FieldValues, ProfileFieldDefinition } from '../contract/profile-fields.js'
import { readFieldDefinitions, readFieldValue } from './field-definitions.js'
import { knownValues } from './profile-fields.js'

const labels = { en: 'Label' }
const field = (more: object) => ({ key: 'team', type: 'text', labels, ...more })
const choice = { type: 'choice', options: [{ value: 'red' }, { value: 'blue', labels: { de: 'blau' } }] }

const definitionOf = (more: object): ProfileFieldDefinition => {
  const [read] = readFieldDefinitions({ fields: [field(more)] })
  return read as ProfileFieldDefinition
}

describe('a value', () => {
  it.each<[object, unknown, unknown]>([
    [{}, '  Sales  ', 'Sales'],
    [{}, 'e\u0301t\u00e9', 'été'],
    [{}, 'Łódź 🚀 “x”', 'Łódź 🚀 “x”'],
    [{}, '', null],
    [{}, '   ', null],
    [{}, null, null],
    [{}, 7, 'wrong_type'],
    [{}, true, 'wrong_type'],
    [{}, 'a\nb', 'characters'],
    [{}, 'a\u0000b', 'characters'],
    [{}, 'a\u202eb', 'characters'],
    [{}, 'a\u2066b', 'characters'],
    [{}, 'a\u2028b', 'characters'],
    [{}, 'x'.repeat(100), 'x'.repeat(100)],
    [{}, 'x'.repeat(101), 'too_long'],
    [{ minLength: 3, maxLength: 4 }, '🚀🚀', 'too_short'],
    [{ minLength: 3, maxLength: 4 }, '🚀🚀🚀🚀', '🚀🚀🚀🚀'],
    [{ type: 'phone' }, '+49 (30) 123-456', '+4930123456'],
    [{ type: 'phone' }, '0049 30 123456', '+4930123456'],
    [{ type: 'phone' }, '030 123456', 'phone'],
    [{ type: 'phone' }, '+0123456789', 'phone'],
    [{ type: 'phone' }, '+12345678901234567', 'phone'],
    [{ type: 'url' }, 'https://example.com/a?b=c#d', 'https://example.com/a?b=c#d'],
    [{ type: 'url' }, 'http://example.com', 'http://example.com'],
    [{ type: 'url' }, 'javascript:alert(1)', 'url'],
    [{ type: 'url' }, 'data:text/html,x', 'url'],
    [{ type: 'url' }, 'https:example.com', 'url'],
    [{ type: 'url' }, 'https://user:pass@example.com', 'url'],
    [{ type: 'url' }, 'ftp://example.com', 'url'],
    [{ type: 'url' }, `https://example.com/${'x'.repeat(200)}`, 'too_long'],
    [{ type: 'date' }, '2024-02-29', '2024-02-29'],
    [{ type: 'date' }, '2023-02-29', 'date'],
    [{ type: 'date' }, '2024-2-9', 'date'],
    [{ type: 'date' }, '29.02.2024', 'date'],
    [{ type: 'date', min: '1900-01-01', max: 'today' }, '1899-12-31', 'too_early'],
    [{ type: 'date', min: '1900-01-01', max: 'today' }, '2026-05-05', '2026-05-05'],
    [{ type: 'date', min: '1900-01-01', max: 'today' }, '2026-05-06', 'too_late'],
    [{ type: 'date', min: 'today' }, '2026-05-04', '2026-05-04'],
    [{ type: 'date', min: 'today' }, '2026-05-03', 'too_early'],
    [choice, 'red', 'red'],
    [choice, 'green', 'choice'],
    [choice, 'constructor', 'choice'],
    [{ type: 'boolean' }, true, true],
    [{ type: 'boolean' }, false, false],
    [{ type: 'boolean' }, 'true', 'wrong_type'],
    [{ type: 'boolean' }, null, null],
  ])('of %j given as %j is read as %j', (more, given, expected) => {
    const read = readFieldValue(definitionOf(more), given, { first: '2026-05-04', last: '2026-05-05' })
    expect('fault' in read ? read.fault : read.value).toBe(expected)
  })
})

it('a stored value whose field has another type now is read in the form of that type, or is missing', () => {
  const known = (stored: FieldValues) => knownValues([definitionOf({ type: 'phone' })], stored)
  expect(known({ team: '0049 30 123456' })).toEqual({ team: '+4930123456' })
  expect([known({ team: 'red' }), known({ team: true }), known({})]).toEqual([{}, {}, {}])
})

describe('a file', () => {
  it.each<[string, unknown, string]>([
    ['no object', [], 'the file is no JSON object'],
    ['another key', { field: [] }, 'the file has the key "field"'],
    ['no fields', { fields: [] }, 'fields must be a list'],
    ['too many', { fields: Array.from({ length: 21 }, (_, at) => field({ key: `k${at}` })) }, '20 entries at most'],
    ['a text', { fields: ['team'] }, 'fields[0] is no JSON object'],
    ['a wrong key', { fields: [field({ key: 'Team' })] }, 'fields[0].key must be'],
    ['a key of every object', { fields: [field({ key: 'constructor' })] }, 'fields[0].key must be'],
    ['a key twice', { fields: [field({}), field({})] }, 'fields[1] has the key team'],
    ['a wrong type', { fields: [field({}), field({ key: 'b', type: 'number' })] }, 'fields[1] (b).type must be text'],
    ['an unknown property', { fields: [field({ label: 'x' })] }, 'fields[0] has the key "label"'],
    ['a bound of another type', { fields: [field({ type: 'date', maxLength: 3 })] }, 'maxLength'],
    ['no label', { fields: [field({ labels: {} })] }, 'labels needs a text'],
    ['an unknown language', { fields: [field({ labels: { xx: 'a' } })] }, 'labels has the key "xx"'],
    ['an empty label', { fields: [field({ labels: { en: ' ' } })] }, 'labels.en must be a text'],
    ['a bound that is no number', { fields: [field({ maxLength: '9' })] }, 'maxLength must be a whole number'],
    ['bounds the wrong way round', { fields: [field({ minLength: 9, maxLength: 3 })] }, 'minLength must be'],
    ['days the wrong way round', { fields: [field({ type: 'date', min: '2020-01-02', max: '2020-01-01' })] }, 'later'],
    ['no day', { fields: [field({ type: 'date', min: '2020-13-01' })] }, 'min must be a day'],
    ['a choice of nothing', { fields: [field({ type: 'choice' })] }, 'options must be a list'],
    [
      'an option twice',
      { fields: [field({ type: 'choice', options: [{ value: 'a' }, { value: 'a' }] })] },
      '"a" twice',
    ],
    ['yes', { fields: [field({ required: 'yes' })] }, 'required must be true or false'],
    [
      'a required field of administrators',
      { fields: [field({ required: true, editedBy: 'administrators' })] },
      'leave',
    ],
    [
      'texts that are too long',
      { fields: ['a', 'b', 'c', 'd', 'e'].map((key) => field({ key, maxLength: 1000 })) },
      '5000',
    ],
  ])('with %s is refused with its place', (_, file, sentence) => {
    expect(() => readFieldDefinitions(file)).toThrow(sentence)
  })
})
