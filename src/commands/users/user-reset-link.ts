import { isRefused } from '../../contract/outcome.js'
import { type Command, CommandFailure, operator, print, readArguments, withNouns } from '../command.js'
import { requireUser, throwIfDeleted } from '../find-user.js'
import { printableJson } from '../terminal/printable-json.js'

const whyNotPrinted = {
  account_disabled: 'is disabled, and could not use the link. Enable the account first.',
  locked_down:
    'was locked down, and it is not certain that the address belongs to the owner. Set it first, with: latchkey user set-email',
} as const

export const userResetLink: Command = {
  summary: 'Print a link with which a user chooses a new password',
  help: `latchkey user reset-link USER [--json]

Prints the link and nothing else, and mails nothing, also where mails are sent. Make sure that it is really the user to whom you
hand it. It works once, for 24 hours, and replaces the one that was printed before. Choosing the password ends every session of
the user. The link proves no address. Where no code can be mailed (SMTP_URL), an account without a second factor can add its
first one in the 24 hours afterwards (SECOND_FACTOR=required). USER is a username, an email or an id.

  --json    {"id": …, "username": …, "link": …, "expiresAt": …}`,
  printsOnce: true,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { json: { type: 'boolean' } }, ['USER'])
    return withNouns(context, 'service role', async (nouns) => {
      const { id, username } = await requireUser(nouns, positionals[0] ?? '')
      const outcome = await nouns.resetLinks.printByOperator({ userId: id, client: operator(context) })
      const printed = throwIfDeleted(outcome, username)
      if (isRefused(printed)) throw new CommandFailure(`${username} ${whyNotPrinted[printed.refused]}`)
      const link = nouns.pageAddress('resetPassword', printed.token)
      const expiresAt = printed.expiresAt.toISOString()
      await print(context.stdout, values.json ? printableJson({ id, username, link, expiresAt }) : link)
      return 0
    })
  },
}
