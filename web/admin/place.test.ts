import { expect, it } from 'vitest'
import { fragmentOf, placeOf } from './place.js'

it.each([
  ['', { screen: 'overview', id: undefined, query: {} }],
  ['#users/a%2Fb', { screen: 'users', id: 'a/b', query: {} }],
  [
    '#users?search=ada+l%26l&group=staff',
    { screen: 'users', id: undefined, query: { search: 'ada l&l', group: 'staff' } },
  ],
  ['#nothing/1?a=b', { screen: 'overview', id: '1', query: { a: 'b' } }],
  ['#users/%zz', { screen: 'users', id: '%zz', query: {} }],
] as const)('the fragment %j leads to its place', (fragment, place) => {
  expect(placeOf(fragment)).toEqual(place)
})

it('the fragment of a place leads back to it, and leaves out empty parameters', () => {
  expect(fragmentOf('users', undefined, { search: '', group: undefined })).toBe('#users')
  const fragment = fragmentOf('events', undefined, { user: 'ada&x', kind: 'signed_in' })
  expect(placeOf(fragment)).toEqual({ screen: 'events', id: undefined, query: { user: 'ada&x', kind: 'signed_in' } })
})
