import { readEmail } from '../domain/users/email.js'
import { readUsername } from '../domain/users/username.js'
import { type Command, CommandFailure, operator, print, readArguments, UsageFault, withStores } from './command.js'
import { readPassword } from './password-prompt.js'

const refusals = {
  email_taken: 'The email already has an account.',
  username_taken: 'The username is taken.',
} as const

const good = <Read extends object>(read: Read): Exclude<Read, { refused: string }> => {
  if ('refused' in read) throw new CommandFailure(`${String(read.refused)}.`)
  return read as Exclude<Read, { refused: string }>
}

const nameFrom = (text: string | undefined) => {
  if (text !== undefined && (/\p{Cc}/u.test(text) || !text.isWellFormed() || text.length > 255))
    throw new CommandFailure('The name must be one line of at most 255 characters.')
  return text || null
}

export const userAdd: Command = {
  summary: 'Add a user with a password',
  help: `latchkey user add --email EMAIL --username NAME [--name DISPLAY_NAME] [--password-stdin]

Adds a user who can sign in at once: the address counts as proven, because you vouch for it.
The password is asked for and not shown, and must meet the same rules as in a registration.

  --email EMAIL       the address, required
  --username NAME     the name to sign in with, required
  --name TEXT         the name to show
  --password-stdin    read the password from standard input instead of asking`,

  run: async (args, context) => {
    const { values } = readArguments(
      args,
      {
        email: { type: 'string' },
        username: { type: 'string' },
        name: { type: 'string' },
        'password-stdin': { type: 'boolean' },
      },
      [],
    )
    if (!values.email || !values.username) throw new UsageFault('--email and --username are needed.')
    const email = good(readEmail(values.email))
    const username = good(readUsername(values.username))
    const name = nameFrom(values.name)
    const password = await readPassword(context, values['password-stdin'] ?? false)

    return withStores(context, 'service', async ({ database, users, passwords, events }) => {
      const faults = await passwords.faults(password, { username: username.username, email: email.email, name })
      if (faults.length > 0) throw new CommandFailure(faults.join('\n'))
      const passwordHash = await passwords.hash(password)
      const user = await users.createWithPassword(database, { email, username, name, passwordHash })
      if ('refused' in user) throw new CommandFailure(refusals[user.refused])
      await events.record({ kind: 'user_added', userId: user.id }, operator(context))
      await print(context.stdout, `Added ${user.username} (${user.id}).`)
      return 0
    })
  },
}
