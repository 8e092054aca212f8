import { undoLifetime } from '../../account-changes/undos.js'
import { isRefused } from '../../contract/outcome.js'
import { days } from '../../lib/durations.js'
import { countText } from '../../lib/text.js'
import { CommandFailure, command, emailFrom, findUser, requireUser, throwIfDeleted } from '../command.js'
import { quoteCommand } from '../terminal/printing.js'
import { noSuchUser } from './user-show.js'

export const userRecover = command({
  summary: 'Take a stolen account back for its owner',
  help: `latchkey user recover USER EMAIL [--yes] [--json]

For an account that was stolen, when its owner has no working link to take it back. Make sure that it is really the owner who asks,
and that EMAIL is theirs: it becomes the address of the account without a confirmation, and the way back is mailed to it. In one
step, the password becomes unusable, the authenticator app, recovery codes, passkeys and linked providers are removed, every session
and trusted device ends, no browser is known any more, and every waiting link, code and undo link becomes invalid. A username that
was changed in the last ${undoLifetime / days} days is put back. Where mail is off, nothing is mailed: print the way back with
\`latchkey user reset-link\`. The former address gets no mail. EMAIL can be the present address. USER is a username,
an email or an id.

  --yes     needed: without it, says what would happen and changes nothing`,
  json: `{"id": …, "username": …, "email": …, "previousEmail": …, "previousUsername": …, "totpRemoved": …,
            "passkeysRemoved": …, "providersRemoved": […], "endedSessions": …}`,
  args: ['USER', 'EMAIL'],
  options: { yes: { type: 'boolean' } },
  read: ({ args: [, address] }) => ({ email: emailFrom(address) }),
  run: async (rooms, { args: [userName], values, email, operator }) => {
    const { recoverAccount, mails } = rooms
    // If there is no such user, the message names a former owner of the name: a thief may have renamed the account.
    const account = await findUser(rooms, userName)
    if (!account) throw await noSuchUser(rooms, userName)
    if (!values.yes)
      throw new CommandFailure(
        `This gives the account ${account.username} to ${email.email} (now ${account.email}): it removes the password, two-step sign-in, all passkeys and all linked providers, signs out everywhere, makes every undo link invalid${mails.isOff ? '' : `, and mails a link to choose a new password to ${email.email}`}. Add --yes to do it.`,
      )
    const outcome = await recoverAccount({ userId: account.id, email, operator })
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
    return {
      json: {
        id: user.id,
        username: user.username,
        email: user.email,
        previousEmail,
        previousUsername: account.username,
        totpRemoved: totp,
        passkeysRemoved: passkeys,
        providersRemoved: providers,
        endedSessions,
      },
      text: sentences.join('\n'),
    }
  },
})

const whyNotPrinted = {
  account_disabled: 'is disabled, and could not use the link. Enable the account first.',
  locked_down:
    'was locked down, and it is not certain that the address belongs to the owner. Set it first, with: latchkey user set-email',
} as const

export const userResetLink = command({
  summary: 'Print a link with which a user chooses a new password',
  help: `latchkey user reset-link USER [--json]

Prints the link and nothing else, and mails nothing, also where mails are sent. Make sure that it is really the user to whom you
hand it. It works once, for 24 hours, and replaces the one that was printed before. Choosing the password ends every session of
the user. The link proves no address. Where no code can be mailed (SMTP_URL), an account without a second factor can add its
first one in the 24 hours afterwards (SECOND_FACTOR=required). USER is a username, an email or an id.`,
  json: '{"id": …, "username": …, "link": …, "expiresAt": …}',
  printsOnce: true,
  args: ['USER'],
  run: async (rooms, { args: [userName], operator }) => {
    const { id, username } = await requireUser(rooms, userName)
    const outcome = await rooms.resetLinks.printByOperator({ userId: id, client: operator })
    const printed = throwIfDeleted(outcome, username)
    if (isRefused(printed)) throw new CommandFailure(`${username} ${whyNotPrinted[printed.refused]}`)
    const link = rooms.pageAddress('resetPassword', printed.token)
    return { json: { id, username, link, expiresAt: printed.expiresAt.toISOString() }, text: link }
  },
})
