import { undoLifetime } from '../../account-changes/undos.js'
import { isRefused } from '../../contract/outcome.js'
import { days } from '../../lib/durations.js'
import { countText } from '../../lib/text.js'
import { longestAccessToken } from '../../sessions/tokens.js'
import { type Command, CommandFailure, emailFrom, operator, print, readArguments, withNouns } from '../command.js'
import { requireUser } from '../find-user.js'
import { printableJson } from '../terminal/printable-json.js'

export const userSetEmail: Command = {
  summary: 'Give a user another email address',
  help: `latchkey user set-email USER EMAIL [--final] [--yes] [--json]

For a user who cannot read mails at the old address any more. Make sure that it is really the user who asks, and that EMAIL is
theirs: no confirmation is asked for, and a reset link can be mailed to it at once. Ends every session of the user. The old
address gets a mail with a link that undoes the change for ${undoLifetime / days} days, and no other user can have that address in
this time; where mail is off, there is neither. USER is a username, an email or an id.

  --final   no undo link works any more, and the old address gets no mail. The password and all other ways to sign in stay: if
            the account was stolen, use “latchkey user recover” instead
  --yes     needed: without it, says what would happen and changes nothing
  --json    {"id": …, "username": …, "email": …, "previousEmail": …, "endedSessions": …}`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(
      args,
      { final: { type: 'boolean' }, yes: { type: 'boolean' }, json: { type: 'boolean' } },
      ['USER', 'EMAIL'],
    )
    const email = emailFrom(positionals[1] ?? '')
    return withNouns(context, 'service role', async ({ users, operatorChanges, mails }) => {
      const { id, username, email: previousEmail } = await requireUser({ users }, positionals[0] ?? '')
      const isMailed = values.final !== true && !mails.isOff
      if (previousEmail === email.email) throw new CommandFailure(`${username} already has this email address.`)
      if (!values.yes)
        throw new CommandFailure(
          `This changes the email address of ${username} from ${previousEmail} to ${email.email}, signs ${username} out everywhere${values.final ? ' and makes every undo link invalid' : isMailed ? ' and sends a mail to the old address' : ''}. Add --yes to do it.`,
        )
      const actor = { userId: id, client: operator(context) }
      const outcome = await operatorChanges.setEmail(actor, {
        from: previousEmail,
        email,
        isFinal: values.final === true,
      })
      if (isRefused(outcome))
        throw new CommandFailure(
          {
            email_taken: `Another user has the address ${email.email}, or had it in the last ${undoLifetime / days} days.`,
            too_many_groups: `With this address and the groups of ${username}, the access token would be longer than ${longestAccessToken} bytes.`,
            no_user: `${username} was deleted in the meantime.`,
            changed_meanwhile: `${username} was changed in the meantime. Try again.`,
          }[outcome.refused],
        )
      const { endedSessions } = outcome
      await print(
        context.stdout,
        values.json
          ? printableJson({ id, username, email: email.email, previousEmail, endedSessions })
          : `${username} has the email address ${email.email} now; ended ${countText(endedSessions, 'session')}.${isMailed ? ` A running service sends the mail to ${previousEmail}.` : ''}`,
      )
      return 0
    })
  },
}
