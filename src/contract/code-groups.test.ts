import { expect, it } from 'vitest'
import { inGroups, withoutGroups } from './factors.js'

it('shows a code in groups of four', () => {
  expect([inGroups('U68K3AC5'), inGroups('ABCDEFGHJKLM'), inGroups('ABCDE'), inGroups('')]).toEqual([
    'U68K-3AC5',
    'ABCD-EFGH-JKLM',
    'ABCD-E',
    '',
  ])
})

it.each(['U68K3AC5', 'u68k-3ac5', ' U68K 3AC5\n', 'u6 8k–3a c5', 'U68K\u00a03AC5'])('reads %j alike', (typed) => {
  expect(withoutGroups(typed)).toBe('U68K3AC5')
})
