import { expect, it } from 'vitest'
import { registrationDomains } from './word-lists.js'

it('takes domains as people write them, and keeps them as they are in addresses', () => {
  expect(registrationDomains('example.com, Example.ORG ,exämple.net,XN--EXMPLE-CUA.com')).toEqual([
    'example.com',
    'example.org',
    'xn--exmple-cua.net',
    'xn--exmple-cua.com',
  ])
  expect(registrationDomains('')).toEqual([])
})

it.each([
  '@example.com',
  '*.example.com',
  '.example.com',
  'example',
  'example.com.',
  'https://example.com',
  'exa mple.com',
  ',',
  ' , ,',
])('does not take %s', (text) => {
  expect(() => registrationDomains(text)).toThrow('must be domains')
})
