import { createInterface } from 'node:readline/promises'
import { isRefused } from '../contract/outcome.js'
import { createAccountDeletion } from '../domain/accounts/account-deletion.js'
import {
  type Command,
  type CommandContext,
  CommandFailure,
  operator,
  print,
  readArguments,
  withStores,
} from './command.js'
import { requireUser } from './find-user.js'

/** The answer must be the username, so that a wrong USER is noticed. */
const confirmed = async ({ stdin, stderr }: CommandContext, username: string) => {
  if (!stdin.isTTY) throw new CommandFailure(`This deletes ${username} for good. Add --yes to do it.`)
  const questions = createInterface({ input: stdin, output: stderr })
  try {
    const answer = await questions.question(`This deletes ${username} for good. Type the username to do it: `)
    return answer.trim() === username
  } finally {
    questions.close()
  }
}

export const userDelete: Command = {
  summary: 'Delete a user and everything that is stored about them',
  help: `latchkey user delete USER [--yes] [--json]

Deletes the account with its sessions, providers, factors, waiting mails and webhooks, in one transaction. The email, the username
and former usernames are free at once. Every instance refuses the user's access tokens within two seconds. Events stay without
personal data. The user gets a last mail, and webhooks tell your programs (user.deleted). Nothing can be restored, except from a
backup. USER is a username, an email or an id.

  --yes    do not ask
  --json   print the result as JSON: {"deleted": ID}`,

  run: async (args, context) => {
    const options = { yes: { type: 'boolean' }, json: { type: 'boolean' } } as const
    const { positionals, values } = readArguments(args, options, ['USER'])
    return withStores(context, 'service', async (stores) => {
      const { id, username } = await requireUser(stores, positionals[0] ?? '')
      if (!values.yes && !(await confirmed(context, username))) {
        await print(context.stderr, 'This is not the username. Nothing was changed.')
        return 1
      }
      const deleted = await createAccountDeletion(stores)({ userId: id, operator: operator(context) })
      if (isRefused(deleted)) throw new CommandFailure(`${username} was deleted in the meantime.`)
      await print(
        context.stdout,
        values.json
          ? JSON.stringify({ deleted: id })
          : `Deleted ${username} (${id}). A running service sends the last mail.`,
      )
      return 0
    })
  },
}
