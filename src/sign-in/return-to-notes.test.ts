import { expect, it } from 'vitest'
import { createReturnToNotes } from './return-to-notes.js'

it('notes each origin that is not allowed once, without its path and query, and only the first ones', () => {
  const lines: unknown[] = []
  const log = { warn: (...line: unknown[]) => void lines.push(line) }
  const note = createReturnToNotes(['https://app.example.com'], {
    find: (origin) => origin === 'https://wiki.example.com',
  })
  const others = [
    undefined,
    '/dashboard',
    'https://',
    'javascript:1',
    ['https://two.example.com'],
    `https://x.example.com/${'x'.repeat(512)}`,
  ]
  for (const returnTo of ['https://app.example.com/a', ...others]) note({ query: { returnTo }, log })
  note({ query: undefined, log })
  expect(lines).toEqual([])
  for (const page of ['a?secret=1', 'b']) note({ query: { returnTo: `https://App2.example.com/${page}` }, log })
  expect(lines).toEqual([
    [{ origin: 'https://app2.example.com' }, 'returnTo names an origin that is not in ALLOWED_ORIGINS'],
  ])
  for (let at = 0; at < 50; at += 1) note({ query: { returnTo: `https://app${at}.example.org` }, log })
  expect(lines).toHaveLength(20)
})
