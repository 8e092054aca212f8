import { type Command, operator, print, readArguments, withStores } from './command.js'
import { counted } from './counted.js'
import { requireUser } from './find-user.js'

export const userDisable: Command = {
  summary: 'Prevent a user from signing in, and end their sessions',
  help: `latchkey user disable USER

The user cannot sign in until you enable them again, and all their sessions end: every instance refuses their access
tokens within two seconds. USER is a username, an email or an id.`,

  run: async (args, context) => {
    const { positionals } = readArguments(args, {}, ['USER'])
    return withStores(context, 'service', async (stores) => {
      const user = await requireUser(stores, positionals[0] ?? '')
      // Disabled first, so that a sign-in between the two steps leaves no session behind.
      const ended = await stores.database.transaction(async (sql) => {
        await stores.users.disable(user.id, sql)
        return stores.sessions.endAll(user.id, { sql })
      })
      await stores.events.record({ kind: 'user_disabled', userId: user.id }, operator(context))
      const done = user.disabled ? `${user.username} was disabled already` : `Disabled ${user.username}`
      await print(context.stdout, `${done}; ended ${counted(ended, 'session')}.`)
      return 0
    })
  },
}

export const userEnable: Command = {
  summary: 'Let a disabled user sign in again',
  help: `latchkey user enable USER

USER is a username, an email or an id. Sessions that were ended stay ended.`,

  run: async (args, context) => {
    const { positionals } = readArguments(args, {}, ['USER'])
    return withStores(context, 'service', async (stores) => {
      const user = await requireUser(stores, positionals[0] ?? '')
      await stores.users.enable(user.id)
      await stores.events.record({ kind: 'user_enabled', userId: user.id }, operator(context))
      await print(context.stdout, user.disabled ? `Enabled ${user.username}.` : `${user.username} was not disabled.`)
      return 0
    })
  },
}

export const userSessionsEnd: Command = {
  summary: 'Sign a user out everywhere',
  help: `latchkey user sessions end USER

Ends every session of the user, on every device: every instance refuses their access tokens within two seconds. The user
can sign in again at once; \`user disable\` prevents that. USER is a username, an email or an id.`,

  run: async (args, context) => {
    const { positionals } = readArguments(args, {}, ['USER'])
    return withStores(context, 'service', async (stores) => {
      const user = await requireUser(stores, positionals[0] ?? '')
      const ended = await stores.sessions.endAll(user.id)
      await stores.events.record({ kind: 'sessions_ended', userId: user.id }, operator(context))
      await print(context.stdout, `Ended ${counted(ended, 'session')} of ${user.username}.`)
      return 0
    })
  },
}
