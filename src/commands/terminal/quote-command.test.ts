import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { quoteCommand, quoteCommandWith } from './printing.js'

/** The arguments that a shell hands to the command. */
const argumentsOf = (command: string) =>
  execFileSync('sh', ['-c', `latchkey() { printf '%s\\n' "$@"; }; ${command}`], { encoding: 'utf8' }).split('\n')

const names = [
  'ada',
  'ada@example.com',
  '$(id)',
  '`id`',
  "o'neil",
  'a b',
  'a;id',
  '-x',
  '--all',
  '*',
  '~',
  '!!',
  '=ls',
  '|',
  'é',
]

it('a shell gives the name to the command as it is', () => {
  for (const name of names) {
    const dash = name.startsWith('-')
    expect(argumentsOf(quoteCommand('user enable', name))).toEqual([
      'user',
      'enable',
      ...(dash ? ['--'] : []),
      name,
      '',
    ])
    const option = dash ? [`--user=${name}`] : ['--user', name]
    expect(argumentsOf(quoteCommandWith('limits clear', '--user', name))).toEqual(['limits', 'clear', ...option, ''])
  }
})

it('shows ordinary names without quotes, and no control character', () => {
  expect(quoteCommand('user enable', 'ada')).toBe('latchkey user enable ada')
  expect(quoteCommandWith('events', '--user', 'ada@example.com')).toBe('latchkey events --user ada@example.com')
  expect(quoteCommand('user show', '\u001b[31mx')).toBe("latchkey user show '\\u001b[31mx'")
})
