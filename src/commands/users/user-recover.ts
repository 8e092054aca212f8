import { undoLifetime } from '../../account-changes/undos.js'
import { isRefused } from '../../contract/outcome.js'
import { days } from '../../lib/durations.js'
import { countText } from '../../lib/text.js'
import { type Command, CommandFailure, emailFrom, operator, print, readArguments, withNouns } from '../command.js'
import { findUser } from '../find-user.js'
import { printableJson } from '../terminal/printable-json.js'
import { quoteCommand } from '../terminal/quote-command.js'
import { noSuchUser } from './user-show.js'

export const userRecover: Command = {
  summary: 'Take a stolen account back for its owner',
  help: `latchkey user recover USER EMAIL [--yes] [--json]

For an account that was stolen, when its owner has no working link to take it back. Make sure that it is really the owner who asks,
and that EMAIL is theirs: it becomes the address of the account without a confirmation, and the way back is mailed to it. In one
step, the password becomes unusable, the authenticator app, recovery codes, passkeys and linked providers are removed, every session
and trusted device ends, no browser is known any more, and every waiting link, code and undo link becomes invalid. A username that
was changed in the last ${undoLifetime / days} days is put back. Where mail is off, nothing is mailed: print the way back with
\`latchkey user reset-link\`. The former address gets no mail. EMAIL can be the present address. USER is a username,
an email or an id.

  --yes     needed: without it, says what would happen and changes nothing
  --json    {"id": …, "username": …, "email": …, "previousEmail": …, "previousUsername": …, "totpRemoved": …,
            "passkeysRemoved": …, "providersRemoved": […], "endedSessions": …}`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { yes: { type: 'boolean' }, json: { type: 'boolean' } }, [
      'USER',
      'EMAIL',
    ])
    const email = emailFrom(positionals[1] ?? '')
    return withNouns(context, 'service role', async (nouns) => {
      const { recoverAccount, mails } = nouns
      const userName = positionals[0] ?? ''
      // If there is no such user, the message names a former owner of the name: a thief may have renamed the account.
      const account = await findUser(nouns, userName)
      if (!account) throw await noSuchUser(nouns, userName)
      if (!values.yes)
        throw new CommandFailure(
          `This gives the account ${account.username} to ${email.email} (now ${account.email}): it removes the password, two-step sign-in, all passkeys and all linked providers, signs out everywhere, makes every undo link invalid${mails.isOff ? '' : `, and mails a link to choose a new password to ${email.email}`}. Add --yes to do it.`,
        )
      const outcome = await recoverAccount({ userId: account.id, email, operator: operator(context) })
      if (isRefused(outcome))
        throw new CommandFailure(
          outcome.refused === 'no_user'
            ? `${account.username} was deleted in the meantime.`
            : `Another user has the address ${email.email}, or had it in the last ${undoLifetime / days} days.`,
        )
      const { user, endedSessions, result } = outcome
      const { previousEmail, totp, passkeys, providers } = result
      const isNameRestored = user.username !== account.username
      const sentences = [
        `${account.username}${isNameRestored ? `, now ${user.username} again,` : ''} belongs to ${user.email}${previousEmail === user.email ? '' : ` (before: ${previousEmail})`}.`,
        `Removed the password, ${totp ? 'two-step sign-in, ' : ''}${countText(passkeys, 'passkey')} and ${countText(providers.length, 'linked provider')}; ended ${countText(endedSessions, 'session')}.`,
        mails.isOff
          ? `No mails are sent here: print a link to choose a new password with \`${quoteCommand('user reset-link', user.username)}\`.${user.disabled ? ' The account is disabled: enable it first.' : ''}`
          : `A running service sends the link to choose a new password to ${user.email}.${user.disabled ? ' The account is disabled: the link works once you enable it.' : ''}`,
      ]
      const asObject = {
        id: user.id,
        username: user.username,
        email: user.email,
        previousEmail,
        previousUsername: account.username,
        totpRemoved: totp,
        passkeysRemoved: passkeys,
        providersRemoved: providers,
        endedSessions,
      }
      await print(context.stdout, values.json ? printableJson(asObject) : sentences.join('\n'))
      return 0
    })
  },
}
