import { type Command, CommandFailure, operator, print, readArguments, withStores } from './command.js'
import { counted } from './counted.js'
import { requireUser } from './find-user.js'

export const userFactorsReset: Command = {
  summary: 'Switch off the two-step sign-in of a user who lost the phone',
  help: `latchkey user factors reset USER [--yes]

For a user who has neither the authenticator app nor a recovery code any more. Make sure that it is really the user who asks:
afterwards the password alone is enough. Ends every session and every trusted device of the user, and sends the user a mail.
USER is a username, an email or an id.

  --yes   needed: without it, says what would happen and changes nothing`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { yes: { type: 'boolean' } }, ['USER'])
    return withStores(
      context,
      'service',
      async ({ database, users, factors, sessions, webhooks, mails, ...stores }) => {
        const { id, username } = await requireUser({ users }, positionals[0] ?? '')
        if (!(await factors.hasTotp(id))) {
          await print(context.stdout, `${username} has no two-step sign-in. Nothing was changed.`)
          return 0
        }
        if (!values.yes)
          throw new CommandFailure(
            `This switches off the two-step sign-in of ${username}, signs ${username} out everywhere and sends a mail. Add --yes to do it.`,
          )
        const ended = await database.transaction(async (sql) => {
          const user = await users.lock(sql, id)
          if (!user) throw new CommandFailure(`${username} was deleted in the meantime.`)
          await factors.remove(sql, id)
          await webhooks.queue(sql, 'factor.changed', { user: { id }, factor: 'totp' })
          await mails.queue(sql, { to: user.email, template: 'factors-reset', values: { username } })
          return sessions.endAll(id, { sql })
        })
        await stores.events.record({ kind: 'factors_reset', userId: id }, operator(context))
        await print(
          context.stdout,
          `Switched off the two-step sign-in of ${username}; ended ${counted(ended, 'session')}. A running service sends the mail.`,
        )
        return 0
      },
    )
  },
}
