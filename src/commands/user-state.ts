import { type Command, operator, print, readArguments, withStores } from './command.js'
import { requireUser } from './find-user.js'

const sessionsInWords = (count: number) => `${count} ${count === 1 ? 'session' : 'sessions'}`

export const userDisable: Command = {
  summary: 'Keep a user from signing in, and end their sessions',
  help: `latchkey user disable USER

Nobody can sign in as this user until they are enabled again, and every session of theirs ends. An access token that is
already out lives for at most 15 more minutes. USER is a username, an email or an id.`,

  run: async (args, context) => {
    const { positionals } = readArguments(args, {}, ['USER'])
    return withStores(context, 'service', async (stores) => {
      const user = await requireUser(stores, positionals[0] ?? '')
      // Disabled first: a sign-in between the two steps would otherwise leave a session behind.
      const ended = await stores.database.transaction(async (sql) => {
        await stores.users.disable(user.id, sql)
        return stores.sessions.endAll(user.id, { sql })
      })
      await stores.events.record({ kind: 'user_disabled', userId: user.id }, operator(context))
      await print(context.stdout, `Disabled ${user.username}; ended ${sessionsInWords(ended)}.`)
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
      await print(context.stdout, `Enabled ${user.username}.`)
      return 0
    })
  },
}

export const userSessionsEnd: Command = {
  summary: 'Sign a user out everywhere',
  help: `latchkey user sessions end USER

Ends every session of the user, on every device. They can sign in again at once; to keep them out, disable them. An
access token that is already out lives for at most 15 more minutes. USER is a username, an email or an id.`,

  run: async (args, context) => {
    const { positionals } = readArguments(args, {}, ['USER'])
    return withStores(context, 'service', async (stores) => {
      const user = await requireUser(stores, positionals[0] ?? '')
      const ended = await stores.sessions.endAll(user.id)
      await stores.events.record({ kind: 'sessions_ended', userId: user.id }, operator(context))
      await print(context.stdout, `Ended ${sessionsInWords(ended)} of ${user.username}.`)
      return 0
    })
  },
}
