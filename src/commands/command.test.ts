import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { accountName } from '../platform/database/postgres-address.js'
import { type CommandContext, type CommandRooms, command, operatorName, readArguments, UsageFault } from './command.js'

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

describe('the frame of a command', () => {
  const greet = command({
    summary: 'Greet',
    help: 'latchkey greet NAME [--loud] [--json]\n\n  --loud    louder',
    json: '{"greeting", "title"}',
    args: ['NAME', '[TITLE]'],
    options: { loud: { type: 'boolean' } },
    read: ({ args: [name] }) => {
      if (name === 'nobody') throw new UsageFault('NAME is nobody.')
      return { greeting: `Hello ${name}` }
    },
    run: async (_, { args: [, title], values, greeting }) => ({
      json: { greeting, title: title ?? null },
      text: `${greeting}${values.loud ? '!' : '.'}`,
      notes: ['It was heard.'],
      code: 3,
    }),
  })

  const run = async (...args: string[]) => {
    const written = { out: '', err: '', opened: 0, closed: 0 }
    const stream = (name: 'out' | 'err') =>
      new Writable({
        write: (chunk: Buffer, _encoding, done) => {
          written[name] += chunk.toString()
          done()
        },
      })
    const openRooms = async () => {
      written.opened += 1
      const close = async () => {
        written.closed += 1
      }
      return { close } as unknown as CommandRooms
    }
    const context = { stdout: stream('out'), stderr: stream('err'), environment: {}, openRooms }
    const outcome = await greet.run(args, context as unknown as CommandContext).catch((error: Error) => error.message)
    return { outcome, ...written }
  }

  it('opens the rooms, prints the text and the notes, and closes the rooms', async () => {
    const expected = { outcome: 3, out: 'Hello ada!\n', err: 'It was heard.\n', opened: 1, closed: 1 }
    expect(await run('ada', '--loud')).toEqual(expected)
  })

  it('prints JSON with --json, which the help names below the other options', async () => {
    expect((await run('ada', 'Dr.', '--json')).out).toBe('{"greeting":"Hello ada","title":"Dr."}\n')
    expect(greet.help).toMatch(/\n {2}--loud {4}louder\n {2}--json {4}\{"greeting", "title"\}$/)
  })

  it('refuses wrong arguments before it opens a database', async () => {
    expect(await run('nobody')).toMatchObject({ outcome: 'NAME is nobody.', opened: 0 })
    expect(await run()).toMatchObject({ outcome: 'NAME is missing.', opened: 0 })
  })
})
