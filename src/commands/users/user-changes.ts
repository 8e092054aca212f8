import { undoLifetime } from '../../account-changes/undos.js'
import { isRefused } from '../../contract/outcome.js'
import type { FieldFaultId, ProfileFieldChanges, ProfileFieldDefinition } from '../../contract/profile-fields.js'
import { isProviderId } from '../../contract/providers.js'
import { codeFactors } from '../../contract/second-factors.js'
import { formerTotpColumn, recoveryCodeColumn, totpColumn } from '../../keys/sealed-columns.js'
import { days } from '../../lib/durations.js'
import { countText } from '../../lib/text.js'
import { longestAccessToken } from '../../sessions/tokens.js'
import type { User } from '../../users/users.js'
import {
  type CommandContext,
  CommandFailure,
  type CommandRooms,
  command,
  emailFrom,
  type Operator,
  requireUser,
  throwIfDeleted,
  UsageFault,
} from '../command.js'
import { ask } from '../terminal/ask.js'
import { printableText, quoteCommand } from '../terminal/printing.js'

const sentences: Readonly<Record<FieldFaultId, string>> = {
  unknown: 'is not in PROFILE_FIELDS_FILE',
  administrators_only: 'is edited by administrators only',
  required: 'is required',
  wrong_type: 'takes true or false',
  characters: 'has characters that cannot be shown',
  too_short: 'is too short',
  too_long: 'is too long',
  phone: 'takes a phone number with its country, such as +4930123456',
  url: 'takes an address that begins with https:// or http://',
  date: 'takes a day such as 2026-01-31',
  too_early: 'is too early',
  too_late: 'is too late',
  choice: 'takes one of the options in the file',
}

const refusalFailure = (faults: readonly { key: string; fault: FieldFaultId }[]) =>
  new CommandFailure(
    faults.map(({ key, fault }) => printableText(`The field ${JSON.stringify(key)} ${sentences[fault]}.`)).join('\n'),
  )

/** Reads the text after `=`. For a field that takes yes or no, `true` and `false` are read as booleans. */
const valueFrom = (text: string, definition: ProfileFieldDefinition | undefined) =>
  definition?.type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text

const changesFrom = (
  fieldTexts: readonly string[],
  definitions: readonly ProfileFieldDefinition[],
): ProfileFieldChanges =>
  Object.fromEntries(
    fieldTexts.map((text) => {
      const [key = '', ...rest] = text.split('=')
      if (key === '' || rest.length === 0) throw new UsageFault('--field takes KEY=VALUE.')
      const definition = definitions.find((each) => each.key === key)
      return [key, valueFrom(rest.join('='), definition)]
    }),
  )

export const userChange = command({
  summary: 'Change the profile fields of a user',
  help: `latchkey user change USER --field KEY=VALUE [--field KEY=VALUE]... [--json]

Sets fields of PROFILE_FIELDS_FILE, also those that only administrators edit. Without a value behind the =, the value is removed.
USER is a username, an email or an id.

  --field KEY=VALUE    the new value; true or false for a field that takes yes or no`,
  json: '{"id", "username", "fields": {KEY: …}, "changed": [KEY]}',
  args: ['USER'],
  options: { field: { type: 'string', multiple: true } },
  read: ({ values: { field: fieldTexts = [] } }) => {
    if (fieldTexts.length === 0) throw new UsageFault('--field is needed.')
    return { fieldTexts }
  },
  run: async (rooms, { args: [userName], fieldTexts, operator }) => {
    const { profileFields, fieldChanges } = rooms
    const { id, username } = await requireUser(rooms, userName)
    const changes = changesFrom(fieldTexts, profileFields.definitions)
    const outcome = await fieldChanges.byOperator({ userId: id, client: operator }, changes)
    const changed = throwIfDeleted(outcome, username)
    if (isRefused(changed)) throw refusalFailure(changed.fields)
    const keys = changed.result
    return {
      json: { id, username, fields: profileFields.knownValues(changed.user.fields), changed: keys },
      text: keys.length === 0 ? 'Nothing was changed.' : `Changed ${keys.join(', ')} of ${username}.`,
    }
  },
})

export const userSetEmail = command({
  summary: 'Give a user another email address',
  help: `latchkey user set-email USER EMAIL [--final] [--yes] [--json]

For a user who cannot read mails at the old address any more. Make sure that it is really the user who asks, and that EMAIL is
theirs: no confirmation is asked for, and a reset link can be mailed to it at once. Ends every session of the user. The old
address gets a mail with a link that undoes the change for ${undoLifetime / days} days, and no other user can have that address in
this time; where mail is off, there is neither. USER is a username, an email or an id.

  --final   no undo link works any more, and the old address gets no mail. The password and all other ways to sign in stay: if
            the account was stolen, use “latchkey user recover” instead
  --yes     needed: without it, says what would happen and changes nothing`,
  json: '{"id": …, "username": …, "email": …, "previousEmail": …, "endedSessions": …}',
  args: ['USER', 'EMAIL'],
  options: { final: { type: 'boolean' }, yes: { type: 'boolean' } },
  read: ({ args: [, address] }) => ({ email: emailFrom(address) }),
  run: async (rooms, { args: [userName], values, email, operator }) => {
    const { id, username, email: previousEmail } = await requireUser(rooms, userName)
    const isFinal = values.final === true
    const isMailed = !isFinal && !rooms.mails.isOff
    if (previousEmail === email.email) throw new CommandFailure(`${username} already has this email address.`)
    if (!values.yes)
      throw new CommandFailure(
        `This changes the email address of ${username} from ${previousEmail} to ${email.email}, signs ${username} out everywhere${isFinal ? ' and makes every undo link invalid' : isMailed ? ' and sends a mail to the old address' : ''}. Add --yes to do it.`,
      )
    const change = { from: previousEmail, email, isFinal }
    const outcome = await rooms.operatorChanges.setEmail({ userId: id, client: operator }, change)
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
    return {
      json: { id, username, email: email.email, previousEmail, endedSessions },
      text: `${username} has the email address ${email.email} now; ended ${countText(endedSessions, 'session')}.${isMailed ? ` A running service sends the mail to ${previousEmail}.` : ''}`,
    }
  },
})

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
const deafApplicationsOf = async ({ usedApplications }: CommandRooms, userId: string) =>
  (await usedApplications.listOfUser(userId)).flatMap(({ application: { name }, hearsLogouts }) =>
    hearsLogouts ? [] : [{ name }],
  )

export const userDisable = command({
  summary: 'Prevent a user from signing in, and end their sessions',
  help: `latchkey user disable USER [--json]

The user cannot sign in until you enable them again, and all their sessions end: every instance refuses their access
tokens within two seconds. USER is a username, an email or an id.`,
  json: '{"id", "username", "disabled", "changed", "sessionsEnded", "applicationsNotTold", "applicationsNeverTold"}',
  args: ['USER'],
  run: async (rooms, { args: [userName], operator }) => {
    const { id, username } = await requireUser(rooms, userName)
    const deaf = await deafApplicationsOf(rooms, id)
    const outcome = await rooms.operatorChanges.disable({ userId: id, client: operator })
    const { result: wasDisabled, endedSessions: sessionsEnded } = throwIfDeleted(outcome, username)
    const untold = await rooms.logoutNotices.untoldOf(id)
    const message = wasDisabled ? `${username} was disabled already` : `Disabled ${username}`
    return {
      json: {
        ...{ id, username, disabled: true, changed: !wasDisabled, sessionsEnded },
        ...{ applicationsNotTold: untold, applicationsNeverTold: deaf },
      },
      text: `${message}; ended ${countText(sessionsEnded, 'session')}.${untoldSentences(untold, deaf)}`,
    }
  },
})

const withheldSentence = ({ username, email }: User, formerOwner: string | undefined) =>
  formerOwner === undefined
    ? ''
    : ` The account was locked down, its address was changed shortly before, and ${printableText(formerOwner)} can still take it back with “This was not me”: no link to choose a new password is mailed. If ${printableText(email)} is the right address, send it with \`${quoteCommand('user send-reset', username)}\`; if not, use \`${quoteCommand('user recover', username)} EMAIL\`.`

export const userEnable = command({
  summary: 'Let a disabled user sign in again',
  help: `latchkey user enable USER [--keep-password] [--json]

USER is a username, an email or an id. Sessions that were ended stay ended. If the account was locked down, its password from
before no longer works, and a running service mails the user a link to choose a new one; a password that the user has chosen
since, with “This was not me”, stays. If the address was changed shortly before and the reader of the former one can still take the
account back with “This was not me”, no link is sent, neither now nor by “Forgot password?”: a thief may read the present address.
Passkeys, an app and providers that were added stay: if a thief may have changed or added something, use
\`latchkey user recover\` first.

  --keep-password    after a lock-down by mistake: the old password works again, and no mail is sent`,
  json: '{"id", "username", "disabled", "changed", "resetSent", "formerOwner"}',
  args: ['USER'],
  options: { 'keep-password': { type: 'boolean' } },
  run: async (rooms, { args: [userName], values, operator }) => {
    const { id, username } = await requireUser(rooms, userName)
    const keepsPassword = values['keep-password'] === true
    const outcome = await rooms.operatorChanges.enable({ userId: id, client: operator }, { keepsPassword })
    const enabling = throwIfDeleted(outcome, username)
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
    return {
      json: { id, username, disabled: false, changed, resetSent, formerOwner: formerOwner ?? null },
      text: changed ? `Enabled ${username}.${resetSentence}` : `${username} was not disabled.`,
    }
  },
})

export const userLockDown = command({
  summary: 'Lock an account that someone else has got into, or may soon get into',
  help: `latchkey user lock-down USER [--json]

Disables the user and ends their sessions, also at applications. Links to choose a password, changes of the email that wait
for their confirmation, mailed codes and sign-ins that wait for a second step are void, and no device is trusted any more. The
user gets a mail, also at an address from which the account was moved in the last seven days. Links with “This was not me”
still work, and do not enable the account: \`latchkey user enable\` does. If the address was changed in that time, only the
links that went to the oldest address work: a thief may have got the later ones. USER is a username, an email or an id.`,
  json: '{"id", "username", "disabled", "sessionsEnded", "applicationsNotTold", "applicationsNeverTold"}',
  args: ['USER'],
  run: async (rooms, { args: [userName], operator }) => {
    const { id, username } = await requireUser(rooms, userName)
    const deaf = await deafApplicationsOf(rooms, id)
    const outcome = await rooms.operatorChanges.lockDown({ userId: id, client: operator })
    const { endedSessions: sessionsEnded } = throwIfDeleted(outcome, username)
    const untold = await rooms.logoutNotices.untoldOf(id)
    return {
      json: {
        ...{ id, username, disabled: true, sessionsEnded },
        ...{ applicationsNotTold: untold, applicationsNeverTold: deaf },
      },
      text: `Locked ${username} down; ended ${countText(sessionsEnded, 'session')}.${untoldSentences(untold, deaf)}`,
    }
  },
})

const whyNotSent = {
  account_disabled: 'is disabled, and could not use the link. Nothing was sent.',
  locked_down: 'was locked down, and a former owner can take the account back. Nothing was sent.',
  too_many_mails: 'has got as many of these mails as an address may get for now. Nothing was sent.',
  mail_is_off: 'cannot get a mail, because SMTP_URL is not set. Print the link with: latchkey user reset-link',
  address_not_proven:
    'has an address that nobody has proven, so no link is mailed to it. Print one with: latchkey user reset-link',
} as const

export const userSendReset = command({
  summary: 'Mail a user a link to choose a new password',
  help: `latchkey user send-reset USER [--json]

The user gets the same mail as after “Forgot password?”. A running service sends it. USER is a username, an email or an id.`,
  json: '{"id", "username", "sent"}',
  args: ['USER'],
  run: async (rooms, { args: [userName], operator }) => {
    const { id, username } = await requireUser(rooms, userName)
    const outcome = await rooms.resetLinks.sendByOperator({ userId: id, client: operator })
    const resetLink = throwIfDeleted(outcome, username)
    if (isRefused(resetLink)) throw new CommandFailure(`${username} ${whyNotSent[resetLink.refused]}`)
    return {
      json: { id, username, sent: true },
      text: `A running service mails ${username} a link to choose a new password.`,
    }
  },
})

export const userExpirePassword = command({
  summary: 'Make a password unusable: the user must choose a new one by mail',
  help: `latchkey user expire-password USER [--yes] [--json]

For a password that others may know. It works no longer, and every session and trusted device of the user ends. To sign in
again, the user clicks “Forgot password?” and chooses a new one with the link in the mail. A running service mails the
user how to do it; where mail is off, print a link with \`latchkey user reset-link\`. Signing in with a provider goes on
working. USER is a username, an email or an id.

  --yes     needed: without it, says what would happen and changes nothing`,
  json: '{"id", "username", "changed", "sessionsEnded"}',
  args: ['USER'],
  options: { yes: { type: 'boolean' } },
  run: async (rooms, { args: [userName], values, operator }) => {
    const { id, username, passwordHash } = await requireUser(rooms, userName)
    if (passwordHash !== undefined && !values.yes)
      throw new CommandFailure(
        `The password of ${username} would no longer work, and ${username} would be signed out everywhere. Add --yes to do it.`,
      )
    const outcome = await rooms.operatorChanges.expirePassword({ userId: id, client: operator })
    const { result: changed, endedSessions: sessionsEnded } = throwIfDeleted(outcome, username)
    const advice = rooms.mails.isOff
      ? ` No mails are sent here: print a link to choose a new one with \`${quoteCommand('user reset-link', username)}\`.`
      : ''
    return {
      json: { id, username, changed, sessionsEnded },
      text: changed
        ? `The password of ${username} no longer works; ended ${countText(sessionsEnded, 'session')}.${advice}`
        : `${username} has no password. Nothing was changed.`,
    }
  },
})

/** Resets users whose TOTP secrets or recovery codes were sealed with a lost key. After an interruption, the next run does the rest. */
const resetUnreadable = async (
  { database, sealedValues, operatorChanges }: CommandRooms,
  isConfirmed: boolean,
  client: Operator,
) => {
  const ids = await sealedValues.usersOfMissing(database, [totpColumn, recoveryCodeColumn, formerTotpColumn])
  if (ids.length > 0 && !isConfirmed)
    throw new CommandFailure(
      `This switches off the two-step sign-in of ${countText(ids.length, 'user')}, whose TOTP secret or recovery codes cannot be opened with SEALING_KEY, signs them out everywhere and sends them a mail. Add --yes to do it.`,
    )
  let users = 0
  for (const userId of ids)
    if (!isRefused(await operatorChanges.resetFactors({ userId, client }, codeFactors))) users += 1
  return {
    json: { users },
    text: `Switched off the two-step sign-in of ${countText(users, 'user')} whose TOTP secret or recovery codes could not be opened.`,
  }
}

const resetFactors = async (rooms: CommandRooms, userName: string, isConfirmed: boolean, client: Operator) => {
  const { factors, passkeys, operatorChanges, liveSettings } = rooms
  const { id, username } = await requireUser(rooms, userName)
  const passkeyCount = (await passkeys.list(id)).length
  if (!(await factors.hasAny(id)))
    return {
      json: { id, username, changed: false },
      text: `${username} has no two-step sign-in and no passkeys. Nothing was changed.`,
    }
  if (!isConfirmed)
    throw new CommandFailure(
      `This switches off the two-step sign-in of ${username}, removes ${countText(passkeyCount, 'passkey')}, signs ${username} out everywhere and sends a mail. Add --yes to do it.`,
    )
  const outcome = await operatorChanges.resetFactors({ userId: id, client })
  const { result: passkeysRemoved, endedSessions: sessionsEnded } = throwIfDeleted(outcome, username)
  const nextStep =
    liveSettings.now().secondFactor === 'required' ? ' The user adds a new factor at the next sign-in.' : ''
  return {
    json: { id, username, changed: true, passkeysRemoved, sessionsEnded },
    text: `Switched off the two-step sign-in of ${username}; removed ${countText(passkeysRemoved, 'passkey')}; ended ${countText(sessionsEnded, 'session')}. A running service sends the mail.${nextStep}`,
  }
}

export const userFactorsReset = command({
  summary: 'Remove the second factors and passkeys of a user who lost the phone',
  help: `latchkey user factors reset USER|--unreadable [--yes] [--json]

Switches two-step sign-in off and removes all passkeys, for a user who has none of them any more. Make sure that it is really the
user who asks: afterwards the password alone is enough. A user without a password sets one by “Forgot password?”. Ends every
session and every trusted device of the user, and sends the user a mail. With SECOND_FACTOR=required the user adds a new factor
at the next sign-in, after a code from a mail. USER is a username, an email or an id.

  --unreadable  instead of USER: every user whose TOTP secret or recovery codes cannot be opened, because the SEALING_KEY that
                sealed them is lost. Their passkeys stay
  --yes         needed: without it, says what would happen and changes nothing`,
  json: '{"id", "username", "changed", "passkeysRemoved", "sessionsEnded"}; with --unreadable {"users"}',
  args: ['[USER]'],
  options: { unreadable: { type: 'boolean' }, yes: { type: 'boolean' } },
  read: ({ args: [userName], values }) => {
    if ((values.unreadable ?? false) === (userName !== undefined))
      throw new UsageFault('Name a USER, or give --unreadable.')
    return {}
  },
  run: async (rooms, { args: [userName], values: { yes = false }, operator }) =>
    userName === undefined ? resetUnreadable(rooms, yes, operator) : resetFactors(rooms, userName, yes, operator),
})

export const userProvidersUnlink = command({
  summary: 'Remove the link between a user and an account at a provider',
  help: `latchkey user providers unlink USER PROVIDER [--yes] [--json]

The user cannot sign in with that provider any more, and a sign-in there with the same address does not link the two again:
only the user can, on the account page. The sessions that began with this provider end. The user gets a mail. If it was the last
way to sign in, the user sets a password by “Forgot password?”. PROVIDER is the id that “latchkey user show USER --json” lists.
USER is a username, an email or an id. For an account that was stolen, use “latchkey user recover”.

  --yes     needed: without it, says what would happen and changes nothing`,
  json: '{"id": …, "username": …, "provider": …, "endedSessions": …}',
  args: ['USER', 'PROVIDER'],
  options: { yes: { type: 'boolean' } },
  run: async (rooms, { args: [userName, provider], values, operator }) => {
    const { operatorChanges, providerName } = rooms
    const { id, username, providers } = await requireUser(rooms, userName)
    if (!isProviderId(provider) || !providers.includes(provider))
      throw new CommandFailure(
        `${username} has no link to ${printableText(JSON.stringify(provider))}. Linked: ${providers.join(', ') || 'none'}.`,
      )
    if (!values.yes)
      throw new CommandFailure(
        `This removes the link of ${username} to ${providerName(provider)}, ends the sessions that began with it and sends a mail. Add --yes to do it.`,
      )
    const actor = { userId: id, client: operator }
    const outcome = throwIfDeleted(await operatorChanges.unlinkProvider(actor, provider), username)
    if (isRefused(outcome)) throw new CommandFailure('The link was removed in the meantime.')
    const { endedSessions } = outcome
    return {
      json: { id, username, provider, endedSessions },
      text: `Removed the link of ${username} to ${providerName(provider)}; ended ${countText(endedSessions, 'session')}. A running service sends the mail.`,
    }
  },
})

/** The operator must type the username, and so notices if USER was wrong. */
const confirm = async (context: CommandContext, username: string) => {
  if (!context.stdin.isTTY) throw new CommandFailure(`This deletes ${username} for good. Add --yes to do it.`)
  const answer = await ask(context, `This deletes ${username} for good. Type the username to do it: `)
  if (answer === undefined) throw new CommandFailure('\nNothing was changed.')
  if (answer.trim() !== username) throw new CommandFailure('This is not the username. Nothing was changed.')
}

export const userDelete = command({
  summary: 'Delete a user and everything that is stored about them',
  help: `latchkey user delete USER [--yes] [--json]

Deletes the account with its sessions, providers, factors, waiting mails and webhooks, in one transaction. The email, the username
and former usernames are free at once. Every instance refuses the user's access tokens within two seconds. Events stay without
personal data. The user gets a last mail, and webhooks tell your programs (user.deleted). Nothing can be restored, except from a
backup. USER is a username, an email or an id.

  --yes    do not ask`,
  json: '{"deleted": ID}',
  args: ['USER'],
  options: { yes: { type: 'boolean' } },
  run: async (rooms, { args: [userName], values, context, operator }) => {
    const { id, username } = await requireUser(rooms, userName)
    if (!values.yes) await confirm(context, username)
    throwIfDeleted(await rooms.operatorChanges.remove({ userId: id, client: operator }), username)
    return {
      json: { deleted: id },
      text: `Deleted ${username} (${id}). A running service sends the last mail.`,
    }
  },
})
