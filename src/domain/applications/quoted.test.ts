import { expect, it } from 'vitest'
import { quoted } from './quoted.js'

it('values in errors are cut, and nothing in them can be obeyed', () => {
  expect(quoted('https://a.example/')).toBe('`https://a.example/`')
  expect(quoted('a\u001b[2J`\u202eé\n')).toBe('`a?[2J????`')
  expect(quoted('x'.repeat(300))).toBe(`\`${'x'.repeat(200)}…\``)
})
