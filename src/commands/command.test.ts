import { describe, expect, it } from 'vitest'
import { accountName } from '../platform/database/postgres-address.js'
import { operatorName, readArguments } from './command.js'

describe('the name of the operator in events', () => {
  const unknownUid = () => {
    throw new Error('uv_os_get_passwd returned ENOENT')
  }

  it('is the number of a uid that has no name', () => {
    expect(accountName(unknownUid)).toBe(undefined)
    expect(operatorName({}, accountName(unknownUid) ?? '')).toBe(`uid ${process.getuid?.()}`)
  })

  it('is the account, and the person who used sudo', () => {
    expect(operatorName({}, 'latchkey')).toBe('latchkey')
    expect(operatorName({ SUDO_USER: 'ada' }, 'root')).toBe('ada as root')
    expect(operatorName({ SUDO_USER: 'root' }, 'root')).toBe('root')
  })
})

describe('the arguments of a command', () => {
  it('are refused in whole sentences', () => {
    expect(() => readArguments(['FILE', 'extra'], {}, ['FILE'])).toThrow('There is one argument too many: extra.')
  })

  it('may have names with a leading dash, and the message says how', () => {
    const options = { username: { type: 'string' } } as const
    expect(() => readArguments(['-dash'], options, ['USER'])).toThrow(
      /^Unknown option '-d'\. If a name begins with a dash, write it last, after --\.$/,
    )
    expect(readArguments(['--', '-dash'], options, ['USER']).positionals).toEqual(['-dash'])
    expect(() => readArguments(['--username', '-dash'], options, [])).toThrow(
      /^Option '--username' argument is ambiguous\. Write a value with a leading dash as --username=VALUE\.$/,
    )
    expect(() => readArguments(['--nonsense'], options, [])).toThrow(/^Unknown option '--nonsense'\.$/)
  })

  it('are missing when they are empty', () => {
    expect(() => readArguments([' '], {}, ['USER'])).toThrow('USER is missing.')
  })

  it('name an option once', () => {
    const twice = ['--email', 'a@b.example', '--email', 'c@d.example']
    expect(() => readArguments(twice, { email: { type: 'string' } }, [])).toThrow('--email is given twice.')
  })
})
