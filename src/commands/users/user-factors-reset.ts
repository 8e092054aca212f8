import { type Command, CommandFailure, operator, print, readArguments, withStores } from '../command.js'
import { counted } from '../terminal/counted.js'
import { printableJson } from '../terminal/printable-json.js'
import { requireUser, unlessDeleted } from './find-user.js'

export const userFactorsReset: Command = {
  summary: 'Remove the second factors and passkeys of a user who lost the phone',
  help: `latchkey user factors reset USER [--yes] [--json]

Switches two-step sign-in off and removes all passkeys, for a user who has none of them any more. Make sure that it is really the
user who asks: afterwards the password alone is enough. A user without a password sets one by “Forgot password?”. Ends every
session and every trusted device of the user, and sends the user a mail. With SECOND_FACTOR=required the user adds a new factor
at the next sign-in, after a code from a mail. USER is a username, an email or an id.

  --yes     needed: without it, says what would happen and changes nothing
  --json    one JSON object, for programs`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { yes: { type: 'boolean' }, json: { type: 'boolean' } }, [
      'USER',
    ])
    return withStores(context, 'service', async ({ users, factors, passkeys, operatorChanges, secondFactor }) => {
      const { id, username } = await requireUser({ users }, positionals[0] ?? '')
      const count = (await passkeys.list(id)).length
      if (!(await factors.hasTotp(id)) && count === 0) {
        const said = `${username} has no two-step sign-in and no passkeys. Nothing was changed.`
        await print(context.stdout, values.json ? printableJson({ id, username, changed: false }) : said)
        return 0
      }
      if (!values.yes)
        throw new CommandFailure(
          `This switches off the two-step sign-in of ${username}, removes ${counted(count, 'passkey')}, signs ${username} out everywhere and sends a mail. Add --yes to do it.`,
        )
      const resetting = await operatorChanges.resetFactors({ userId: id, client: operator(context) })
      const { result: passkeysRemoved, endedSessions: sessionsEnded } = unlessDeleted(resetting, username)
      const then = secondFactor === 'required' ? ' The user adds a new factor at the next sign-in.' : ''
      const done = `Switched off the two-step sign-in of ${username}; removed ${counted(passkeysRemoved, 'passkey')}; ended ${counted(sessionsEnded, 'session')}. A running service sends the mail.${then}`
      const asObject = { id, username, changed: true, passkeysRemoved, sessionsEnded }
      await print(context.stdout, values.json ? printableJson(asObject) : done)
      return 0
    })
  },
}
