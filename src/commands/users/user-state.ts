import { isRefused } from '../../contract/outcome.js'
import { countText } from '../../lib/text.js'
import type { User } from '../../users/users.js'
import {
  type Command,
  CommandFailure,
  type CommandNouns,
  operator,
  print,
  readArguments,
  withNouns,
} from '../command.js'
import { requireUser, throwIfDeleted } from '../find-user.js'
import { printableJson, printableText } from '../terminal/printable-json.js'
import { quoteCommand } from '../terminal/quote-command.js'

const jsonOption = { json: { type: 'boolean' } } as const
type Named = { name: string }
const namesOf = (applications: readonly Named[]) => applications.map(({ name }) => printableText(name)).join(', ')

/**
 * Names the applications that do not know of the logout yet (`user show` says later whether each could be told), and those that will never
 * know, because they have no address for logout notices.
 */
const untoldSentences = (untold: readonly Named[], deaf: readonly Named[]) => {
  const notYet = `${countText(untold.length, 'application has', 'applications have')} not been told yet: ${namesOf(untold)}.`
  const never = `${countText(deaf.length, 'application', 'applications')} cannot be told (no --backchannel-logout), so the user may still be signed in there: ${namesOf(deaf)}.`
  return [...(untold.length > 0 ? [notYet] : []), ...(deaf.length > 0 ? [never] : [])]
    .map((each) => ` ${each}`)
    .join('')
}

/** The applications that the user uses now and that cannot be told of the end of a session. After the change nothing names them. */
const deafApplicationsOf = async ({ usedApplications }: Pick<CommandNouns, 'usedApplications'>, userId: string) =>
  (await usedApplications.listOfUser(userId)).flatMap(({ application: { name }, hearsLogouts }) =>
    hearsLogouts ? [] : [{ name }],
  )

const jsonHelp = '\n\n  --json    one JSON object, for programs'

export const userDisable: Command = {
  summary: 'Prevent a user from signing in, and end their sessions',
  help: `latchkey user disable USER [--json]

The user cannot sign in until you enable them again, and all their sessions end: every instance refuses their access
tokens within two seconds. USER is a username, an email or an id.${jsonHelp}`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, jsonOption, ['USER'])
    return withNouns(context, 'service role', async (nouns) => {
      const { id, username } = await requireUser(nouns, positionals[0] ?? '')
      const deaf = await deafApplicationsOf(nouns, id)
      const outcome = await nouns.operatorChanges.disable({ userId: id, client: operator(context) })
      const { result: wasDisabled, endedSessions: endedCount } = throwIfDeleted(outcome, username)
      const untold = await nouns.logoutNotices.untoldOf(id)
      const changed = !wasDisabled
      const message = changed ? `Disabled ${username}` : `${username} was disabled already`
      const output = values.json
        ? printableJson({
            id,
            username,
            disabled: true,
            changed,
            sessionsEnded: endedCount,
            applicationsNotTold: untold,
            applicationsNeverTold: deaf,
          })
        : `${message}; ended ${countText(endedCount, 'session')}.${untoldSentences(untold, deaf)}`
      await print(context.stdout, output)
      return 0
    })
  },
}

const withheldSentence = ({ username, email }: User, formerOwner: string | undefined) =>
  formerOwner === undefined
    ? ''
    : ` The account was locked down, its address was changed shortly before, and ${printableText(formerOwner)} can still take it back with “This was not me”: no link to choose a new password is mailed. If ${printableText(email)} is the right address, send it with \`${quoteCommand('user send-reset', username)}\`; if not, use \`${quoteCommand('user recover', username)} EMAIL\`.`

export const userEnable: Command = {
  summary: 'Let a disabled user sign in again',
  help: `latchkey user enable USER [--keep-password] [--json]

USER is a username, an email or an id. Sessions that were ended stay ended. If the account was locked down, its password from
before no longer works, and a running service mails the user a link to choose a new one; a password that the user has chosen
since, with “This was not me”, stays. If the address was changed shortly before and the reader of the former one can still take the
account back with “This was not me”, no link is sent, neither now nor by “Forgot password?”: a thief may read the present address.
Passkeys, an app and providers that were added stay: if a thief may have changed or added something, use
\`latchkey user recover\` first.

  --keep-password    after a lock-down by mistake: the old password works again, and no mail is sent
  --json             one JSON object, for programs`,

  run: async (args, context) => {
    const options = { 'keep-password': { type: 'boolean' }, ...jsonOption } as const
    const { positionals, values } = readArguments(args, options, ['USER'])
    return withNouns(context, 'service role', async (nouns) => {
      const { id, username } = await requireUser(nouns, positionals[0] ?? '')
      const actor = { userId: id, client: operator(context) }
      const keepsPassword = values['keep-password'] === true
      const enabling = throwIfDeleted(await nouns.operatorChanges.enable(actor, { keepsPassword }), username)
      if (isRefused(enabling))
        throw new CommandFailure(
          `${username} must choose a new password, and has got as many mails with such links as an address may get for now. Nothing was changed.`,
        )
      const { wasDisabled: changed, isResetLinkSent: resetSent, isLinkNeeded, formerOwner } = enabling.result
      const resetSentence = resetSent
        ? ` The account was locked down: a running service mails a link to choose a new password.`
        : isLinkNeeded
          ? ` The account was locked down, and no link can be mailed: print one to choose a new password with \`${quoteCommand('user reset-link', username)}\`.`
          : withheldSentence(enabling.user, formerOwner)
      const message = changed ? `Enabled ${username}.${resetSentence}` : `${username} was not disabled.`
      const output = { id, username, disabled: false, changed, resetSent, formerOwner: formerOwner ?? null }
      await print(context.stdout, values.json ? printableJson(output) : message)
      return 0
    })
  },
}

export const userLockDown: Command = {
  summary: 'Lock an account that someone else has got into, or may soon get into',
  help: `latchkey user lock-down USER [--json]

Disables the user and ends their sessions, also at applications. Links to choose a password, changes of the email that wait
for their confirmation, mailed codes and sign-ins that wait for a second step are void, and no device is trusted any more. The
user gets a mail, also at an address from which the account was moved in the last seven days. Links with “This was not me”
still work, and do not enable the account: \`latchkey user enable\` does. If the address was changed in that time, only the
links that went to the oldest address work: a thief may have got the later ones. USER is a username, an email or an id.${jsonHelp}`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, jsonOption, ['USER'])
    return withNouns(context, 'service role', async (nouns) => {
      const { id, username } = await requireUser(nouns, positionals[0] ?? '')
      const deaf = await deafApplicationsOf(nouns, id)
      const outcome = await nouns.operatorChanges.lockDown({ userId: id, client: operator(context) })
      const { endedSessions: sessionsEnded } = throwIfDeleted(outcome, username)
      const untold = await nouns.logoutNotices.untoldOf(id)
      const output = values.json
        ? printableJson({
            ...{ id, username, disabled: true, sessionsEnded },
            ...{ applicationsNotTold: untold, applicationsNeverTold: deaf },
          })
        : `Locked ${username} down; ended ${countText(sessionsEnded, 'session')}.${untoldSentences(untold, deaf)}`
      await print(context.stdout, output)
      return 0
    })
  },
}

const whyNotSent = {
  account_disabled: 'is disabled, and could not use the link. Nothing was sent.',
  locked_down: 'was locked down, and a former owner can take the account back. Nothing was sent.',
  too_many_mails: 'has got as many of these mails as an address may get for now. Nothing was sent.',
  mail_is_off: 'cannot get a mail, because SMTP_URL is not set. Print the link with: latchkey user reset-link',
  address_not_proven:
    'has an address that nobody has proven, so no link is mailed to it. Print one with: latchkey user reset-link',
} as const

export const userSendReset: Command = {
  summary: 'Mail a user a link to choose a new password',
  help: `latchkey user send-reset USER [--json]

The user gets the same mail as after “Forgot password?”. A running service sends it. USER is a username, an email or an id.${jsonHelp}`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, jsonOption, ['USER'])
    return withNouns(context, 'service role', async (nouns) => {
      const { id, username } = await requireUser(nouns, positionals[0] ?? '')
      const outcome = await nouns.resetLinks.sendByOperator({ userId: id, client: operator(context) })
      const resetLink = throwIfDeleted(outcome, username)
      if (isRefused(resetLink)) throw new CommandFailure(`${username} ${whyNotSent[resetLink.refused]}`)
      const message = `A running service mails ${username} a link to choose a new password.`
      await print(context.stdout, values.json ? printableJson({ id, username, sent: true }) : message)
      return 0
    })
  },
}

export const userExpirePassword: Command = {
  summary: 'Make a password unusable: the user must choose a new one by mail',
  help: `latchkey user expire-password USER [--yes] [--json]

For a password that others may know. It works no longer, and every session and trusted device of the user ends. To sign in
again, the user clicks “Forgot password?” and chooses a new one with the link in the mail. A running service mails the
user how to do it; where mail is off, print a link with \`latchkey user reset-link\`. Signing in with a provider goes on
working. USER is a username, an email or an id.

  --yes     needed: without it, says what would happen and changes nothing
  --json    one JSON object, for programs`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { yes: { type: 'boolean' }, ...jsonOption }, ['USER'])
    return withNouns(context, 'service role', async ({ users, operatorChanges, mails }) => {
      const { id, username, passwordHash } = await requireUser({ users }, positionals[0] ?? '')
      if (passwordHash !== undefined && !values.yes)
        throw new CommandFailure(
          `The password of ${username} would no longer work, and ${username} would be signed out everywhere. Add --yes to do it.`,
        )
      const outcome = await operatorChanges.expirePassword({ userId: id, client: operator(context) })
      const { result: changed, endedSessions: sessionsEnded } = throwIfDeleted(outcome, username)
      const message = changed
        ? `The password of ${username} no longer works; ended ${countText(sessionsEnded, 'session')}.${mails.isOff ? ` No mails are sent here: print a link to choose a new one with \`${quoteCommand('user reset-link', username)}\`.` : ''}`
        : `${username} has no password. Nothing was changed.`
      await print(context.stdout, values.json ? printableJson({ id, username, changed, sessionsEnded }) : message)
      return 0
    })
  },
}
