import { undoLifetime } from '../../account-changes/undos.js'
import { isRefused, type Refused } from '../../contract/outcome.js'
import { timeSpan } from '../../contract/time-spans.js'
import { days, hours, seconds } from '../../lib/durations.js'
import type { Invitation, InvitationWishes } from '../../registration/invitations.js'
import { longestAccessToken } from '../../sessions/tokens.js'
import {
  type Command,
  CommandFailure,
  command,
  emailFrom,
  groupNameFrom,
  type readArguments,
  UsageFault,
} from '../command.js'
import { asTable, listOf } from '../terminal/printing.js'
import { languageCodes, readLanguage } from './user-add.js'

const whyRefused = (
  refusal:
    | Refused<'has_account' | 'email_reserved' | 'group_of_administrators' | 'mail_is_off' | 'address_not_proven'>
    | (Refused<'too_many_groups'> & { message?: string })
    | (Refused<'bad_request'> & { message: string })
    | (Refused<'no_group'> & { group: string })
    | (Refused<'too_many_mails'> & { retryAfter: number }),
  email: string,
) => {
  switch (refusal.refused) {
    case 'no_group':
      return `There is no group ${refusal.group}. Make it with: latchkey group add ${refusal.group}`
    case 'too_many_groups':
      return `${refusal.message ?? `These are too many groups: an access token must stay under ${longestAccessToken} bytes`}.`
    case 'group_of_administrators':
      return 'An invitation does not make administrators. Add the user to the group when the account is there: latchkey user groups'
    case 'mail_is_off':
      return 'SMTP_URL is not set, so no mail is sent. Add --print for a link that you hand over yourself.'
    case 'address_not_proven':
      return `${email} has an account whose address was never proven. Add its user to groups with: latchkey user groups`
    case 'too_many_mails':
      return `${email} has got as many invitations as an address may get in a day. Nothing was sent. The next one is possible in ${timeSpan(Math.ceil((refusal.retryAfter * seconds) / hours) * hours, 'en')}.`
    case 'email_reserved':
      return `${email} is kept for a user who had it in the last ${undoLifetime / days} days. Nothing was sent.`
    case 'bad_request':
      return `${refusal.message.replace('invitedBy', '--invited-by').replace('returnTo', '--return-to')}.`
    case 'has_account':
      return `${email} has an account, and can only be invited to groups (--group). Nothing was sent.`
  }
}

const invitationTable = (openInvitations: readonly Invitation[]) =>
  asTable([
    ['EMAIL', 'INVITED', 'EXPIRES', 'GROUPS', 'MADE BY', 'INVITED BY', 'RETURN TO'],
    ...openInvitations.map(({ email, groups, madeBy, invitedBy, returnTo, createdAt, expiresAt }) => [
      email,
      createdAt.toISOString(),
      expiresAt.toISOString(),
      groups.join(', '),
      madeBy,
      invitedBy ?? '',
      returnTo ?? '',
    ]),
  ])

const description = {
  summary: 'Invite an address to create an account, or to join groups with its account',
  help: `latchkey invite EMAIL [--group NAME]... [--invited-by NAME] [--return-to PAGE] [--language ${languageCodes}] [--json]
latchkey invite EMAIL --print [--group NAME]... [--invited-by NAME] [--return-to PAGE] [--json]
latchkey invite --list [--json]
latchkey invite --revoke EMAIL [--made-by MAKER] [--json]

Mails a link with which the owner of the address can create an account, and prints another link. This works with every value of
REGISTRATION and for every domain. A link works once, for 7 days and for this address only. The mailed link proves the
address. The printed link, which you may hand over, does not: a mail to confirm the address follows. With a provider that has
verified the address, no link is needed. An address that has an account can only be invited to groups: its owner signs in, opens the
link and joins them.
A new invitation replaces the one that was made before on the command line, and keeps its groups, name and page unless you give
others. Those of administrators and of programs with a service key stay. An invitation is used up when the account is created or
has joined. An address gets at most five invitations in a day, whoever makes them.
With --print no mail is sent, and only the link is printed. It works once, for 24 hours. Whoever opens it creates the account at
once, without confirming the address, so the address stays unproven and opens nothing: no mail to it and no provider that has
it lets anyone in. This also works where no mails are sent (SMTP_URL).

  --print           print a link that you hand over, and mail nothing
  --group NAME      who accepts it is in this group; can be given several times
  --invited-by NAME who invites, for the mail and the page: at most 64 characters
  --return-to PAGE  where the user goes afterwards: a path such as /wiki, or a page of an origin in ALLOWED_ORIGINS
  --language CODE   language of the mail to an address without an account, by default en
  --list            list the open invitations
  --revoke EMAIL    withdraw the invitations of this address; a registration with them cannot be finished any more
  --made-by MAKER   withdraw only the one of this maker, written as in the list, such as "service key hr"`,
  json: '{"email", "groups", "link", "expiresAt"}; with --list one such object on each line; with --revoke {"email", "revoked"}',
  options: {
    language: { type: 'string' },
    print: { type: 'boolean' },
    group: { type: 'string', multiple: true },
    'invited-by': { type: 'string' },
    'return-to': { type: 'string' },
    list: { type: 'boolean' },
    revoke: { type: 'string' },
    'made-by': { type: 'string' },
  },
} as const

type Values = ReturnType<typeof readArguments<typeof description.options>>['values']

const checkOptions = (values: Values) => {
  const { language, group, list, revoke, print, 'made-by': madeBy } = values
  const ofInvitation = [language, group, values['invited-by'], values['return-to'], print]
  const isInvitation = ofInvitation.some((each) => each !== undefined)
  if ([list, revoke, isInvitation || undefined].filter((each) => each !== undefined).length > 1)
    throw new UsageFault('--list and --revoke go with no other option than --json, and --revoke with --made-by.')
  if (print && language !== undefined) throw new UsageFault('--language is that of a mail, and --print sends none.')
  if (madeBy !== undefined && revoke === undefined) throw new UsageFault('--made-by goes with --revoke only.')
}

const wishesFrom = (values: Values): InvitationWishes => ({
  groups: values.group && [...new Set(values.group.map(groupNameFrom))].sort(),
  invitedBy: values['invited-by'],
  returnTo: values['return-to'],
})

const invite = command({
  ...description,
  args: ['EMAIL'],
  read: ({ args: [address], values }) => {
    checkOptions(values)
    const wishes = wishesFrom(values)
    const language = readLanguage(values.language ?? 'en')
    return { wishes, language, email: emailFrom(address) }
  },
  run: async ({ invitations, pageAddress }, { values, wishes, language, email, operator }) => {
    const make = values.print ? invitations.print : invitations.invite
    const invitation = await make(email, { ...operator, language }, wishes)
    if (isRefused(invitation)) throw new CommandFailure(whyRefused(invitation, email.email))
    const link = pageAddress('invite', invitation.token)
    const expiresAt = invitation.expiresAt.toISOString()
    const { invitedBy, returnTo, groups } = invitation
    const wished = { ...(invitedBy !== null && { invitedBy }), ...(returnTo !== null && { returnTo }) }
    return {
      json: { email: email.email, groups, ...wished, link, expiresAt },
      text: values.print
        ? link
        : `Invited ${email.email}. A running service sends the mail. The link works once, until ${expiresAt}:\n${link}`,
    }
  },
})

const list = command({
  ...description,
  read: ({ values }) => {
    checkOptions(values)
    return {}
  },
  run: async ({ invitations }) =>
    listOf(await invitations.listOpen(), { asTable: invitationTable, none: 'There are no open invitations.' }),
})

const revoke = command({
  ...description,
  read: ({ values }) => {
    checkOptions(values)
    return { email: emailFrom(values.revoke ?? ''), madeBy: values['made-by'] }
  },
  run: async ({ invitations }, { email, madeBy, operator }) => {
    const revoked = await invitations.revoke(email, operator, madeBy)
    if (revoked === 0)
      throw new CommandFailure(
        `${email.email} has no open invitation${madeBy === undefined ? '' : ` that was made by ${madeBy}`}.`,
      )
    return {
      json: { email: email.email, revoked: true },
      text: `Withdrew ${revoked === 1 ? 'the invitation' : `${revoked} invitations`} of ${email.email}.`,
    }
  },
})

export const inviteCommand: Command = {
  ...invite,
  run: (args, context) => {
    const asksFor = (option: string) => args.some((arg) => arg === option || arg.startsWith(`${option}=`))
    const { run } = asksFor('--list') ? list : asksFor('--revoke') ? revoke : invite
    return run(args, context)
  },
}
