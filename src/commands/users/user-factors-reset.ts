import { isRefused } from '../../contract/outcome.js'
import { formerTotpColumn, recoveryCodeColumn, totpColumn } from '../../keys/sealed-columns.js'
import { countText } from '../../lib/text.js'
import {
  type Command,
  type CommandContext,
  CommandFailure,
  operator,
  print,
  readArguments,
  UsageFault,
  withNouns,
} from '../command.js'
import { requireUser, throwIfDeleted } from '../find-user.js'
import { printableJson } from '../terminal/printable-json.js'

type ResetOptions = { yes?: boolean | undefined; json?: boolean | undefined }

/** Resets users whose TOTP secrets or recovery codes were sealed with a lost key. After an interruption, the next run does the rest. */
const resetUnreadable = (context: CommandContext, { yes, json }: ResetOptions) =>
  withNouns(context, 'service role', async ({ database, sealedValues, operatorChanges }) => {
    const ids = await sealedValues.usersOfMissing(database, [totpColumn, recoveryCodeColumn, formerTotpColumn])
    if (ids.length > 0 && !yes)
      throw new CommandFailure(
        `This switches off the two-step sign-in of ${countText(ids.length, 'user')}, whose TOTP secret or recovery codes cannot be opened with SEALING_KEY, signs them out everywhere and sends them a mail. Add --yes to do it.`,
      )
    let users = 0
    for (const userId of ids)
      if (!isRefused(await operatorChanges.resetTotp({ userId, client: operator(context) }))) users += 1
    const message = `Switched off the two-step sign-in of ${countText(users, 'user')} whose TOTP secret or recovery codes could not be opened.`
    await print(context.stdout, json ? printableJson({ users }) : message)
    return 0
  })

export const userFactorsReset: Command = {
  summary: 'Remove the second factors and passkeys of a user who lost the phone',
  help: `latchkey user factors reset USER|--unreadable [--yes] [--json]

Switches two-step sign-in off and removes all passkeys, for a user who has none of them any more. Make sure that it is really the
user who asks: afterwards the password alone is enough. A user without a password sets one by “Forgot password?”. Ends every
session and every trusted device of the user, and sends the user a mail. With SECOND_FACTOR=required the user adds a new factor
at the next sign-in, after a code from a mail. USER is a username, an email or an id.

  --unreadable  instead of USER: every user whose TOTP secret or recovery codes cannot be opened, because the SEALING_KEY that
                sealed them is lost. Their passkeys stay
  --yes         needed: without it, says what would happen and changes nothing
  --json        one JSON object, for programs`,

  run: async (args, context) => {
    const boolean = { type: 'boolean' } as const
    const { positionals, values } = readArguments(args, { unreadable: boolean, yes: boolean, json: boolean }, [
      '[USER]',
    ])
    const namesUser = positionals.length > 0
    if ((values.unreadable ?? false) === namesUser) throw new UsageFault('Name a USER, or give --unreadable.')
    if (values.unreadable) return resetUnreadable(context, values)
    return withNouns(context, 'service role', async ({ users, factors, passkeys, operatorChanges, secondFactor }) => {
      const { id, username } = await requireUser({ users }, positionals[0] ?? '')
      const passkeyCount = (await passkeys.list(id)).length
      if (!(await factors.hasTotp(id)) && passkeyCount === 0) {
        const message = `${username} has no two-step sign-in and no passkeys. Nothing was changed.`
        await print(context.stdout, values.json ? printableJson({ id, username, changed: false }) : message)
        return 0
      }
      if (!values.yes)
        throw new CommandFailure(
          `This switches off the two-step sign-in of ${username}, removes ${countText(passkeyCount, 'passkey')}, signs ${username} out everywhere and sends a mail. Add --yes to do it.`,
        )
      const outcome = await operatorChanges.resetFactors({ userId: id, client: operator(context) })
      const { result: passkeysRemoved, endedSessions: sessionsEnded } = throwIfDeleted(outcome, username)
      const nextStep = secondFactor === 'required' ? ' The user adds a new factor at the next sign-in.' : ''
      const message = `Switched off the two-step sign-in of ${username}; removed ${countText(passkeysRemoved, 'passkey')}; ended ${countText(sessionsEnded, 'session')}. A running service sends the mail.${nextStep}`
      const asObject = { id, username, changed: true, passkeysRemoved, sessionsEnded }
      await print(context.stdout, values.json ? printableJson(asObject) : message)
      return 0
    })
  },
}
